"""Which names the coverage table has to speak of: asked of NumPy itself, none skipped.

A name is either called (``calls.py``, and every ufunc with generated operands) or stands in ``NO_FUNCTIONS_ON_ARRAYS``
with the reason why a call of it has no place in a compiled function.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.coverage import calls

__all__ = ["GROUPS", "NO_FUNCTIONS_ON_ARRAYS", "Group", "texts_of", "why_not_called"]

Group = dict[str, Any]  # name -> the object behind it

NO_FUNCTIONS_ON_ARRAYS: dict[str, str] = {
    name: reason
    for reason, names in {
        "reads or writes files": """save savez savez_compressed savetxt load loadtxt genfromtxt fromfile fromregex
            ndarray.tofile ndarray.dump""",
        "reads or changes settings": """set_printoptions get_printoptions printoptions seterr geterr seterrcall
            geterrcall setbufsize getbufsize""",
        "tells about the installation, or tests it": "info show_config show_runtime get_include test random.test",
        "gives an iterator over elements, for Python": "nested_iters",
        "arrays refuse it": "ndarray.__delitem__",
        "pickles the array": "ndarray.dumps ndarray.__reduce__ ndarray.__reduce_ex__ ndarray.__setstate__",
        "gives raw memory to other libraries": """ndarray.ctypes ndarray.data ndarray.__array_interface__
            ndarray.__array_struct__ ndarray.__dlpack__ ndarray.__dlpack_device__""",
        "protocol that NumPy or Python calls, not users": """ndarray.__array__ ndarray.__array_finalize__
            ndarray.__array_function__ ndarray.__array_namespace__ ndarray.__array_priority__ ndarray.__array_ufunc__
            ndarray.__array_wrap__""",
        "belongs to every Python object": """ndarray.__class__ ndarray.__class_getitem__ ndarray.__delattr__
            ndarray.__dir__ ndarray.__doc__ ndarray.__format__ ndarray.__getattribute__ ndarray.__getstate__
            ndarray.__hash__ ndarray.__init__ ndarray.__init_subclass__ ndarray.__new__ ndarray.__repr__
            ndarray.__setattr__ ndarray.__sizeof__ ndarray.__str__ ndarray.__subclasshook__""",
        "sets or tells the state of a generator": """random.seed random.get_state random.set_state
            random.get_bit_generator random.set_bit_generator Generator.bit_generator Generator.spawn""",
    }.items()
    for name in names.split()
}


def _public(module: Any, prefix: str = "") -> Group:
    return {f"{prefix}{name}": getattr(module, name) for name in module.__all__}


def _members(owner: Any, prefix: str, *, dunder: bool = False) -> Group:
    names = (n for n in dir(owner) if dunder or not n.startswith("_"))
    return {f"{prefix}{name}": getattr(owner, name, None) for name in names}


GROUPS: dict[str, Group] = {
    "main namespace": _public(np),
    "np.linalg": _public(np.linalg, "linalg."),
    "np.fft": _public(np.fft, "fft."),
    "ndarray": _members(np.ndarray, "ndarray.", dunder=True),
    "Generator": _members(np.random.Generator, "Generator."),
    "np.random": _members(np.random, "random."),
}


def why_not_called(name: str, value: Any) -> str:
    """Why the name is not called: empty if it is."""
    if name in NO_FUNCTIONS_ON_ARRAYS:
        return NO_FUNCTIONS_ON_ARRAYS[name]
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    if not name.startswith(("ndarray.", "Generator.")) and not callable(value):
        return "constant, or an object that is subscripted"
    return ""


def texts_of(name: str, value: Any) -> Iterator[str]:
    """The calls of one name, as text."""
    owner, _, short = name.rpartition(".")
    if isinstance(value, np.ufunc):
        yield ufunc_text(value)
    elif owner == "ndarray":
        yield from next((t[short] for t in (calls.METHODS, calls.ATTRIBUTES, calls.OPERATORS) if short in t), ())
    elif owner in ("Generator", "random"):
        prefix = "rng." if owner == "Generator" else "np.random."
        yield from (prefix + text for text in calls.RANDOM.get(short, ()))
    else:
        yield from calls.FUNCTIONS.get(name, ())


# Operands for the kinds of a ufunc's loops, in order of preference
_OPERANDS = {"d": "xy", "l": "kk", "?": "mm", "D": "cc", "M": "dd", "T": "tt", "U": "tt", "i": "jj"}


def ufunc_text(ufunc: np.ufunc) -> str:
    """A call with operands of the first kind that the ufunc takes."""
    if ufunc.signature is not None:
        return GENERALISED[ufunc.__name__]
    kinds = [t.partition("->")[0] for t in ufunc.types]
    for letter, names in _OPERANDS.items():
        if letter * ufunc.nin in kinds:
            operands = (names + names)[: ufunc.nin]
            return f"np.{ufunc.__name__}({', '.join(operands)})"
    return SPECIAL[ufunc.__name__]


GENERALISED = {
    "matmul": "np.matmul(s, s)",
    "vecdot": "np.vecdot(x, y)",
    "matvec": "np.matvec(s, s[0])",
    "vecmat": "np.vecmat(s[0], s)",
}
SPECIAL = {"ldexp": "np.ldexp(x, 2)", "isnat": "np.isnat(d)"}

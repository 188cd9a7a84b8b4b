"""Takes object code, gives the address of a function in it; unloads it when nobody holds it any
more.

Links with LLVM's ORC linker. Only the symbols below can be resolved, whatever else the process
exports: an object that asks for another one is refused with an error (MCJIT would end the process).
"""

from __future__ import annotations

import itertools
import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from jitmagic.errors import InternalError

__all__ = ["ALLOWED_SYMBOLS", "Linked", "link"]

_LIBM = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1
    fabs fdim floor fma fmod frexp gamma hypot ldexp lgamma log log10 log1p log2 modf nearbyint
    nextafter pow remainder rint round sin sinh sqrt tan tanh tgamma trunc
""".split()  # noqa: SIM905  # sixty one-line entries would hide the rest
_LIBC = ["memcpy", "memmove", "memset", "feclearexcept", "fetestexcept"]
_PTHREAD = [
    "pthread_cond_broadcast",
    "pthread_cond_wait",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
]
_CPYTHON = [
    "PyComplex_ImagAsDouble",
    "PyComplex_RealAsDouble",
    "PyErr_Occurred",
    "PyErr_SetObject",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_AsDouble",
    "PyLong_AsLongLong",
    "PyLong_AsUnsignedLongLongMask",
    "PyLong_FromLongLong",
    "PyObject_CallNoArgs",
    "PyType_IsSubtype",
    "Py_DecRef",
]
ALLOWED_SYMBOLS = frozenset([*_LIBM, *(f"{name}f" for name in _LIBM), *_LIBC, *_PTHREAD, *_CPYTHON])

_serial = itertools.count()
_lock = threading.Lock()


class Linked:
    """Code in memory. ``address`` is valid as long as this object lives."""

    __slots__ = ("_tracker", "address")

    def __init__(self, tracker: Any, address: int) -> None:
        self._tracker = tracker
        self.address = address


@cache
def _linker() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(reloc="pic", codemodel="default")
    return llvm.create_lljit_compiler(machine, suppress_errors=True)


@cache
def _known_symbols() -> dict[str, int]:
    """Address of every allowed symbol that this process has."""
    found = ((name, llvm.address_of_symbol(name)) for name in sorted(ALLOWED_SYMBOLS))
    return {name: address for name, address in found if address}


def link(object_code: bytes, symbol: str) -> Linked:
    """Load ``object_code`` and look up ``symbol``.

    Raises InternalError if the object needs a symbol that is not allowed, or lacks ``symbol``.
    """
    with _lock:
        builder = llvm.JITLibraryBuilder().add_object_img(object_code).export_symbol(symbol)
        for name, address in _known_symbols().items():
            builder.import_symbol(name, address)
        try:
            tracker = builder.link(_linker(), f"jitmagic.{next(_serial)}")
        except RuntimeError as error:
            raise InternalError(f"object code of {symbol} cannot be linked: {error}") from error
    return Linked(tracker, tracker[symbol])

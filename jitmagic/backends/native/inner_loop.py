"""NumPy's own strided inner loops: takes a ufunc with dtypes and strides, gives addresses that a
kernel can call.

They are the very loops that NumPy runs, so their bits are NumPy's. In a kernel::

    call_inner_loop(function, context, data, dims, strides, auxdata)  # 0 is success

with ``data`` the address of one pointer per operand, ``dims`` of the count, ``strides`` of one
stride per operand. Write all three anew before each call: a loop may change them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy._core import umath  # where the ufunc behind np.clip is, which has no public name

from jitmagic.backends.native.abi import Address
from jitmagic.errors import InternalError

__all__ = ["InnerLoop", "inner_loop", "is_numpys"]

_CAPSULE_NAME = b"numpy_1.24_ufunc_call_info"  # the one layout that NumPy has published so far


class _CallInfo(ctypes.Structure):
    """``PyUFunc_Loop`` information in the capsule of ``_resolve_dtypes_and_context``."""

    _fields_ = (
        ("strided_loop", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("auxdata", ctypes.c_void_p),
        ("requires_python", ctypes.c_ubyte),
        ("no_float_errors", ctypes.c_ubyte),
    )


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class InnerLoop:
    """A loop, ready to be called. ``context`` keeps alive what the addresses point to.

    ``dtypes`` are those the loop works on, inputs then outputs: where they differ from what was
    asked for, the caller has to cast. A loop of a ufunc that is not NumPy's own may keep scratch
    space in ``auxdata``: run it on one thread.
    """

    function: int
    context: Address
    auxdata: int
    requires_python: bool  # it touches objects: call it only with the GIL held
    no_float_errors: bool  # NumPy does not look at floating-point flags after it
    dtypes: tuple[np.dtype[Any], ...]


def inner_loop(
    ufunc: np.ufunc,
    dtypes: Sequence[np.dtype[Any] | None],
    fixed_strides: Sequence[int | None] | None = None,
) -> InnerLoop:
    """The loop that NumPy takes for these dtypes (None: let NumPy choose) and strides in bytes
    (None: any).

    Loops may differ in bits between strides: give those that NumPy would have had.
    Raises TypeError, as NumPy does, if the ufunc has no loop for the dtypes.
    """
    # Private names: NumPy made them for compilers, and there are no public ones.
    compiler_interface: Any = ufunc
    resolved, capsule = compiler_interface._resolve_dtypes_and_context(tuple(dtypes))
    strides = None if fixed_strides is None else tuple(fixed_strides)
    compiler_interface._get_strided_loop(capsule, fixed_strides=strides)
    info = _CallInfo.from_address(_capsule_address(capsule))
    return InnerLoop(
        function=info.strided_loop,
        context=Address(info.context, (capsule, ufunc)),
        auxdata=info.auxdata or 0,
        requires_python=bool(info.requires_python),
        no_float_errors=bool(info.no_float_errors),
        dtypes=tuple(resolved),
    )


def _capsule_address(capsule: object) -> int:
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    if not is_valid(capsule, _CAPSULE_NAME):
        raise InternalError(
            f"NumPy {np.__version__} describes its inner loops in a way that is not known here "
            f"(expected a capsule {_CAPSULE_NAME.decode()!r}); run the operation through NumPy"
        )
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, _CAPSULE_NAME))


def is_numpys(ufunc: np.ufunc) -> bool:
    """Whether NumPy made it: its loops are pure, those of others may keep notes and run on one thread."""
    return any(getattr(module, ufunc.__name__, None) is ufunc for module in (np, umath))

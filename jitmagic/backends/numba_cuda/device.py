"""The GPU: whether there is one, and arrays on their way to it and back. Importing this module loads no compiler."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from jitmagic.errors import UserError

__all__ = ["cuda", "is_on_device", "require", "to_device"]


def cuda() -> Any:
    """The module ``numba.cuda``: the package numba-cuda where it is installed, else what ships with Numba."""
    return importlib.import_module("numba.cuda")


def require() -> None:
    """Raises UserError, with the remedy, where kernels cannot run."""
    try:
        found = bool(cuda().is_available())
    except Exception:  # whatever a broken driver makes of the question
        found = False
    if not found:
        raise UserError(
            "target 'cuda' needs an NVIDIA GPU with its driver, and none was found; on a machine that has one run "
            'pip install "jitmagic[cuda]", elsewhere leave the target out'
        )


def is_on_device(value: Any) -> bool:
    """Arrays of CuPy, Numba, PyTorch and others that tell where they lie, and those of Numba's simulator."""
    return hasattr(value, "__cuda_array_interface__") or hasattr(value, "copy_to_host")


def to_device(value: Any) -> Any:
    """The array on the GPU: itself if it is there, else a copy in the same memory order if that is dense."""
    module = cuda()
    if hasattr(value, "copy_to_host"):
        return value
    if is_on_device(value):
        return module.as_cuda_array(value)
    dense = value if value.flags.c_contiguous or value.flags.f_contiguous else np.ascontiguousarray(value)
    return module.to_device(dense)

"""Floating-point conditions and warnings: takes what a kernel or an extern call met, decides whether to bail."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.native.abi import FloatFlag

__all__ = ["listened", "quiet"]

_NAMES = {
    "divide": FloatFlag.DIVIDE,
    "over": FloatFlag.OVER,
    "under": FloatFlag.UNDER,
    "invalid": FloatFlag.INVALID,
}


def listened(result: int, flags: int) -> bool:
    """Whether a launch that gave ``result`` met something that the user would see: an error or a reported flag.

    ``flags`` are the conditions that NumPy reports for this kernel.
    """
    if result & 0xFF:
        return True
    found = (result >> 8) & flags
    if not found:
        return False
    asked: dict[str, Any] = dict(np.geterr())
    return any(found & int(flag) and asked[name] != "ignore" for name, flag in _NAMES.items())


@lru_cache(maxsize=64)
def _raising(divide: str, over: str, under: str, invalid: str) -> dict[str, Any]:
    modes = {"divide": divide, "over": over, "under": under, "invalid": invalid}
    return {name: "ignore" if mode == "ignore" else "raise" for name, mode in modes.items()}


def quiet(run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """``run`` with every exception and floating-point warning of NumPy turned into Bail: the plain run shows it."""

    @wraps(run)
    def guarded(*inputs: Any) -> list[Any]:
        try:
            with np.errstate(**_raising(**np.geterr())):
                return run(*inputs)
        except Bail:
            raise
        except Exception as error:
            raise Bail from error

    return guarded

"""Floating-point conditions and warnings: takes what a kernel or an extern call met, decides whether to bail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

import numpy as np
from numpy._core import umath

from jitmagic.backends.base import Bail
from jitmagic.backends.native.abi import FloatFlag

__all__ = ["listened", "quiet", "unheard"]

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
    return bool(found & (_asked(np.geterr()) if _STATE is None else _asked_now(_STATE)))


def _asked(modes: Mapping[str, Any]) -> int:
    """The conditions that are not ignored."""
    return sum(int(flag) for name, flag in _NAMES.items() if modes[name] != "ignore")


def _asked_now(state: ContextVar[Any]) -> int:
    """The same of the present state, which np.geterr takes 1 us to read: underflow goes on where there is any."""
    present = state.get()
    known = _asked_of.get(id(present))
    if known is None or known[0] is not present:
        known = present, _asked(np.geterr())
        if len(_asked_of) >= _KNOWN_LIMIT:
            _asked_of.clear()
        _asked_of[id(present)] = known
    return known[1]


@lru_cache(maxsize=64)
def _raising(divide: str, over: str, under: str, invalid: str) -> dict[str, Any]:
    modes = {"divide": divide, "over": over, "under": under, "invalid": invalid}
    return {name: "ignore" if mode == "ignore" else "raise" for name, mode in modes.items()}


# Entering np.errstate costs 1.5 us in Python; NumPy 2 keeps the same state in a context variable, 0.2 us to set.
# The name is private: where it is missing, np.errstate does the work.
_STATE: ContextVar[Any] | None = getattr(umath, "_extobj_contextvar", None)
_known: dict[int, tuple[Any, Any]] = {}  # the id of a state -> the state, and the one that raises in its place
_asked_of: dict[int, tuple[Any, int]] = {}  # likewise, and the conditions that are not ignored
_KNOWN_LIMIT = 64


def _raising_state(state: ContextVar[Any]) -> Any:
    """The present state of floating-point errors with every reported condition raised."""
    present = state.get()
    known = _known.get(id(present))
    if known is None or known[0] is not present:
        with np.errstate(**_raising(**np.geterr())):
            known = present, state.get()
        if len(_known) >= _KNOWN_LIMIT:
            _known.clear()
        _known[id(present)] = known
    return known[1]


@lru_cache(maxsize=512)
def unheard(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` whose floating-point conditions are ignored, whatever the state of the run around it."""
    state = _STATE
    if state is None:
        return np.errstate(all="ignore")(call)
    with np.errstate(all="ignore"):
        ignoring = state.get()

    def ignored(*args: Any, **kwargs: Any) -> Any:
        token = state.set(ignoring)
        try:
            return call(*args, **kwargs)
        finally:
            state.reset(token)

    return ignored


def quiet(run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """``run`` with every exception and floating-point warning of NumPy turned into Bail: the plain run shows it."""
    return _quiet_by_context(run) if _STATE is None else _quiet_by_state(run, _STATE)


def _quiet_by_state(run: Callable[..., list[Any]], state: ContextVar[Any]) -> Callable[..., list[Any]]:
    @wraps(run)
    def guarded(*inputs: Any) -> list[Any]:
        token = state.set(_raising_state(state))
        try:
            return run(*inputs)
        except Bail:
            raise
        except Exception as error:
            raise Bail from error
        finally:
            state.reset(token)

    return guarded


def _quiet_by_context(run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
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

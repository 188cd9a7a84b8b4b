"""Gives NumPy's handling of floating-point errors as one value that guards can compare."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy._core import umath

__all__ = ["errstate", "errstate_text"]

# NumPy 2.1 to 2.5 keep it in a context variable that holds an unchangeable object, None for the default state;
# another NumPy, without the variable, is asked each time.
_error_handling: ContextVar[Any] | None = getattr(umath, "_extobj_contextvar", None)
_last_errstate: tuple[Any, tuple[Any, ...]] | None = None


def errstate() -> tuple[Any, ...]:
    """NumPy's handling of floating-point errors; the last answer is kept, since asking takes a microsecond."""
    global _last_errstate
    if _error_handling is None:
        return _asked_errstate()
    present, last = _error_handling.get(None), _last_errstate
    if last is not None and last[0] is present:
        return last[1]
    state = _asked_errstate()
    _last_errstate = (present, state)
    return state


def _asked_errstate() -> tuple[Any, ...]:
    return (*sorted(np.geterr().items()), np.geterrcall() is None)


def errstate_text(state: tuple[Any, ...]) -> str:
    """Such a value in words."""
    *modes, has_no_callback = state
    return f"{dict(modes)}{'' if has_no_callback else ', with a function set by np.seterrcall'}"

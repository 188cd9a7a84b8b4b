"""Takes a row and floating-point conditions, gives the row of the same operation under ``np.errstate`` without them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.ops.record import Op

__all__ = ["constant", "silenced", "unheard"]


@functools.cache
def constant(row: Op) -> Op:
    """The same operation, whose result counts as a constant: no derivative goes through it."""
    return replace(row, vjp=(), unrecorded=True, forms=())


@functools.cache
def unheard(row: Op) -> Op:
    """The same operation where nobody wants to hear of overflow or division by zero: in derivatives."""
    return replace(row, warns=frozenset(), unheard=True, forms=()) if row.warns else row


@functools.cache
def silenced(row: Op, ignored: frozenset[str]) -> Op:
    """The same loop and the same bits; what it ignores nobody hears of, so it is no reason to run twice."""
    if not row.warns & ignored:
        return row
    name = f"{row.name}_ignoring_{'_'.join(sorted(ignored))}"
    call = _quietly(row.call, ignored)
    return replace(row, name=name, call=call, warns=row.warns - ignored, stands_for=None, forms=())


def _quietly(call: Callable[..., Any], ignored: frozenset[str]) -> Callable[..., Any]:
    settings: dict[str, Any] = dict.fromkeys(ignored, "ignore")

    @functools.wraps(call)
    def quietly(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(**settings):
            return call(*args, **kwargs)

    return quietly

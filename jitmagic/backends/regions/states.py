"""Takes the words that an interrupted kernel has left, gives the values of the program's variables at that moment."""

from __future__ import annotations

import _thread
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.regions.places import all_places
from jitmagic.backends.regions.writer import COMPLEX, FLOATS
from jitmagic.graph import region as ir

__all__ = ["Stopped", "raise_interrupt", "state_of", "words_of"]

_PYTHON = {"pyint": int, "pyfloat": float, "pybool": bool, "pycomplex": complex}
_ROUNDS = 100  # in each of which Python may run a handler; it does so at the first


@dataclass(frozen=True, slots=True)
class Stopped:
    """A loop that ``error`` has ended at the head of a round of the loop on ``line``.

    ``values`` are those of the variables that have one then, ``arrays`` what the loop has written so far, in the order
    of the region's written arrays.
    """

    error: BaseException
    line: int
    values: Mapping[str, Any]
    arrays: tuple[np.ndarray[Any, Any], ...]


def raise_interrupt() -> None:
    """Have Python run the handler of Ctrl-C, which the kernel has taken off; returns if that raises nothing."""
    _thread.interrupt_main()
    for _ in range(_ROUNDS):
        pass


def words_of(region: ir.Region) -> int:
    """How many words an interrupted kernel leaves: the variables, and a line."""
    return 1 + sum(len(all_places(each.variables)) for each in region.held)


def state_of(region: ir.Region, out: Any, arrays: tuple[Any, ...], error: BaseException) -> Stopped | None:
    """``out`` are the words of the kernel, the results first; None if there is no state of plain Python."""
    words = out[len(all_places(region.results)) :]
    ints = words.view(np.int64)
    line = ints.item(len(words) - 1)
    if not line:
        return None
    values: dict[str, Any] = {}
    start = 0
    for each in region.held:
        tag = ints.item(start + len(all_places(each.places))) if each.tag is not None else None
        kind = each.places[0].type if tag is None else ir.KINDS[tag]
        if kind == "none":
            values[each.name] = None
        elif kind != "unbound":
            before = [p.type for p in each.places].index(kind)
            place = start + len(all_places(each.places[:before]))
            values[each.name] = _number(kind, words, ints, place)
        start += len(all_places(each.variables))
    return Stopped(error, region.line + line - 1, values, arrays)


def _number(kind: str, words: Any, ints: Any, place: int) -> Any:
    if kind in COMPLEX:
        value: Any = complex(words.item(place), words.item(place + 1))
    else:
        value = words.item(place) if kind in FLOATS else ints.item(place)
    return (_PYTHON.get(kind) or np.dtype(kind).type)(value)

"""Takes a compiled function, its plain form and a call, gives the time that each takes on copies of the arguments."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jitmagic.backends.deferring import at_once
from jitmagic.runtime.comparison import quietly, same_random_state
from jitmagic.runtime.copies import copy_arguments
from jitmagic.runtime.record import FunctionRecord

__all__ = ["Timing", "time_call"]

_REPEATS = 7


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians over ``repeats`` calls; ``compile_ns`` is what compiling has cost so far, in all, ``now_ns`` what of it
    was spent for these very arguments; ``is_demoted`` tells that plain Python won, and serves such calls from now on.
    """

    plain_ns: int
    compiled_ns: int
    compile_ns: int
    repeats: int = _REPEATS
    now_ns: int = 0
    is_demoted: bool = False


def time_call(
    compiled: Callable[..., Any],
    plain: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    record: FunctionRecord,
) -> Timing:
    """Call both in turn, each time on fresh copies; what they print is caught. Raises what the function raises."""
    before, demoted = record.compile_ns, len(record.demotions)
    with quietly(), same_random_state():
        with at_once():
            for _ in range(2):  # the first call may compile, the second may still wait for it
                _once(compiled, args, kwargs)
        times = [(_once(plain, args, kwargs), _once(compiled, args, kwargs)) for _ in range(_REPEATS)]
    medians = [int(statistics.median(column)) for column in zip(*times, strict=True)]
    spent = record.compile_ns
    return Timing(medians[0], medians[1], spent, now_ns=spent - before, is_demoted=len(record.demotions) > demoted)


def _once(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    args, kwargs = copy_arguments((args, kwargs))
    started = time.perf_counter_ns()
    function(*args, **kwargs)
    return time.perf_counter_ns() - started

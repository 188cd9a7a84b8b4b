"""Takes a loop and a run of it that its backward kernel refused, gives the gradients of that run by the tape.

A kernel leaves what it has no form for to plain Python: slices of unequal length, an integer beyond 64 bits. Forward
that is the loop as the user wrote it; backward it is the same loop on recorded arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.autograd.creating import Creating
from jitmagic.autograd.recorded import Recorded
from jitmagic.autograd.tape import tape_vjp
from jitmagic.autograd.watched import Watched
from jitmagic.graph.region import Region

__all__ = ["gradients_by_tape"]


def gradients_by_tape(
    region: Region, plain: Callable[..., tuple[Any, ...]], wanted: Sequence[str], operands: Sequence[Any], given: Any
) -> tuple[Any, ...]:
    """The gradients by the operands called ``wanted``; ``given`` are those of what is written, then of the results.

    ``plain`` is the loop as a function of the operands, which gives its results and writes in place.
    """
    names = [*(a.name for a in region.arrays), *(s.name for s in region.scalars)]
    written = [a.name for a in region.arrays if a.is_written and a.dtype.startswith("float")]
    leaves = [name for name in names if name in wanted or name in written]
    values = dict(zip(names, operands, strict=True))
    function = Creating(Watched).function(plain)

    def run(*watched: Any) -> list[Any]:
        now = {name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in values.items()}
        now |= {name: _own(each) for name, each in zip(leaves, watched, strict=True)}
        results = function(*now.values())
        kinds = [v.type.removeprefix("py").startswith("float") for v in region.results]
        return [now[name] for name in written] + [r for r, is_real in zip(results, kinds, strict=True) if is_real]

    with np.errstate(all="ignore"):
        found, pull = tape_vjp(run, [values[name] for name in leaves])
        slopes = pull([g for each, g in zip(found, given, strict=True) if isinstance(each, Recorded)])
    by_name = dict(zip(leaves, slopes, strict=True))
    return tuple(by_name[name] for name in names if name in wanted)


def _own(watched: Any) -> Any:
    """What the loop may write; a number is its own."""
    return np.copy(watched) if np.ndim(watched) else watched

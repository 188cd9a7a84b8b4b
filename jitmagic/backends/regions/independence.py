"""Takes a ``for`` loop, says whether its rounds are independent: whether they may run in any order, at the same time.

They are if no variable carries a value from one round to another or out of the loop, and if no element of an array that
the loop writes is met by two rounds. The latter is shown along one axis of each such array, by one of two rules:

    b[i, j] = a[i, j - 1]                 all accesses of b have the same multiple of the counter there
    a[i, j] -= a[i, k] * a[k, j]          or, for reads, an index that the counter does not reach: k < i

What a round writes before it leaves the kernel does not matter: the whole kernel's work is thrown away then.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitmagic.backends.regions.facts import accesses
from jitmagic.backends.regions.liveness import Lives
from jitmagic.backends.regions.proofs import counts_from_end
from jitmagic.backends.regions.ranges import Affine, Ranges, combine, parts_of, statements
from jitmagic.graph import region as ir

__all__ = ["is_independent"]

Indices = list[Affine | None]  # of one access, by axis


def is_independent(loop: ir.For, region: ir.Region, ranges: Ranges, lives: Lives) -> bool:
    """Whether the rounds may run in any order. Indices that depend on the counter must be proven in range."""
    assigned = {s.variable.name for s in statements(loop.body) if isinstance(s, ir.Assign)}
    if assigned & (lives.at_round | lives.after) or loop.variable.name in lives.after or _breaks(loop.body):
        return False
    changed = assigned | {s.variable.name for s in statements((loop,)) if isinstance(s, ir.For)}
    contiguous = {a.name for a in region.arrays if a.is_contiguous}
    found: dict[str, list[tuple[bool, Indices]]] = {}
    folded = {e.array for s in statements(loop.body) for e in parts_of(s) if isinstance(e, ir.Fold)}
    for access in accesses(loop.body, ranges):
        node = access.node
        indices = [ranges.affine(i) for i in node.index]
        found.setdefault(node.array, []).append((isinstance(node, ir.Store), indices))
    for name, each in found.items():
        is_written = any(stores for stores, _ in each)
        if is_written and (name in folded or not (name in contiguous and _is_disjoint(loop, ranges, each, changed))):
            return False
    return True


def _breaks(body: Sequence[ir.Stmt]) -> bool:
    """Whether the loop with this body may end early."""
    for each in body:
        if isinstance(each, ir.Break):
            return True
        if isinstance(each, ir.If) and (_breaks(each.body) or _breaks(each.orelse)):
            return True
    return False


def _is_disjoint(loop: ir.For, ranges: Ranges, found: list[tuple[bool, Indices]], changed: set[str]) -> bool:
    return any(_along(axis, loop, ranges, found, changed) for axis in range(len(found[0][1])))


def _along(axis: int, loop: ir.For, ranges: Ranges, found: list[tuple[bool, Indices]], changed: set[str]) -> bool:
    """Whether the indices of one axis tell different rounds apart."""
    counter = loop.variable.name
    stores = [indices[axis] for is_store, indices in found if is_store]
    own = stores[0]
    if own is None or not own.get(counter) or set(own) & (changed - {counter}):
        return False
    for is_store, indices in found:
        form = indices[axis]
        if form == own:
            continue
        if is_store or form is None or not _is_out_of_reach(form, own, loop, ranges, changed):
            return False
    return True


def _is_out_of_reach(form: Affine, own: Affine, loop: ir.For, ranges: Ranges, changed: set[str]) -> bool:
    """Whether an index that no round changes is below or above all that the rounds write."""
    start, stop = ranges.affine(loop.start), ranges.affine(loop.stop)
    if own != {loop.variable.name: 1} or set(form) & changed or start is None or stop is None:
        return False
    if not isinstance(loop.step, ir.Const) or counts_from_end(form):
        return False
    least, after = (start, stop) if loop.step.value > 0 else (combine(stop, 1, {"": 1}), combine(start, 1, {"": 1}))
    below, above = combine(least, -1, form), combine(form, -1, after)
    return (set(below) <= {""} and below.get("", 0) > 0) or (set(above) <= {""} and above.get("", 0) >= 0)

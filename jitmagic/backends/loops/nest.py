"""Takes a kernel, gives its loop nest: which axes are walked as one."""

from __future__ import annotations

from dataclasses import dataclass

from jitmagic.backends.loops.ir import Access, Fold, Kernel, Load, Store

__all__ = ["Nest", "accesses", "follows", "make_nest"]


@dataclass(frozen=True, slots=True)
class Nest:
    """``levels`` from the outermost: each is one loop over the axes that it names (outermost first).

    There is always one; a space of one element has a level without axes.
    Axes of a level lie so in every operand that one stride, that of the last, serves for all.
    """

    levels: tuple[tuple[int, ...], ...]

    def depth(self, access: Access) -> int:
        """How many of the outer loops must be entered before the element is known."""
        used = [k for k, level in enumerate(self.levels) if any(access.axis_of(a) is not None for a in level)]
        return used[-1] + 1 if used else 0


def accesses(kernel: Kernel) -> list[Access]:
    """Every place that the kernel reads or writes, once."""
    found = [s.access for s in kernel.body if isinstance(s, Load | Store | Fold)]
    return list(dict.fromkeys(found))


def make_nest(kernel: Kernel) -> Nest:
    """Join neighbouring axes of ``kernel.order`` wherever every access allows it."""
    levels: list[tuple[int, ...]] = []
    for axis in kernel.order:
        if levels and all(_joins(kernel, access, levels[-1][-1], axis) for access in accesses(kernel)):
            levels[-1] = (*levels[-1], axis)
        else:
            levels.append((axis,))
    return Nest(tuple(levels) or ((),))


def _joins(kernel: Kernel, access: Access, outer: int, inner: int) -> bool:
    """Whether one loop may walk both axes."""
    return (outer in kernel.reduced) == (inner in kernel.reduced) and follows(kernel, access, outer, inner)


def follows(kernel: Kernel, access: Access, outer: int, inner: int) -> bool:
    """Whether in this access ``outer`` follows ``inner`` without a gap."""
    slow, fast = access.axis_of(outer), access.axis_of(inner)
    if slow is None or fast is None:
        return slow is None and fast is None
    dense = kernel.operand(access.operand).dense
    if dense is None or not all(access.axes[k].is_whole for k in (slow, fast)):
        return False
    return fast in dense and slow in dense and dense.index(slow) == dense.index(fast) + 1

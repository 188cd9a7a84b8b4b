"""Takes a kernel of the loop IR, gives it as text, for people and for golden tests."""

from __future__ import annotations

from jitmagic.backends.loops.ir import Kernel, Operand

__all__ = ["print_kernel"]


def print_kernel(kernel: Kernel) -> str:
    """One line for the space, one per operand, one per statement."""
    loops = ", ".join(f"i{axis}{' (reduced)' if axis in kernel.reduced else ''}" for axis in kernel.order)
    lines = [f"{kernel.name}({loops})"]
    lines += [f"  {operand.kind:<6} {_operand(operand)}" for operand in kernel.operands]
    lines += [f"    {statement}" for statement in kernel.body]
    return "\n".join(lines) + "\n"


def _operand(operand: Operand) -> str:
    if operand.kind in ("in", "out"):
        layout = "gaps" if operand.dense is None else f"dense {operand.dense}"
        return f"{operand.name}: {operand.dtype}, {operand.ndim}d, {layout}"
    return operand.name if operand.dtype is None else f"{operand.name}: {operand.dtype}"

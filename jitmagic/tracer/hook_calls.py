"""What the functions behind backward hooks of modules mean over trackers: where there are gradients, a graph break."""

from __future__ import annotations

from typing import Any, NoReturn

from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.errors import Unsupported
from jitmagic.nn.gradient_hooks import behind_node
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant

__all__ = ["ROWS"]


def _is_grad_enabled(tx: Evaluator) -> VariableTracker:
    """The mode; guarded by the Tensor that it matters for."""
    if tx.output.grad_off:
        return Constant(False)
    if tx.output.tensors is None or not tx.output.tensors.is_mode_guarded:
        raise Unsupported("call", "is_grad_enabled()")
    return Constant(is_grad_enabled())


def _behind_node(tx: Evaluator, *args: VariableTracker) -> NoReturn:
    calls = tx.stack
    raise Unsupported("backward-hook", calls[-1].name if calls else "a module")


ROWS: dict[Any, Handler] = {is_grad_enabled: _is_grad_enabled, behind_node: _behind_node}

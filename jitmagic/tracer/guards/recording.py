"""The guards on Tensors: whether what is done with them is recorded (rows A28, B09)."""

from __future__ import annotations

from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.recorded import Recorded
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import Source

__all__ = ["tensor_guards"]


def tensor_guards(source: Source, value: Recorded) -> list[Guard]:
    """REQUIRES_GRAD: what is recorded of a Tensor is as it was."""
    requires_grad = value._history() is not None
    needs = Guard(
        "REQUIRES_GRAD",
        source,
        "{v}.requires_grad is " + repr(requires_grad),
        repr(requires_grad),
        "{v}.requires_grad",
        about=f"{source.text}.requires_grad",
        remedy="pass Tensors that all require a gradient, or none",
    )
    if not requires_grad:
        return [needs]
    mode = is_grad_enabled()
    return [
        needs,
        Guard(
            "GRAD_MODE",
            source,
            f"is_grad_enabled() is {mode}",
            repr(mode),
            "is_grad_enabled()",
            about="the gradient mode",
            remedy="call the function always, or never, under jm.no_grad()",
        ),
    ]

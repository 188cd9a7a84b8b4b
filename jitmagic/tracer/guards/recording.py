"""The guards on Tensors: whether what is done with them is recorded (rows A28, B09)."""

from __future__ import annotations

from typing import Any

from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.recorded import Recorded
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import DictSource, Source

__all__ = ["grad_mode_guard", "tensor_guards"]


def tensor_guards(source: Source, value: Recorded) -> list[Guard]:
    """REQUIRES_GRAD: what is recorded of a Tensor is as it was."""
    requires_grad = value._history() is not None
    if value._requires:
        return [_field(source, "_requires", True)]
    if not requires_grad and value._root is None:
        return [_field(source, "_requires", False), _field(source, "_edge", None), _field(source, "_root", None)]
    return [
        Guard(
            "REQUIRES_GRAD",
            source,
            "{v}.requires_grad is " + repr(requires_grad),
            repr(requires_grad),
            "{v}.requires_grad",
            about=f"{source.text}.requires_grad",
            remedy=REMEDY,
        )
    ]


REMEDY = "pass Tensors that all require a gradient, or none"


def _field(source: Source, name: str, value: Any) -> Guard:
    """One of the fields that ``requires_grad`` follows from."""
    return Guard(
        "REQUIRES_GRAD",
        DictSource(source, name),
        "{v} is {k}",
        repr(value is True),
        "{v} is not None and {v} is not False",
        value,
        about=f"{source.text}.requires_grad",
        remedy=REMEDY,
        form=("is",),
    )


def grad_mode_guard(source: Source) -> Guard:
    """GRAD_MODE: whether operations are recorded; one guard for a trace, at the first Tensor that it matters for."""
    mode = is_grad_enabled()
    return Guard(
        "GRAD_MODE",
        source,
        f"is_grad_enabled() is {mode}",
        repr(mode),
        "is_grad_enabled()",
        about="the gradient mode",
        remedy="call the function always, or never, under jm.no_grad()",
        form=("recording",) if mode else (),
    )

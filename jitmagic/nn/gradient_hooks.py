"""Takes what goes into a module and what comes out, puts nodes there that show their gradients to hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.node import FunctionNode
from jitmagic.autograd.recorded import raw
from jitmagic.autograd.tensor import Tensor

__all__ = ["GradientHooks", "behind_node"]

Hook = Callable[..., Any]
Gradients = Any  # a tuple of Tensors and None


class GradientHooks:
    """The hooks of one call: ``before(module, grad_output)``, ``after(module, grad_input, grad_output)``.

    Positional arguments of ``forward``, and its result if it is a Tensor, a tuple or a list, count; gradients are in
    the places of the Tensors, None in all others. Where no Tensor is recorded nothing happens.
    """

    def __init__(self, module: Any, before: Sequence[Hook], after: Sequence[Hook]) -> None:
        self.module, self.before, self.after = module, before, after
        self.has_inputs = False
        self.count = 0
        self.grad_output: Gradients | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with those that are recorded behind a node."""
        self.count = len(args)
        passed: tuple[Any, ...]
        passed, self.has_inputs = _through("the input of a module", args, self._at_input)
        return passed

    def leave(self, result: Any) -> Any:
        """The result, behind a node."""
        if not isinstance(result, tuple | list):
            return _through("the result of a module", (result,), self._at_output)[0][0]
        passed, _ = _through("the result of a module", tuple(result), self._at_output)
        if hasattr(result, "_fields"):
            return type(result)(*passed)
        return type(result)(passed)

    def _at_output(self, gradients: Gradients) -> Gradients:
        for hook in self.before:
            gradients = _replaced(hook(self.module, gradients), gradients, "grad_output")
        self.grad_output = gradients
        if not self.has_inputs:
            self._run_after((None,) * self.count)
        return gradients

    def _at_input(self, gradients: Gradients) -> Gradients:
        # Nothing arrived here where the result does not depend on its inputs; then there is no gradient to show.
        return gradients if self.grad_output is None else self._run_after(gradients)

    def _run_after(self, gradients: Gradients) -> Gradients:
        for hook in self.after:
            gradients = _replaced(hook(self.module, gradients, self.grad_output), gradients, "grad_input")
        return gradients


def _replaced(found: Any, gradients: Gradients, name: str) -> Gradients:
    """What a hook gave in place of ``gradients``."""
    if found is None:
        return gradients
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(gradients):
        raise RuntimeError(f"a backward hook gave {len(found)} gradients where {name} has {len(gradients)}")
    return found


def _through(name: str, values: tuple[Any, ...], show: Callable[[Gradients], Gradients]) -> tuple[Any, bool]:
    """The values, with each recorded Tensor replaced by itself behind one node; whether there is one."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not places or not is_grad_enabled():
        return values, False
    return behind_node(name, values, places, show), True


def behind_node(
    name: str, values: tuple[Any, ...], places: list[int], show: Callable[[Gradients], Gradients]
) -> tuple[Any, ...]:
    """The values, those at ``places`` behind one node that gives their gradients to ``show``."""

    def pull(cotangents: list[Any], as_tensors: bool) -> list[Any]:
        arrived: list[Any] = [None] * len(values)
        for place, g in zip(places, cotangents, strict=True):
            arrived[place] = g if g is None or isinstance(g, Tensor) else Tensor(g)
        found = show(tuple(arrived))
        return [found[p] if as_tensors else raw(found[p]) for p in places]

    edges = [edge for p in places if (edge := values[p]._history()) is not None]
    node = FunctionNode(name, pull, edges, len(places))
    passed = list(values)
    for index, place in enumerate(places):
        value = values[place]
        passed[place] = type(value)._made(value._values, (node, index), value._version)
    return tuple(passed)

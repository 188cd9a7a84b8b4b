"""``Function``: a computation whose gradient the user writes; ``checkpoint``: one that is done again to save memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.autograd.backward import walk
from jitmagic.autograd.modes import enable_grad, is_grad_enabled, no_grad
from jitmagic.autograd.node import FunctionNode
from jitmagic.autograd.recorded import Recorded, is_smooth, raw
from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import GradientError

__all__ = ["Context", "Function", "apply_rule", "checkpoint", "cond"]


class Context:
    """What ``forward`` leaves for ``backward``; attributes may be set freely.

    ``needs_input_grad`` has a truth value for each argument of ``apply``.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *values: Any) -> None:
        """Keep ``values``; ``backward`` finds them in ``saved_tensors``."""
        self.saved_tensors = values


class Function:
    """Base of a gradient rule: write ``forward`` and ``backward`` as static methods, call ``apply``.

    ``forward(ctx, *args)`` gives an array or a tuple of arrays; nothing in it is recorded.
    ``backward(ctx, *gradients)`` gets a gradient for each result, gives one (or None) for each argument.
    """

    @staticmethod
    def forward(ctx: Context, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        raise NotImplementedError("a Function needs a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """What ``forward`` gives; for Tensors that require a gradient it comes from ``backward``.

        Raises GradientError (during the backward pass) if ``backward`` gives another number of gradients.
        """
        return apply_rule(cls, args, kwargs)


def apply_rule(rule: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``rule.apply(*args, **kwargs)``."""
    edges = [_edge_of(a) for a in args]
    context = Context(tuple(edge is not None for edge in edges))
    with no_grad():
        result = rule.forward(context, *args, **kwargs)
    places = [i for i, edge in enumerate(edges) if edge is not None]
    if not places:
        return result
    results = result if isinstance(result, tuple) else (result,)
    kind = type(args[places[0]])

    def pull(cotangents: list[Any], as_tensors: bool) -> list[Any]:
        given = [_tensor(g, r) for g, r in zip(cotangents, shapes, strict=True)]
        found = rule.backward(context, *given)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(args):
            raise GradientError(f"{rule.__name__}.backward() gives {len(found)} gradients for {len(args)} arguments")
        return [found[p] if as_tensors else raw(found[p]) for p in places]

    shapes = [np.zeros_like(raw(r)) for r in results]
    node = FunctionNode(rule.__name__, pull, [edges[p] for p in places], len(results))
    made = tuple(kind._made(raw(r), (node, i)) if is_smooth(raw(r)) else r for i, r in enumerate(results))
    return made if isinstance(result, tuple) else made[0]


def _edge_of(value: Any) -> Any:
    return value._history() if isinstance(value, Recorded) and is_grad_enabled() else None


def _tensor(g: Any, like: Any) -> Tensor:
    if isinstance(g, Tensor):
        return g
    return Tensor(like if g is None else g)


def checkpoint(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``, of which nothing is kept for the gradient: a backward pass computes it again.

    Both computations draw the same random numbers from ``np.random``. Gradients also reach Tensors that ``function``
    uses without getting them.
    """
    if not is_grad_enabled():
        return function(*args)
    state = np.random.get_state()
    with no_grad():
        result = function(*args)
    results = result if isinstance(result, tuple) else (result,)
    edges = [_edge_of(a) for a in args]
    places = [i for i, edge in enumerate(edges) if edge is not None]

    def pull(cotangents: list[Any], as_tensors: bool) -> list[Any]:
        leaves = [Tensor(a.detach(), requires_grad=True) if i in places else a for i, a in enumerate(args)]
        again = _again(function, leaves, state)
        pairs = zip(again if isinstance(again, tuple) else (again,), cotangents, strict=True)
        recorded = [(r._history(), g) for r, g in pairs if g is not None and isinstance(r, Recorded)]
        roots = [(edge, raw(g)) for edge, g in recorded if edge is not None]
        found = walk(roots, retain=False, as_tensors=False)
        own = {id(leaves[p]): p for p in places}
        for key, (leaf, g) in found.items():
            if key not in own:
                leaf._accumulate(g)
        return [found[id(leaves[p])][1] if id(leaves[p]) in found else None for p in places]

    node = FunctionNode("checkpoint", pull, [edges[p] for p in places], len(results))
    kind = type(args[places[0]]) if places else Tensor
    made = tuple(kind._made(raw(r), (node, i)) if _is_recorded(r) else r for i, r in enumerate(results))
    return made if isinstance(result, tuple) else made[0]


def _is_recorded(result: Any) -> bool:
    return isinstance(result, Recorded) and is_smooth(raw(result))


def _again(function: Callable[..., Any], args: Sequence[Any], state: Any) -> Any:
    """The second computation, recorded, with the random numbers of the first."""
    now = np.random.get_state()
    np.random.set_state(state)
    try:
        with enable_grad():
            return function(*args)
    finally:
        np.random.set_state(now)


def cond(test: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """``true_fn(*operands)`` if ``test`` is true, else ``false_fn(*operands)``.

    In compiled code both ways become part of the graph where only the data decide.
    """
    if test:
        return true_fn(*operands)
    return false_fn(*operands)

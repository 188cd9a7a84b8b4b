"""The plain meaning of the transformations: the function runs on Tensors, and their tape is walked back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.creating import Creating
from jitmagic.autograd.keeping import StandIns, plain_of
from jitmagic.autograd.pullbacks import Pullback, PullbackForm
from jitmagic.autograd.recorded import Recorded, foreign_array, raw
from jitmagic.autograd.tape import tape_vjp
from jitmagic.autograd.trees import leaves_of, map_leaves
from jitmagic.autograd.watched import Watched
from jitmagic.errors import GradientError

__all__ = ["differentiate_eagerly", "linearise_eagerly"]

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def differentiate_eagerly(
    function: Function, argnums: Argnums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """See ``transforms.differentiate``."""
    with _Run(function, argnums, args, kwargs) as run:
        found = run.result
        if has_aux and not (isinstance(found, tuple) and len(found) == 2):
            raise GradientError(f"{run.name} with has_aux=True gives a pair (value, aux), but it gave {_kind(found)}")
        value = found[0] if has_aux else found
        _check_value(value, run.name)
        gradients = run.arranged(run.pull(_cotangents(found, value)))
        found = value = run.plain(found)
        return found, gradients


def linearise_eagerly(
    function: Function, argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """See ``transforms.linearise``."""
    with _Run(function, argnums, args, kwargs) as run:
        is_recorded = [isinstance(leaf, Recorded) for leaf in leaves_of(run.result)]
        value = run.plain(run.result)

    def pull(cotangents: Any) -> Any:
        return run.pull([g for wanted, g in zip(is_recorded, cotangents, strict=True) if wanted])

    places = iter(range(len(run.leaves)))
    form = PullbackForm(run.arranged([next(places) for _ in run.leaves]))
    if run.is_nested:
        return value, lambda cotangent: run.arranged(pull(list(leaves_of(cotangent))))
    made: Pullback = form.bind(pull, value)
    return value, made


class _Run:
    """One call of the function on Tensors in place of the differentiated arguments."""

    def __init__(self, function: Function, argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.is_tuple = isinstance(argnums, tuple)
        wanted = argnums if isinstance(argnums, tuple) else (argnums,)
        places = [_place(p, args, self.name) for p in wanted]
        self.forms = [map_leaves(args[p], _itself) for p in places]
        self.leaves = [leaf for form in self.forms for leaf in leaves_of(form)]
        for leaf in self.leaves:
            _check_leaf(leaf, self.name)
        watched_function = Creating(Watched).function(function)
        self.is_nested = any(isinstance(leaf, Recorded) for leaf in self.leaves)

        def call(*watched: Any) -> Any:
            each = iter(watched)
            given = list(args)
            for place, form in zip(places, self.forms, strict=True):
                given[place] = map_leaves(form, lambda _: next(each))
            return watched_function(*given, **kwargs)

        self.stand_ins = StandIns()
        self.roots = (function, args, kwargs)
        try:
            with self.stand_ins.noted():
                self.result, self.pull = tape_vjp(call, self.leaves)
            self.is_nested = self.is_nested or self.pull.is_nested  # by a Tensor of a closure
        except BaseException:
            self.let_go()
            raise

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *error: Any) -> None:
        self.result = None
        self.let_go()

    def let_go(self) -> None:
        """What the function has kept of its run becomes plain; a run inside another leaves that to the outer one."""
        if not self.is_nested:
            self.stand_ins.let_go(*self.roots)

    def arranged(self, gradients: Any) -> Any:
        """Gradients in the structure of the arguments; numbers get numbers."""
        pairs = iter(zip(self.leaves, gradients, strict=True))

        def fitted(_: Any) -> Any:
            leaf, g = next(pairs)
            if isinstance(g, np.ndarray) and not g.ndim and not isinstance(leaf, np.ndarray | Recorded):
                return g[()]
            return g

        each = [map_leaves(form, fitted) for form in self.forms]
        return tuple(each) if self.is_tuple else each[0]

    def plain(self, result: Any) -> Any:
        """What the function gives for arrays: Tensors only where it was called with some."""
        return result if self.is_nested else map_leaves(result, plain_of)


def _itself(leaf: Any) -> Any:
    return leaf


def _place(place: int, args: tuple[Any, ...], name: str) -> int:
    if not -len(args) <= place < len(args):
        raise GradientError(
            f"argnums={place} of {name}: the call has {len(args)} positional arguments; pass the argument by position"
        )
    return place % len(args)


def _check_leaf(leaf: Any, name: str) -> None:
    data = raw(leaf)
    foreign = foreign_array(data)
    if foreign:
        raise GradientError(
            f"{name} cannot be differentiated by a {foreign}, a subclass of ndarray with rules of its own: "
            "pass a plain array (np.asarray(x)), or leave it out of argnums"
        )
    dtype = np.asarray(data).dtype if isinstance(data, np.ndarray | np.generic | int | float | complex) else None
    if dtype is not None and dtype.kind in "fc" and not isinstance(data, int):
        return
    what = f"an array of dtype {dtype}" if isinstance(data, np.ndarray) else f"a {type(data).__name__}"
    raise GradientError(
        f"{name} cannot be differentiated by {what}: only floats and complex numbers have gradients. "
        "Convert it (x.astype(float), float(n)), or leave it out of argnums"
    )


def _check_value(value: Any, name: str) -> None:
    data = raw(value)
    shape, dtype = np.shape(data), getattr(data, "dtype", None)
    if isinstance(data, float) or (dtype is not None and shape == () and dtype.kind == "f"):
        return
    advice = "reduce it to one (np.sum, np.mean), or use jm.vjp or jm.jacobian"
    if dtype is None:
        raise GradientError(f"the gradient of {name} needs one real number, but it gave {_kind(data)}; {advice}")
    found = f"an array of shape {shape} and dtype {dtype}"
    raise GradientError(f"the gradient of {name} needs one real number, but it gave {found}; {advice}")


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(raw(value)).__name__}"


def _cotangents(found: Any, value: Any) -> list[Any]:
    """1 for the value and 0 for every other Tensor that the function gave."""
    from_all = [leaf for leaf in leaves_of(found) if isinstance(leaf, Recorded)]
    return [np.ones_like(raw(leaf)) if leaf is value else np.zeros_like(raw(leaf)) for leaf in from_all]

"""Takes a method of a random generator, gives its row: a draw runs as it is, in order, and always exactly once.

The generator is the first operand: an input of the graph, a constant (the one behind ``np.random``), or made in the
graph by ``np.random.default_rng``. What a draw gives is asked of a *twin*, a generator of the same class made for it,
so that inference leaves the user's stream alone. The requested size is put in last: asking for a billion numbers
draws none.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import Dim, SymInt
from jitmagic.ops.describe import find_arrays
from jitmagic.ops.probing import probe
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.ops.registry import op

__all__ = ["GENERATORS", "OF_THE_GLOBAL", "advances_a_generator", "draw", "put_back", "states_of"]

GENERATORS: tuple[type, ...] = (np.random.Generator, np.random.RandomState)
# What tells or replaces the state, or gives what no graph holds
NO_DRAWS = frozenset(["bit_generator", "spawn", "bytes", "get_state", "set_state"])
DIMENSIONS = frozenset({"rand", "randn"})  # every operand is a size
COUNTS = {"permutation": "x", "choice": "a"}  # operands that may be a number of elements
# Functions of ``np.random`` that call a method of the generator behind it
_global: Any = np.random.mtrand._rand  # it has no public name
OF_THE_GLOBAL = {np.random.seed: _global.seed, np.random.sample: _global.random_sample}
OF_THE_GLOBAL[np.random.ranf] = _global.random_sample
TRIED = 1 << 16  # elements that a trial on the twin may cost


@cache
def draw(kind: type, name: str) -> Op:
    """The row of ``kind.name``. Raises Unsupported for methods that draw nothing."""
    if name in NO_DRAWS or name.startswith("_") or not callable(getattr(kind, name, None)):
        raise Unsupported("random", f"{kind.__name__}.{name}")
    call = getattr(kind, name)
    return Op(
        f"random_{name}",
        call,
        _drawn,
        signature=_signature(call),
        effects=True,
        raises=_depends_on_data,
        writes=(1,) if name == "shuffle" else (),
    )


def advances_a_generator(row: Any) -> bool:
    """Whether a row draws from a generator, or makes one whose state is not known."""
    return isinstance(row, Op) and row.effects and row.name.startswith(("random_", "default_rng", "generator_of"))


def states_of(generators: Sequence[Any]) -> list[Any]:
    """What ``put_back`` needs to undo draws."""
    return [g.bit_generator.state if type(g) is np.random.Generator else g.get_state(legacy=False) for g in generators]


def put_back(generators: Sequence[Any], states: Sequence[Any]) -> None:
    for generator, state in zip(generators, states, strict=True):
        if type(generator) is np.random.Generator:
            generator.bit_generator.state = state
        else:
            generator.set_state(state)


def _signature(call: Any) -> inspect.Signature:
    try:
        return inspect.signature(call)
    except (TypeError, ValueError):
        return inspect.Signature()


def _depends_on_data(call: Arguments) -> bool:
    """Constants were tried on the twin; arrays and run-time numbers may hold what the distribution refuses."""
    return bool(find_arrays((call.args[1:], dict(call.kwargs)))) or _holds(PyMeta, (call.args[1:], dict(call.kwargs)))


def _holds(kind: type | tuple[type, ...], value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(_holds(kind, v) for v in value)
    if isinstance(value, Mapping):
        return any(_holds(kind, v) for v in value.values())
    return isinstance(value, kind)


def _drawn(call: Arguments) -> Inferred:
    """One twin for each trial; the size, where nothing else decides the shape, is not drawn but put in."""
    kind = _kind_of(call.args[0])
    args, kwargs = call.args[1:], dict(call.kwargs)
    given = _given(call)
    written = [given.get("x") if call.op.writes else None, given.get("out")]
    if any(w is not None and not isinstance(w, ArrayMeta) for w in written) or (call.op.writes and written[0] is None):
        raise Unsupported("random", f"{call.op.name} that writes into what is no array")
    for name in ("size", COUNTS.get(call.op.call.__name__, "size")):
        kinds = (ArrayMeta, PyMeta) if name == "size" else (PyMeta,)
        if _holds(kinds, given.get(name)):
            raise Unsupported("data-size", f"the size that {call.op.name} is asked for")
    trial = Arguments(_twin_row(kind, call.op), args, kwargs, call.env)
    short, wanted = _with_small_size(trial, given)
    found = probe(short)
    return found if wanted is None else _resized(found, short, wanted)


def _kind_of(generator: Any) -> type:
    return generator.type if isinstance(generator, PyMeta) else type(generator)


def _given(call: Arguments) -> dict[str, Any]:
    """The operands by name. Raises TypeError as Python does for a wrong call."""
    return dict(call.op.signature.bind(*call.args, **call.kwargs).arguments)


@cache
def _twin_row(kind: type, row: Op) -> Op:
    name = row.call.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        bits: Any = np.random.PCG64(0) if kind is np.random.Generator else np.random.MT19937(0)
        return getattr(kind(bits), name)(*args, **kwargs)

    parameters = list(row.signature.parameters.values())[1:]
    return replace(row, call=call, signature=inspect.Signature(parameters), effects=False, writes=(), forms=())


def _with_small_size(call: Arguments, given: Mapping[str, Any]) -> tuple[Arguments, tuple[Dim, ...] | None]:
    """The call with 2 for each size, and the sizes themselves; None where the shape depends on more than them."""
    name = call.op.name.removeprefix("random_")
    if name in DIMENSIONS:
        return (replace(call, args=(2,) * len(call.args)), call.args) if _are_sizes(call.args) else (call, None)
    if name == "permutation" and isinstance(given.get("x"), int | SymInt) and not isinstance(given.get("x"), bool):
        return replace(call, args=(5,), kwargs={}), (given["x"],)
    size = given.get("size")
    sizes = tuple(size) if isinstance(size, tuple | list) else (size,)
    if size is None or not _are_sizes(sizes):
        return call, None
    others = find_arrays((call.args, {k: v for k, v in call.kwargs.items() if k != "size"}))
    if any(m.ndim for m in others):
        if math.prod(int(n) for n in sizes) > TRIED:
            raise Unsupported("random", f"{name} of that many numbers from arrays of parameters")
        return call, None
    small = (2,) * len(sizes)
    if "size" in call.kwargs:
        return replace(call, kwargs={**call.kwargs, "size": small}), sizes
    place = list(call.op.signature.parameters).index("size")
    return replace(call, args=(*call.args[:place], small, *call.args[place + 1 :])), sizes


def _are_sizes(sizes: Sequence[Any]) -> bool:
    """Sizes that NumPy takes; the others are left to it, to refuse."""
    return all(isinstance(n, SymInt) or (type(n) is int and n >= 0) for n in sizes)


def _resized(found: Inferred, call: Arguments, sizes: tuple[Dim, ...]) -> Inferred:
    """The sizes asked for come first in the shape; what is left of it is the distribution's."""
    meta = found.meta
    if not isinstance(meta, ArrayMeta) or meta.scalar or isinstance(call.kwargs.get("out"), ArrayMeta):
        return found
    return Inferred(ArrayMeta.dense(meta.dtype, (*sizes, *meta.shape[len(sizes) :])))


def _made(call: Arguments) -> Inferred:
    """A new generator; from a seed that the trace knows, so that what NumPy refuses is refused now."""
    seed = call.get("seed")
    if isinstance(seed, PyMeta) and seed.type in GENERATORS:
        raise Unsupported("random", "default_rng of a generator")
    if seed is not None and not isinstance(seed, SymInt):
        if _holds((ArrayMeta, PyMeta), seed):
            raise Unsupported("random", "default_rng of a seed in an array")
        np.random.default_rng(seed)
    return Inferred(PyMeta(np.random.Generator))


op("default_rng", np.random.default_rng, meta=_made, signature="seed=None", effects=True)

"""Takes the nodes that share a loop, gives its kernel: operands, accesses and the body in program order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from jitmagic.backends.loops.folds import FoldRecipe
from jitmagic.backends.loops.inlined import Inlined
from jitmagic.backends.loops.ir import (
    Access,
    Apply,
    Cast,
    Fold,
    Index,
    Kernel,
    Literal,
    Load,
    Operand,
    Scalar,
    Store,
    Strided,
    Value,
)
from jitmagic.backends.loops.nest import make_nest
from jitmagic.backends.loops.operands import Place, dense_axes, is_scalar, place, scalar_letter
from jitmagic.backends.loops.recipes import ALL_FLAGS, Recipe
from jitmagic.backends.loops.short import fixed
from jitmagic.backends.native.abi import FloatFlag
from jitmagic.backends.native.inner_loop import is_numpys
from jitmagic.graph import ArrayMeta, Node, PyMeta

__all__ = ["Built", "build_fold", "build_pointwise"]

Cut: TypeAlias = tuple[int, int, bool]  # an axis, the place on it, whether an axis of size 1 is left
WORDS = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64), "d": np.dtype(np.float64)}


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel, the nodes behind its operands by name, and the sizes of its space."""

    kernel: Kernel
    inputs: dict[str, Node]
    outputs: dict[str, Node]
    sizes: tuple[Any, ...]


@dataclass(slots=True)
class Builder:
    """The state of building one kernel."""

    kernel: Kernel
    recipes: dict[Node, Recipe]
    computed: dict[Node, Value] = field(default_factory=dict)
    names: dict[Node, str] = field(default_factory=dict)
    known: dict[Any, Value] = field(default_factory=dict)
    dense: dict[Node, tuple[int, ...] | None] = field(default_factory=dict)
    inlined: Collection[Node] = ()
    reported: Collection[Node] = ()  # by kernels that run before

    def value(self, dtype: np.dtype[Any]) -> Value:
        made = sum(hasattr(s, "out") for s in self.kernel.body)
        return Value(f"v{made}", dtype)

    def add(self, node: Node) -> Value:
        """Compute the element of a node of the group."""
        recipe = self.recipes[node]
        kernel = self.kernel
        flags = self.flags(node, recipe)
        if recipe.short is not None:
            out = self.computed[node] = self.short(node, recipe)
            return out
        pairs = zip(recipe.arguments, recipe.dtypes, strict=True)
        arguments = tuple(self.converted(argument, dtype) for argument, dtype in pairs)
        if recipe.kind == "cast":
            out = arguments[0]
        elif recipe.kind == "apply":
            out = self.value(recipe.result)
            kernel.body.append(Apply(out, recipe.expression, arguments, quiet=not flags))
        else:
            out = self.value(recipe.result)
            kernel.body.append(Strided(out, self.loop(recipe), arguments, quiet=not flags))
        self.computed[node] = out
        return out

    def flags(self, node: Node, recipe: Recipe) -> int:
        """The conditions that this kernel has to report for ``node``: none that an earlier kernel has reported."""
        if node in self.reported:
            return 0
        self.kernel.flags |= recipe.flags
        return recipe.flags

    def short(self, node: Node, recipe: Recipe) -> Value:
        """The terms of a short sum, added in their order."""
        (source,), dtype = recipe.arguments, recipe.result
        assert recipe.short is not None
        axis, length = recipe.short
        meta = node.meta
        assert isinstance(meta, ArrayMeta)
        keeps = meta.ndim == source.meta.ndim
        total = self.term(source, dtype, (axis, 0, keeps))
        for place_on_axis in range(1, length):
            total = self.applied("a + b", total, self.term(source, dtype, (axis, place_on_axis, keeps)))
        if dtype.kind == "f":  # NumPy adds to a result that starts as 0.0: a sum of negative zeros is positive
            total = self.applied("a + b", total, self.literal(0.0, dtype))
        return total if recipe.expression == "sum" else self.applied("a / b", total, self.literal(float(length), dtype))

    def term(self, argument: Any, dtype: np.dtype[Any], cut: Cut) -> Value:
        """The element of an operand of a larger space at one place of an axis that this space lacks."""
        if not isinstance(argument, Node) or is_scalar(argument):
            return self.converted(argument, dtype)
        if argument in self.inlined:
            return self.cast(self.inlined_term(argument, cut), dtype)
        axis, at, keeps = cut
        where = place(argument, self.kernel.ndim + (not keeps))
        axes = fixed(where.axes, axis, at, keeps)
        if axes is None:
            where = Place(argument, tuple(map(Index, range(_ndim(argument)))))
            axes = fixed(where.axes, axis, at, keeps)
            assert axes is not None
        return self.cast(self.load_at(Place(where.base, axes)), dtype)

    def inlined_term(self, node: Node, cut: Cut) -> Value:
        key = ("term", node, cut)
        if key not in self.known:
            recipe = self.recipes[node]
            self.kernel.flags |= recipe.flags
            pairs = zip(recipe.arguments, recipe.dtypes, strict=True)
            arguments = tuple(self.term(argument, dtype, cut) for argument, dtype in pairs)
            is_cast = recipe.kind == "cast"
            self.known[key] = arguments[0] if is_cast else self.applied(recipe.expression, *arguments, to=recipe.result)
        return self.known[key]

    def applied(self, expression: str, *arguments: Value, to: np.dtype[Any] | None = None) -> Value:
        out = self.value(arguments[0].dtype if to is None else to)
        self.kernel.body.append(Apply(out, expression, arguments))
        return out

    def literal(self, value: float, dtype: np.dtype[Any]) -> Value:
        return self.remember(("literal", type(value), repr(value), dtype), dtype, Literal, value)

    def loop(self, recipe: Recipe) -> str:
        """The operand for the inner loop of a ufunc at these dtypes."""
        key = (recipe.ufunc, recipe.dtypes, recipe.result)
        ufunc = recipe.ufunc
        assert ufunc is not None
        if key not in self.known:
            name = f"f{sum(o.kind == 'loop' for o in self.kernel.operands)}_{ufunc.__name__}"
            self.kernel.operands.append(Operand(name, "loop", letter="i", ufunc=ufunc))
            self.known[key] = Value(name, recipe.result)
            self.kernel.serial |= not is_numpys(ufunc)
        return self.known[key].name

    def converted(self, argument: Any, dtype: np.dtype[Any]) -> Value:
        return self.cast(self.source(argument, dtype), dtype)

    def cast(self, source: Value, dtype: np.dtype[Any]) -> Value:
        if source.dtype == dtype:
            return source
        key = ("cast", source, dtype)
        if key not in self.known:
            out = self.known[key] = self.value(dtype)
            self.kernel.body.append(Cast(out, source))
            self.note_cast(source.dtype, dtype)
        return self.known[key]

    def note_cast(self, source: np.dtype[Any], target: np.dtype[Any]) -> None:
        """What a conversion may report; floats that do not fit into an integer are an error of the kernel."""
        if source.kind == "f" and target.kind == "f":
            self.kernel.flags |= int(FloatFlag.OVER | FloatFlag.UNDER | FloatFlag.INVALID)

    def source(self, argument: Any, dtype: np.dtype[Any]) -> Value:
        """The argument before conversion: a value of this kernel, a load, a scalar or a literal."""
        if not isinstance(argument, Node):
            return self.remember(("literal", type(argument), repr(argument), dtype), dtype, Literal, argument)
        if argument in self.computed:
            return self.computed[argument]
        if is_scalar(argument):
            return self.scalar(argument)
        if argument in self.inlined:
            return self.add(argument)
        return self.load_at(place(argument, self.kernel.ndim))

    def remember(self, key: Any, dtype: np.dtype[Any], kind: Any, *details: Any) -> Value:
        if key not in self.known:
            out = self.known[key] = self.value(dtype)
            self.kernel.body.append(kind(out, *details))
        return self.known[key]

    def scalar(self, node: Node) -> Value:
        letter = scalar_letter(node)
        name = self.operand(node, "scalar", letter)
        meta = node.meta
        dtype = meta.dtype if isinstance(meta, ArrayMeta) else WORDS[letter]
        return self.remember(("scalar", node), dtype, Scalar, name)

    def load_at(self, where: Place) -> Value:
        meta = where.base.meta
        assert isinstance(meta, ArrayMeta)
        access = Access(self.operand(where.base, "in"), where.axes)
        return self.remember(("load", access), meta.dtype, Load, access)

    def operand(self, node: Node, kind: str, letter: str = "a") -> str:
        if node not in self.names:
            prefix = {"in": "a", "out": "o", "scalar": "s"}[kind]
            name = f"{prefix}{sum(o.kind == kind for o in self.kernel.operands)}"
            meta = node.meta
            if isinstance(meta, PyMeta) or meta is None:
                operand = Operand(name, kind, WORDS[letter], letter=letter)
            else:
                dense = self.dense.get(node)
                operand = Operand(name, kind, meta.dtype, meta.ndim, dense, letter)
            self.kernel.operands.append(operand)
            self.names[node] = name
        return self.names[node]

    def fold(self, node: Node, fold: FoldRecipe) -> str:
        """Reduce; the sum of a whole array goes to an array of partial sums, one for each part of the loop."""
        value = self.converted(fold.source, fold.dtype)
        name = self.operand(node, "out")
        if fold.shape == "R":
            self.kernel.operands[-1] = Operand(name, "out", fold.dtype, 1, (0,))
            axes: tuple[Index, ...] = (Index(None),)
        else:
            kept = [a for a in range(self.kernel.ndim) if a not in fold.reduced]
            whole = isinstance(node.meta, ArrayMeta) and node.meta.ndim == self.kernel.ndim
            axes = tuple(Index(a if a in kept else None) for a in range(self.kernel.ndim) if whole or a in kept)
        self.kernel.body.append(Fold(fold.kind, Access(name, axes), value))
        self.kernel.flags |= ALL_FLAGS if fold.dtype.kind == "f" and fold.kind in ("sum", "mean") else 0
        return name

    def store(self, node: Node) -> str:
        name = self.operand(node, "out")
        axes = tuple(Index(axis) for axis in range(self.kernel.ndim))
        self.kernel.body.append(Store(Access(name, axes), self.computed[node]))
        return name


def build_fold(
    name: str,
    nodes: Sequence[Node],
    recipes: dict[Node, Recipe],
    folds: dict[Node, FoldRecipe],
    stored: Iterable[Node],
    dense: Dense,
    inlined: Inlined,
) -> Built | None:
    """The kernel of a group with folds; None if its accesses do not run along memory as the folds must."""
    first = next(folds[n] for n in nodes if n in folds)
    meta = first.source.meta
    assert isinstance(meta, ArrayMeta)
    kernel = Kernel(name, meta.ndim, (dense_axes(meta) or ())[::-1], reduced=first.reduced, shape=first.shape)
    kernel.operands = [Operand(f"n{axis}", "size", letter="i") for axis in range(meta.ndim)]
    builder = Builder(kernel, recipes, dense=dense, inlined=inlined.nodes, reported=inlined.reported)
    outputs = {}
    for node in nodes:
        if node in folds:
            outputs[builder.fold(node, folds[node])] = node
        else:
            builder.add(node)
    outputs |= {builder.store(node): node for node in stored if node not in folds}
    levels = make_nest(kernel).levels
    if len(levels) != len(first.shape):
        return None
    inputs = {n: node for node, n in builder.names.items() if n not in outputs}
    inlined.reported.update(builder.computed)
    return Built(kernel, inputs, outputs, meta.shape)


def build_pointwise(
    name: str,
    nodes: Sequence[Node],
    recipes: dict[Node, Recipe],
    stored: Iterable[Node],
    dense: Dense,
    inlined: Inlined,
) -> Built:
    """The kernel of a group of elementwise nodes over one space; ``stored`` are those that others read."""
    meta = nodes[-1].meta
    assert isinstance(meta, ArrayMeta)
    stored = list(stored)
    first = stored[0].meta
    assert isinstance(first, ArrayMeta)
    kernel = Kernel(name, meta.ndim, (dense_axes(first) or ())[::-1])
    builder = Builder(kernel, recipes, dense=dense, inlined=inlined.nodes, reported=inlined.reported)
    for node in nodes:
        builder.add(node)
    outputs = {builder.store(node): node for node in stored}
    kernel.extent = [(next(iter(outputs)), axis) for axis in range(kernel.ndim)]
    inputs = {n: node for node, n in builder.names.items() if n not in outputs}
    inlined.reported.update(builder.computed)
    return Built(kernel, inputs, outputs, meta.shape)


Dense = dict[Node, tuple[int, ...] | None]


def _ndim(node: Node) -> int:
    assert isinstance(node.meta, ArrayMeta)
    return node.meta.ndim

"""A duck array whose operations become nodes of a pure graph: how rules written in plain NumPy are recorded.

x = stage.value(node)
np.sin(x) * 2          # two nodes; np.sin(x).shape, .dtype, .T, .sum(axis=0) work as of an array
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from jitmagic.errors import Span, Unsupported
from jitmagic.graph import ArrayMeta, Graph, Node, PyMeta, ShapeEnv, SymInt, map_nodes
from jitmagic.graph.graph import Binding
from jitmagic.graph.node import ModuleCall, nodes_in
from jitmagic.ops import Form, Op, lookup, lookup_method
from jitmagic.ops.extern import differentiable_row, extern
from jitmagic.ops.registry import lookup_attribute
from jitmagic.ops.silenced import unheard

__all__ = ["Stage", "Staged"]


@dataclass(slots=True)
class Stage:
    """Where recorded operations go. What they compute nobody hears of: derivatives do not warn.

    ``span`` and ``stack`` say which line of the program the nodes belong to. With ``listens`` the operations are those
    of the program itself, whose conditions are heard.
    """

    graph: Graph
    env: ShapeEnv
    span: Span | None = None
    stack: tuple[ModuleCall, ...] = ()
    listens: bool = False

    def value(self, node: Node) -> Staged:
        """The duck array of a node with a description."""
        return Staged(self, node)

    def lift(self, value: Any) -> Any:
        """Operands of a node as a rule sees them: nodes become duck arrays, constants stay."""
        return map_nodes(value, lambda leaf: self._lifted(leaf) if isinstance(leaf, Node) else leaf)

    def _lifted(self, node: Node) -> Any:
        if node.meta is None and node.kind == "constant":
            return node.value
        return Staged(self, node)

    def describe(self, value: Any) -> Any:
        """Operands of a node as ``Op.infer`` takes them."""
        return map_nodes(value, _meta_of)

    def lower(self, value: Any) -> Any:
        """Duck arrays as nodes; real arrays become constants of the graph."""
        return map_nodes(value, self._lowered)

    def _lowered(self, leaf: Any) -> Any:
        if isinstance(leaf, Staged):
            return leaf.node
        if isinstance(leaf, np.ndarray):
            return self.graph.constant(leaf, ArrayMeta.of(leaf))
        return leaf

    def call(self, op: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any] = {}) -> Any:
        """``op(*args, **kwargs)`` as a node: its duck array, or a tuple of them."""
        plain, named = self.lower(args), self.lower(dict(kwargs))
        inferred = op.infer(self.describe(plain), self.describe(named), self.env)
        if inferred.same_as is not None:
            return self.value(plain[inferred.same_as])  # there is no ``out`` here
        known = self._known(op, plain, named, inferred.meta)
        if known is not None:
            return known
        op = op if self.listens else unheard(op)
        view_of = None if inferred.view_of is None else plain[inferred.view_of]
        if not isinstance(view_of, Node):
            view_of = None
        meta = None if isinstance(inferred.meta, tuple) else inferred.meta
        node = self.graph.call(op, plain, named, meta, view_of=view_of, span=self.span, stack=self.stack)
        if not isinstance(inferred.meta, tuple):
            for _, axis, symbol in inferred.run_time_sizes:
                self.graph.bindings.append(Binding(repr(symbol), node, axis))
            return self.value(node)
        items = tuple(None if m is None else self.value(self.item(node, i, m)) for i, m in enumerate(inferred.meta))
        for which, axis, symbol in inferred.run_time_sizes:
            self.graph.bindings.append(Binding(repr(symbol), items[which].node, axis))  # type: ignore[union-attr]  # sizes are of arrays
        return items if inferred.container is tuple else _contained(inferred.container, items)

    def _known(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], meta: Any) -> Any:
        """A number computed from known numbers only, as a constant of the graph."""
        nodes = list(nodes_in((args, kwargs)))
        if not isinstance(meta, ArrayMeta) or not meta.scalar or not all(map(_is_known_number, nodes)):
            return None
        given = map_nodes((args, kwargs), lambda leaf: leaf.value if isinstance(leaf, Node) else leaf)
        if op.effects or any(isinstance(leaf, SymInt) for leaf in _leaves(given)):
            return None
        with np.errstate(all="ignore"):
            return self.number(op.call(*given[0], **given[1]))

    def number(self, value: np.generic) -> Staged:
        """A known NumPy number."""
        return self.value(self.graph.constant(value, ArrayMeta.of(value), "number"))

    def one_like(self, node: Node) -> Staged:
        """The number 1 in the dtype of ``node``, which has one element."""
        value = self.value(node)
        one = self.number(value.dtype.type(1))
        if value.meta.scalar:
            return one
        whole: Any = np.broadcast_to(one, value.shape)
        return whole  # type: ignore[no-any-return]  # a duck array

    def item(self, node: Node, index: int, meta: Any) -> Node:
        """Entry ``index`` of a result that is a tuple."""
        item = self.graph.item(node, index, meta)
        item.view_of = node.view_of
        return item

    def form(self, op: Op, form: Form, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The same, written as ``form``."""
        if form.adapt is not None:
            args, kwargs = form.adapt(*args, **kwargs)
        return self.call(op, args, kwargs)

    def function(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """A function of NumPy: its row, an extern node that has rules, its Python body, or any extern node."""
        found = lookup(function)
        if found is not None:
            return self.form(*found, args, kwargs)
        if differentiable_row(function) is not None:
            return self.call(extern(function), args, kwargs)
        body = getattr(function, "__wrapped__", None)
        if body is not None and not getattr(function, "__module__", "").startswith("numpy.linalg"):
            return body(*args, **kwargs)
        return self.call(extern(function), args, kwargs)


def _is_known_number(node: Node) -> bool:
    return node.kind == "constant" and isinstance(node.value, np.generic)


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    map_nodes(value, found.append)
    return found


def _meta_of(leaf: Any) -> Any:
    if not isinstance(leaf, Node):
        return leaf
    return ArrayMeta.of(leaf.value) if leaf.meta is None and leaf.kind == "constant" else leaf.meta


def _contained(container: Any, items: tuple[Any, ...]) -> Any:
    return container(items) if container is list else container(*items)


class Staged(NDArrayOperatorsMixin):
    """One value of the graph under construction. Immutable; sizes in ``shape`` may be symbolic."""

    __slots__ = ("node", "stage")

    def __init__(self, stage: Stage, node: Node) -> None:
        self.stage = stage
        self.node = node

    # -- what it is
    @property
    def meta(self) -> ArrayMeta:
        """The description; a Python number counts as a scalar."""
        meta = _meta_of(self.node)
        if isinstance(meta, PyMeta):
            return ArrayMeta(np.dtype(meta.type), scalar=True)
        assert isinstance(meta, ArrayMeta)
        return meta

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.meta.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.meta.dtype

    @property
    def ndim(self) -> int:
        return self.meta.ndim

    @property
    def size(self) -> Any:
        return self.meta.size

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, in this trace: their order is that of every call."""
        return self.meta.strides

    @property
    def flags(self) -> Any:
        """Only those of the order in memory."""
        orders = self.meta.contiguous
        return SimpleNamespace(c_contiguous="C" in orders, f_contiguous="F" in orders, fnc=orders == "F")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self) -> str:
        return f"<staged {self.node!r} {self.meta}>"

    def __bool__(self) -> bool:
        raise Unsupported("data-branch", f"the derivative of {self.node!r}")

    # -- NumPy's protocols
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            raise Unsupported("store", f"{ufunc.__name__}(out=...) in a derivative")
        if method == "__call__":
            return self.stage.function(ufunc, inputs, kwargs)
        return self.stage.function(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.stage.function(function, tuple(args), kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.stage.function(operator.getitem, (self, index), {})

    def __getattr__(self, name: str) -> Any:
        """Attributes and methods that have a row: ``T``, ``real``, ``sum``, ``astype``, ``reshape``, ..."""
        attribute = lookup_attribute(name)
        if attribute is not None:
            return self.stage.call(attribute, (self,))
        found = None if name.startswith("__") else lookup_method(name)
        if found is None:
            raise AttributeError(name)

        def method(*args: Any, **kwargs: Any) -> Any:
            return self.stage.form(*found, (self, *args), kwargs)

        return method

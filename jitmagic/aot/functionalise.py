"""Takes a captured graph and its aliases, gives a pure graph in which every write has become a new value.

    %setitem = setitem(%x, 0:2, %y)            %update = update(%x, %y, (.getitem((0:2, ...)),))
    %sum = sum(%v)          # %v = x.T    =>   %transpose_1 = transpose(%update);  %sum = sum(%transpose_1)

Each storage has a *current* node. A write replaces it; views of it are made again when they are read next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.aot.aliases import Aliases
from jitmagic.aot.joint.expand import expand_gradient
from jitmagic.aot.joint.pullbacks import expand_pullback
from jitmagic.errors import InternalError, Unsupported
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv, map_nodes
from jitmagic.graph.graph import Binding
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.derivatives import DETACH, GRADIENT, HISTORY_OF, WATCH
from jitmagic.ops.functional import UPDATE, UPDATE_INDEX, ViewStep
from jitmagic.ops.pullback import PULLBACK
from jitmagic.ops.record import Op

__all__ = ["PureBuilder", "WriteRule", "array_meta"]


@dataclass(slots=True)
class PureBuilder:
    """The pure graph under construction, and where the captured graph's values stand in it.

    ``current`` maps a storage to its newest value and ``version`` counts its writes; ``made`` maps a captured node
    to its pure one and the version that this one shows; ``steps`` are the views' operations over pure nodes;
    ``offsets`` tells where the entries of a captured tuple stand in the pure one, ``parts`` what they are if there is
    no tuple. ``watched`` gives the value that a watched array had when the watch began: gradients end there.
    """

    aliases: Aliases
    pure: Graph
    env: ShapeEnv
    current: dict[Node, Node] = field(default_factory=dict)
    version: dict[Node, int] = field(default_factory=dict)
    made: dict[Node, tuple[int, Node]] = field(default_factory=dict)
    steps: dict[Node, ViewStep] = field(default_factory=dict)
    offsets: dict[Node, int] = field(default_factory=dict)
    parts: dict[Node, list[Node]] = field(default_factory=dict)
    watched: dict[Node, Node] = field(default_factory=dict)

    def build(self, captured: Graph, rules: Callable[[Node], WriteRule]) -> None:
        """Translate every node but the inputs, which ``start`` has introduced."""
        bindings: dict[Node, list[Binding]] = {}
        for binding in captured.bindings:
            bindings.setdefault(binding.node, []).append(binding)
        for node in captured.nodes:
            if node.kind == "call" and node.written():
                rules(node)(self, node)
            elif node.kind != "input":
                _TRANSLATE[node.kind](self, node)
            for binding in bindings.get(node, ()):
                self.pure.bindings.append(Binding(binding.symbol, self.read(node), binding.axis))

    def start(self, storage: Node, value: Node) -> None:
        """``value`` is what ``storage`` holds at first."""
        self.current[storage] = value
        self.version[storage] = 0

    def read(self, node: Node) -> Node:
        """The pure node with the value that ``node``'s memory has now."""
        node = self.aliases.canonical(node)
        storage = self.aliases.storage(node)
        if node is storage:
            return self.current[node]
        version, known = self.made.get(node, (-1, node))
        if version == self.version[storage]:
            return known
        fresh = self._view(node)
        self.made[node] = (self.version[storage], fresh)
        return fresh

    def operands(self, value: Any) -> Any:
        """The same nesting with every captured node replaced by its present value."""
        return map_nodes(value, lambda leaf: self.read(leaf) if isinstance(leaf, Node) else leaf)

    def call(
        self,
        like: Node,
        op: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        meta: Any,
        view_of: Node | None = None,
    ) -> Node:
        """A call at the place in the source of the captured node ``like``."""
        return self.pure.call(op, args, kwargs, meta, view_of=view_of, span=like.span, stack=like.stack)

    def write(self, like: Node, target: Node, value: Any, more: tuple[ViewStep, ...] = ()) -> None:
        """``target`` (followed by the steps ``more``) now holds ``value``."""
        owner, path = self._owner(target)
        base, path = self.read(owner), (*path, *more)
        new = self.call(like, UPDATE, (base, value, path), {}, _written(base))
        self._advance(like, owner, self._recorded(like, target, base, new))

    def write_fresh(self, like: Node, target: Node, value: Node) -> None:
        """``target`` now holds ``value``, a new array made for this write alone: it may become the storage itself."""
        new = value.meta
        owner, path = self._owner(target)
        replaces = isinstance(new, ArrayMeta) and not new.scalar and same_description(array_meta(target), new)
        if replaces and array_meta(target).is_counted:  # without elements its strides may be other ones
            replaces = False
        if replaces and not path:
            self._advance(like, owner, self._recorded(like, target, self.read(owner), value))
        else:
            self.write(like, target, value)

    def write_index(self, like: Node, target: Node, index: Any, value: Any) -> None:
        """``target[index]``, with an advanced index, now holds ``value``."""
        owner, path = self._owner(target)
        base = self.read(owner)
        new = self.call(like, UPDATE_INDEX, (base, value, path, index), {}, _written(base))
        self._advance(like, owner, self._recorded(like, target, base, new))

    def _recorded(self, like: Node, target: Node, old: Node, new: Node) -> Node:
        """What is ``new`` in place of ``old``; a write under ``no_grad``, or into what is detached, leaves its history.

        So does the record of the plain run (row A06).
        """
        is_recorded = not getattr(like.op, "unrecorded", False)
        if is_recorded and not any(self.steps[view].op is DETACH for view in self.aliases.chain(target)):
            return new
        made = self.call(like, DETACH, (new,), {}, new.meta, view_of=new)
        return self.call(like, HISTORY_OF, (made, old), {}, new.meta, view_of=made)

    def _owner(self, target: Node) -> tuple[Node, tuple[ViewStep, ...]]:
        """What a write to ``target`` makes anew, and the views from there: the storage, or a watched view of it.

        A watched array is made anew from its own last value, so that derivatives find the way through the write.
        """
        chain = self.aliases.chain(target)
        for position in range(len(chain) - 1, -1, -1):
            if self.steps[chain[position]].op is WATCH:
                return chain[position], tuple(self.steps[view] for view in chain[position + 1 :])
        return self.aliases.storage(target), tuple(self.steps[view] for view in chain)

    def path(self, node: Node) -> tuple[ViewStep, ...]:
        """The views from the storage of ``node`` to it, over pure nodes."""
        return tuple(self.steps[view] for view in self.aliases.chain(node))

    def _view(self, node: Node) -> Node:
        step, parent = self.steps[node], self.read(self.aliases.parents[node])
        meta = node.meta if step.item is None else None
        args = step.arguments(parent)
        view = self.pure.call(step.op, args, step.kwargs, meta, view_of=parent, span=node.span, stack=node.stack)
        return view if step.item is None else self.pure.item(view, step.item, array_meta(node))

    def _advance(self, like: Node, owner: Node, value: Node) -> None:
        """``owner``, a storage or a watched view of one, now holds ``value``."""
        storage = self.aliases.storage(owner)
        if storage.kind == "constant":
            raise Unsupported("store", "writing into an array held by the code itself", owner.span)
        whole, path = value, self.path(owner)
        if any(step.op is not WATCH for step in path):
            base = self.current[storage]
            whole = self.call(like, UPDATE, (base, value, path), {}, _written(base))
        self.current[storage] = whole
        self.version[storage] += 1
        if owner is not storage:
            self.made[owner] = (self.version[storage], value)


WriteRule = Callable[[PureBuilder, Node], None]


def array_meta(node: Node) -> ArrayMeta:
    """The description of a node that denotes an array. Raises InternalError for others."""
    if isinstance(node.meta, ArrayMeta):
        return node.meta
    if node.kind == "constant":
        return ArrayMeta.of(node.value)
    raise InternalError(f"{node!r} is used as an array but has the description {node.meta}")


def same_description(a: ArrayMeta, b: ArrayMeta) -> bool:
    """Equal dtype, shape in every call, and strides; decides nothing about symbolic sizes."""
    keys = [tuple(n.key if isinstance(n, SymInt) else n for n in meta.shape) for meta in (a, b)]
    return a.dtype == b.dtype and keys[0] == keys[1] and a.strides == b.strides


def _written(base: Node) -> ArrayMeta:
    return replace(array_meta(base), writeable=True)


def _constant(builder: PureBuilder, node: Node) -> None:
    builder.start(node, builder.pure.constant(node.value, node.meta, node.name))


def _item(builder: PureBuilder, node: Node) -> None:
    if builder.aliases.canonical(node) is not node:
        return
    if builder.aliases.is_view(node):
        _remember_step(builder, node)
    elif node.args[0] in builder.parts:
        builder.start(node, builder.parts[node.args[0]][node.index])
    else:
        assert node.meta is not None
        source, index = node.args[0], node.index + builder.offsets.get(node.args[0], 0)
        builder.start(node, builder.pure.item(builder.read(source), index, node.meta))


def _call(builder: PureBuilder, node: Node) -> None:
    request = _REQUESTS.get(node.op) if isinstance(node.op, Op) else None
    if request is not None:
        request(builder, node)
    elif builder.aliases.is_view(node):
        _remember_step(builder, node)
    else:
        args, kwargs = builder.operands(node.args), builder.operands(node.kwargs)
        builder.start(node, builder.call(node, node.op, args, kwargs, node.meta))
    if node.op is WATCH:
        builder.watched[node] = builder.read(node)


def _gradient(builder: PureBuilder, node: Node) -> None:
    value, cotangent, watched = node.args
    origins = [builder.watched[w] for w in watched]
    value, cotangent = builder.operands(value), builder.operands(cotangent)
    builder.parts[node] = expand_gradient(builder.pure, builder.env, value, cotangent, origins, node)


def _pullback(builder: PureBuilder, node: Node) -> None:
    values, watched = node.args
    origins = [builder.watched[w] for w in watched]
    made = expand_pullback(builder.pure, builder.env, builder.operands(values), origins, node)
    builder.start(node, made)


_REQUESTS: Mapping[Op, Callable[[PureBuilder, Node], None]] = {GRADIENT: _gradient, PULLBACK: _pullback}


def _remember_step(builder: PureBuilder, node: Node) -> None:
    """The other operands of a view are read once, when it is made."""
    builder.steps[node] = builder.operands(builder.aliases.steps[node])
    builder.read(node)


_TRANSLATE: Mapping[str, Callable[[PureBuilder, Node], None]] = {
    "constant": _constant,
    "item": _item,
    "call": _call,
}

"""What a call of ``differentiate`` means over trackers: the function is traced, then one node asks for the gradient.

Each number of the differentiated arguments is *watched*: it becomes a value of its own, from which the derivative is
taken; the same array reached in another way counts as a constant (row A25). Containers are made again around them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.autograd.function import Context, apply_rule, checkpoint
from jitmagic.autograd.pullbacks import Pullback, PullbackForm
from jitmagic.autograd.tensor import detach
from jitmagic.autograd.transforms import differentiate, linearise
from jitmagic.autograd.trees import is_registered
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.node import nodes_in
from jitmagic.ops.derivatives import DETACH, GRADIENT, WATCH, gradient_meta
from jitmagic.ops.pullback import PULLBACK
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.operands import wrap_node
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, TupleTracker
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter

__all__ = ["ROWS"]

Change = Callable[[VariableTracker], VariableTracker]
REFUSED = "differentiating {}"


def _differentiate(
    tx: Evaluator,
    function: VariableTracker,
    argnums: VariableTracker,
    has_aux: VariableTracker,
    args: VariableTracker,
    kwargs: VariableTracker,
) -> VariableTracker:
    """``(value, gradients)``, or ``((value, aux), gradients)``; gradients have the structure of the arguments."""
    result, forms, nodes = _watched_call(tx, function, argnums, args, kwargs)
    value = _value(tx, result, bool(has_aux.constant()))
    gradients = _gradients(tx, tx.operand(value), None, nodes)
    return TupleTracker([result, _arranged(tx, forms, argnums, gradients)])


def _linearise(
    tx: Evaluator, function: VariableTracker, argnums: VariableTracker, args: VariableTracker, kwargs: VariableTracker
) -> VariableTracker:
    """``(value, pullback)``."""
    result, forms, nodes = _watched_call(tx, function, argnums, args, kwargs)
    values: list[VariableTracker] = []

    def note(value: VariableTracker) -> VariableTracker:
        if not isinstance(value, ArrayTracker | RunTimeNumber | Constant):
            raise Unsupported("call", REFUSED.format(value.describe()))
        values.append(value)
        return value

    _rebuilt(tx, result, note)
    return TupleTracker([result, PullbackTracker(tx, result, values, forms, argnums, nodes)])


def _watched_call(
    tx: Evaluator, function: VariableTracker, argnums: VariableTracker, args: VariableTracker, kwargs: VariableTracker
) -> tuple[VariableTracker, list[VariableTracker], tuple[Any, ...]]:
    """What the function gives for watched arguments, the structures of these, and the nodes of their leaves."""
    if not isinstance(args, TupleTracker) or not isinstance(kwargs, DictTracker):
        raise Unsupported("call", "differentiate()")
    given, wanted = list(args.items), argnums.constant()
    places = [_place(p, len(given)) for p in (wanted if isinstance(wanted, tuple) else (wanted,))]
    leaves: list[VariableTracker] = []

    def watch(value: VariableTracker) -> VariableTracker:
        leaves.append(_watched(tx, value))
        return leaves[-1]

    for place in places:
        given[place] = _rebuilt(tx, given[place], watch)
    forms = [_rebuilt(tx, given[place], lambda leaf: leaf) for place in places]  # the function may change containers
    nodes = tuple(tx.operand(leaf) for leaf in leaves)  # before the function may give them another shape
    tx.output.differentiating += 1
    result = tx.realize(function.call(tx, given, dict(kwargs.items)))
    tx.output.differentiating -= 1
    return result, forms, nodes


def _arranged(
    tx: Evaluator, forms: list[VariableTracker], argnums: VariableTracker, gradients: Sequence[VariableTracker]
) -> VariableTracker:
    """The gradients in the structure of the arguments."""
    found = iter(gradients)
    each = [_rebuilt(tx, form, lambda _: next(found)) for form in forms]
    return TupleTracker(each) if isinstance(argnums.constant(), tuple) else each[0]


def _place(place: Any, count: int) -> int:
    if type(place) is not int or not -count <= place < count:
        raise Unsupported("call", REFUSED.format(f"argument {place!r}, which is not among those given"))
    return place % count


def _value(tx: Evaluator, result: VariableTracker, has_aux: bool) -> VariableTracker:
    """The number that is differentiated. What is none is refused: the plain run says so in words."""
    if has_aux:
        if not isinstance(result, TupleTracker) or len(result.items) != 2:
            raise Unsupported("call", REFUSED.format("a function that gives no pair of value and aux"))
        result = tx.realize(result.items[0])
    is_number = isinstance(result, ArrayTracker) and not result.meta.shape and result.meta.dtype.kind == "f"
    is_python = isinstance(result, RunTimeNumber | Constant) and result.python_type() is float
    if not is_number and not is_python:
        raise Unsupported("call", REFUSED.format(f"{result.describe()}, which is no real number"))
    return result


def _watched(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """A value of its own for a number or an array of numbers."""
    if isinstance(value, ArrayTracker):
        if value.meta.dtype.kind not in "fc":
            raise Unsupported("call", REFUSED.format(f"{value.describe()} of dtype {value.meta.dtype}"))
        meta: ArrayMeta | PyMeta = value.meta
    else:
        kind = value.python_type()
        if kind not in (float, complex):
            raise Unsupported("call", REFUSED.format(value.describe()))
        meta = PyMeta(kind)
    operand = tx.operand(value)
    node = tx.add_node(WATCH, (operand,), {}, meta)
    if isinstance(meta, ArrayMeta) and not meta.scalar:
        node.view_of = operand
    made = wrap_node(tx, node, meta)
    made.source = value.source  # what leaves the trace is the array itself, not a view of it
    if isinstance(made, ArrayTracker) and isinstance(value, ArrayTracker):
        value.twins = made.twins = [*(value.twins or [value]), made]
        for each in value.twins:
            each.twins = value.twins
    return made


def _gradients(tx: Evaluator, value: Any, cotangent: Any, watched: tuple[Any, ...]) -> list[VariableTracker]:
    _check_no_tensor(tx, (value, cotangent))
    request = tx.add_node(GRADIENT, (value, cotangent, watched), {}, None)
    metas = [gradient_meta(node.meta) for node in watched]
    return [wrap_node(tx, tx.output.graph.item(request, i, meta), meta) for i, meta in enumerate(metas)]


def _check_no_tensor(tx: Evaluator, values: Any) -> None:
    """Refuses gradients that depend on Tensors that require one: they need a history, which the plain run records."""
    tensors = tx.output.tensors
    if tensors is not None and not tx.output.grad_off and tensors.leaves_behind(nodes_in(values)):
        raise Unsupported("call", REFUSED.format("what depends on a Tensor that requires a gradient"))


class PullbackTracker(VariableTracker):
    """What ``vjp`` gives besides the value; once it leaves the trace it holds a backward program."""

    def __init__(
        self,
        tx: Evaluator,
        result: VariableTracker,
        values: list[VariableTracker],
        forms: list[VariableTracker],
        argnums: VariableTracker,
        watched: tuple[Any, ...],
    ) -> None:
        self.tx = tx
        self.result = result
        self.values = tuple(tx.operand(v) for v in values)
        self.forms = forms
        self.argnums = argnums
        self.watched = watched
        self.node: Any = None

    def python_type(self) -> type:
        return Pullback

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) != 1 or kwargs:
            raise Unsupported("call", "a pullback with other arguments than one cotangent")
        cotangents = tuple(tx.operand(c) for c in _paired(tx, self.result, args[0]))
        return _arranged(tx, self.forms, self.argnums, _gradients(tx, self.values, cotangents, self.watched))

    def reconstruct(self, emit: Emitter) -> str:
        tx = self.tx
        if self.node is None:
            _check_no_tensor(tx, self.values)
            self.node = tx.output.graph.call(PULLBACK, (self.values, self.watched), {}, None)
        places = iter(range(len(self.watched)))
        trees = [_template(tx, form, places) for form in self.forms]
        form = PullbackForm(tuple(trees) if isinstance(self.argnums.constant(), tuple) else trees[0])
        return f"{emit.constant(form)}.bind({emit.output(self.node)}, {emit.value(self.result)})"


def _paired(tx: Evaluator, value: VariableTracker, other: VariableTracker) -> list[VariableTracker]:
    """The leaves of ``other`` at the places of those of ``value``; cotangents of another structure are refused."""
    value, other = tx.realize(value), tx.realize(other)
    if type(value) not in _CONTAINERS:
        fits = isinstance(other, ArrayTracker | RunTimeNumber | Constant)
        if not fits or not isinstance(value, ArrayTracker | RunTimeNumber) or not _same_shape(value, other):
            raise Unsupported("call", "a pullback with a cotangent that does not fit the value")
        return [other]
    if not isinstance(value, SequenceTracker) or type(other) is not type(value):
        raise Unsupported("call", "a pullback with a cotangent that does not fit the value")
    pairs = zip(value.items, other.items, strict=True)
    return [leaf for v, o in pairs for leaf in _paired(tx, v, o)]


def _same_shape(value: VariableTracker, other: VariableTracker) -> bool:
    shapes = [v.meta.shape if isinstance(v, ArrayTracker) else () for v in (value, other)]
    return len(shapes[0]) == len(shapes[1]) and all(a == b for a, b in zip(*shapes, strict=True))


def _template(tx: Evaluator, value: VariableTracker, places: Iterator[int]) -> Any:
    """The containers of a tracker as real ones, with a place in each leaf."""
    value = tx.realize(value)
    if isinstance(value, NamedTupleTracker):
        return value.cls(*(_template(tx, v, places) for v in value.items))
    if isinstance(value, SequenceTracker):
        return value.kind(_template(tx, v, places) for v in value.items)
    if isinstance(value, DictTracker):
        return {k: _template(tx, v, places) for k, v in value.items.items()}
    if isinstance(value, ObjectTracker):
        made: Any = object.__new__(value.cls)
        for field in dataclasses.fields(value.cls):
            object.__setattr__(made, field.name, _template(tx, value.attribute(tx, field.name), places))
        return made
    return None if isinstance(value, Constant) and value.value is None else next(places)


def _rebuilt(tx: Evaluator, value: VariableTracker, change: Change) -> VariableTracker:
    """The same nesting of containers with ``change`` applied to everything in them that is none."""
    value = _realized(tx, value)
    make = _CONTAINERS.get(type(value))
    if make is not None:
        return make(tx, value, change)
    return value if isinstance(value, Constant) and value.value is None else change(value)


def _realized(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """A Python float is a number to differentiate by, known only at run time: no guard holds on to its value."""
    if isinstance(value, Lazy) and not value.is_realized and type(value.value) is float:
        return tx.output.builder.run_time_number(value.value, value.source)
    return tx.realize(value)


def _dataclass(tx: Evaluator, value: Any, change: Change) -> VariableTracker:
    if is_registered(value.cls) or not dataclasses.is_dataclass(value.cls):
        raise Unsupported("call", REFUSED.format(value.describe()))
    made = ObjectTracker(value.python_type(), None, None)
    for field in dataclasses.fields(value.cls):
        made.pending[field.name] = _rebuilt(tx, value.attribute(tx, field.name), change)
    return made


def _dict(tx: Evaluator, value: Any, change: Change) -> VariableTracker:
    value.note_order()
    return DictTracker(
        {k: _rebuilt(tx, v, change) for k, v in value.items.items()}, cls=value.cls, factory=value.factory
    )


_CONTAINERS: dict[type, Callable[[Evaluator, Any, Change], VariableTracker]] = {
    TupleTracker: lambda tx, v, change: TupleTracker([_rebuilt(tx, i, change) for i in v.items]),
    ListTracker: lambda tx, v, change: ListTracker([_rebuilt(tx, i, change) for i in v.items]),
    NamedTupleTracker: lambda tx, v, change: NamedTupleTracker(v.cls, [_rebuilt(tx, i, change) for i in v.items]),
    DictTracker: _dict,
    ObjectTracker: _dataclass,
}


def _detach(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """``jm.detach(x)``: the same memory, as a constant."""
    value = tx.realize(value)
    return tx.call_op(DETACH, [value], {}) if isinstance(value, ArrayTracker) else value


def _rule_of_the_user(
    tx: Evaluator, rule: VariableTracker, args: VariableTracker, kwargs: VariableTracker
) -> VariableTracker:
    """``Function.apply``: without gradients it is ``forward`` with a context; with them the record keeps the rule."""
    if not isinstance(args, TupleTracker) or not isinstance(kwargs, DictTracker):
        raise Unsupported("call", "Function.apply() with these arguments")
    given = [tx.realize(v) for v in args.items]
    named = {k: tx.realize(v) for k, v in kwargs.items.items()}
    if tx.output.differentiating or not all(_is_plain(tx, v) for v in (*given, *named.values())):
        raise Unsupported("tensor", f"the gradient rule {rule.describe()}")
    needs = TupleTracker([Constant(False)] * len(given))
    context = tx.output.builder.constant_object(tx, Context).call(tx, [needs], {})
    return tx.realize(tx.realize(rule.attribute(tx, "forward")).call(tx, [context, *given], named))


def _is_plain(tx: Evaluator, value: VariableTracker) -> bool:
    """Whether a value is no Tensor and holds none."""
    value = tx.realize(value)
    if isinstance(value, SequenceTracker):
        return all(_is_plain(tx, v) for v in value.items)
    is_number = isinstance(value, Constant | RunTimeNumber | SymbolicInt)
    return is_number or (isinstance(value, ArrayTracker) and not isinstance(value, TensorTracker))


def _computed_again(tx: Evaluator, function: VariableTracker, *args: VariableTracker) -> VariableTracker:
    """``checkpoint``: what the backward half computes again is decided when the graph is cut."""
    return tx.realize(function.call(tx, args, {}))


ROWS: dict[Any, Handler] = {
    detach: _detach,
    differentiate: _differentiate,
    linearise: _linearise,
    apply_rule: _rule_of_the_user,
    checkpoint: _computed_again,
}

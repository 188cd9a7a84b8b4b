"""The first call of a lazy module in a trace: takes stand-ins of its arguments, makes its parameters for good.

What a plain call would do at this point is done while tracing, so that the entry is one for the module as it is from
now on. That is the same only if nothing that the function did before can be seen by it, fail, or draw numbers;
otherwise, and where more is needed of the arguments than shapes and dtypes, the call is left to plain Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node, nodes_in
from jitmagic.nn.lazy import LazyModuleMixin, infer_parameters
from jitmagic.nn.module import Module
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.modules import is_builtin_class
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.output import OutputGraph

__all__ = ["INIT_HOOK", "initialize", "is_asleep"]

INIT_HOOK = "_initialize_hook"


def is_asleep(value: Any) -> bool:
    """A lazy module whose parameters are made at its next call."""
    return isinstance(value, LazyModuleMixin) and INIT_HOOK in value.__dict__


def initialize(
    tx: Evaluator, module: Module, name: str, args: Sequence[VariableTracker], kwargs: Mapping[str, VariableTracker]
) -> None:
    """Make the parameters of ``module``. Raises Unsupported, with everything as it was, where plain Python must."""
    reason = _obstacle(tx.output, module)
    if reason:
        raise Unsupported("lazy-module", f"{name} is called after {reason}")
    given = tuple(_stand_in(tx, a, name) for a in args)
    named = {k: _stand_in(tx, v, name) for k, v in kwargs.items()}
    undo = _snapshot(module)
    try:
        infer_parameters(module, given, named)
    except (Exception, _DataAsked):
        undo()
        raise Unsupported("lazy-module", f"{name} needs the arguments of its first call themselves") from None


def _obstacle(output: OutputGraph, module: Module) -> str:
    """What came before in the function that a plain run could tell from the order used here; empty if nothing did."""
    if output.graph is not output.root:
        return "a loop or branch began that the data decide"
    looks_around = not is_builtin_class(type(module))  # layers of the library see shapes and dtypes only
    if output.effects and looks_around:
        return output.effects[0].describe()
    if any(id(value) in output.tracked for value in module.__dict__.values() if type(value) is dict):
        return "its tables were looked at"
    for node in output.graph.calls():
        op = node.op
        assert op is not None  # of a call
        if op.effects or _may_stop(output, node) or (node.written() and looks_around):
            return f"{op.name}, which comes first"
    return ""


def _may_stop(output: OutputGraph, node: Node) -> bool:
    """Whether the data may make it raise; a store under a key without arrays has been checked already."""
    assert node.op is not None
    if node.op.name == "setitem" and not any(nodes_in(node.args[1])):
        return False
    return bool(node.op.raises or (node.op.warns and output.is_strict))


# ---------------------------------------------------------------- arguments


def _stand_in(tx: Evaluator, value: VariableTracker, name: str) -> Any:
    """What the module is shown of an argument: the object itself if the function got it from outside."""
    value = tx.realize(value)
    outside = next((v for v, tracker in tx.output.tracked.values() if tracker is value), None)
    if outside is not None:  # as it was: nothing was written so far
        return outside
    if isinstance(value, ArrayTracker):
        return _StandIn(value.meta)
    make = _CONTAINERS.get(type(value))
    if make is not None and (value.python_type() in _EXACT or isinstance(value, NamedTupleTracker)):
        return make(value, lambda inner: _stand_in(tx, inner, name))
    try:
        return value.constant()
    except NotConstant:
        pass
    real = value.real_object()
    if real is NO_OBJECT or isinstance(value, ObjectTracker):
        raise Unsupported("lazy-module", f"{name} is called with {value.describe()}, which is made in the function")
    return real


_Show = Callable[[VariableTracker], Any]
_EXACT = (list, tuple, dict)
_CONTAINERS: dict[type, Callable[[Any, _Show], Any]] = {
    ListTracker: lambda value, show: list(map(show, value.items)),
    TupleTracker: lambda value, show: tuple(map(show, value.items)),
    NamedTupleTracker: lambda value, show: value.python_type()(*map(show, value.items)),
    DictTracker: lambda value, show: {key: show(inner) for key, inner in value.items.items()},
}


class _DataAsked(BaseException):
    """Somebody wanted the elements of an array that is not computed yet; no handler of the user's may take it."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise _DataAsked


class _StandIn:
    """An array that the function has not computed yet: it tells what is known of it, and refuses the rest."""

    __slots__ = ("dtype", "nbytes", "ndim", "shape", "size")

    def __init__(self, meta: ArrayMeta) -> None:
        self.shape = meta.hint_shape
        self.dtype = meta.dtype
        self.ndim = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * self.dtype.itemsize

    @property  # type: ignore[misc]  # isinstance asks here
    def __class__(self) -> type:
        return np.ndarray

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    __getattr__ = __array__ = __array_ufunc__ = __array_function__ = _refuse
    __getitem__ = __setitem__ = __iter__ = __contains__ = __bool__ = __float__ = __int__ = __index__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __repr__ = __str__ = __format__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __rpow__ = __neg__ = __abs__ = _refuse
    __hash__ = None  # type: ignore[assignment]  # as arrays


# ---------------------------------------------------------------- undoing


def _snapshot(module: Module) -> Callable[[], None]:
    """A function that puts back what the initialisation of a module may change: its tables and streams of numbers."""
    own, cls = module.__dict__, type(module)
    before = dict(own)
    tables = [(value, value.copy()) for value in own.values() if type(value) in (dict, set)]
    streams = [(v, v.bit_generator.state) for v in own.values() if isinstance(v, np.random.Generator)]
    numpy_state, python_state = np.random.get_state(), random.getstate()

    def undo() -> None:
        if type(module) is not cls:
            module.__class__ = cls
        for table, content in tables:
            table.clear()
            table.update(content)
        own.clear()
        own.update(before)
        for generator, state in streams:
            generator.bit_generator.state = state
        np.random.set_state(numpy_state)
        random.setstate(python_state)

    return undo

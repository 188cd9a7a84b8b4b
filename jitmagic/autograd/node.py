"""One recorded operation: what went in, what came out, and how a cotangent is pulled back through it."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from jitmagic.errors import GradientError
from jitmagic.ops.gradients.calls import as_called, cotangents
from jitmagic.ops.record import Op

__all__ = ["Edge", "ErrorNode", "FunctionNode", "Node", "OpNode", "Saved", "Version", "like_sequence"]

_order = itertools.count()

# Where a cotangent goes: the entry of a node's results, or a leaf and 0.
Edge: TypeAlias = "tuple[Any, int]"


class Overwritten:
    """Stands for a saved array that was changed in place since: it has a layout, but its values are gone."""

    __slots__ = ("dtype", "flags", "ndim", "shape", "strides", "where")

    def __init__(self, array: Any, where: str) -> None:
        self.shape, self.dtype, self.ndim, self.where = array.shape, array.dtype, array.ndim, where
        self.strides, self.flags = array.strides, array.flags

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.zeros_like, np.shape, np.ndim, np.size):
            stand_in = np.broadcast_to(np.zeros((), self.dtype), self.shape)
            return function(stand_in, *args[1:], **kwargs)
        raise self.error()

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.error()

    def __getitem__(self, index: Any) -> Any:
        raise self.error()

    def error(self) -> GradientError:
        return GradientError(
            f"the gradient of {self.where} needs an array of shape {self.shape} that was changed in place after it was "
            "used: write into a copy, or write before it is used"
        )


def _refused(name: str) -> Callable[..., Any]:
    def operator(self: Overwritten, *args: Any) -> Any:
        raise self.error()

    operator.__name__ = name
    return operator


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "matmul", "rmatmul",
              "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge", "mod", "rmod"):  # fmt: skip
    setattr(Overwritten, f"__{_name}__", _refused(_name))


def like_sequence(given: Any, items: Iterable[Any]) -> Any:
    """A list or tuple of the class of ``given``, named tuples included."""
    return type(given)(*items) if hasattr(given, "_fields") else type(given)(items)


class Version:
    """Counts the writes to one memory, and copies what recorded operations still need of it before each."""

    __slots__ = ("_limit", "_readers", "count")

    def __init__(self) -> None:
        self.count = 0
        self._readers: list[weakref.ref[Saved]] = []
        self._limit = 64

    def add_reader(self, saved: Saved) -> None:
        """``saved`` must keep the values that are there now."""
        if len(self._readers) >= self._limit:
            self._readers = [each for each in self._readers if each() is not None]
            self._limit = 2 * len(self._readers) + 64
        self._readers.append(weakref.ref(saved))

    def before_write(self, data: Any) -> None:
        """Call before the memory of ``data``, all of this memory or a part, is written."""
        kept = []
        for each in self._readers:
            saved = each()
            if saved is not None and np.may_share_memory(saved.data, data):
                saved.data, saved.now = saved.data.copy(), None
            elif saved is not None:
                saved.then = self.count + 1  # its part stays as it is
                kept.append(each)
        self._readers = kept
        self.count += 1


class Saved:
    """A value that a rule may need: data of a Tensor with its version then, or anything else.

    With ``reads`` the values are kept through later writes; without, only the layout is.
    """

    __slots__ = ("__weakref__", "data", "edge", "kind", "now", "then")

    def __init__(
        self,
        data: Any,
        edge: Edge | None = None,
        version: Version | None = None,
        kind: Any = None,
        reads: bool = False,
    ) -> None:
        self.data, self.edge, self.kind = data, edge, kind
        self.now = version
        self.then = version.count if version is not None else 0
        if reads and version is not None and isinstance(data, np.ndarray):
            version.add_reader(self)

    @property
    def is_lost(self) -> bool:
        """Whether the memory was written since, and nothing was kept."""
        return self.now is not None and self.now.count != self.then

    def value(self, name: str, as_tensor: bool, edge: Edge | None = None) -> Any:
        """What the rule of ``name`` gets: data, or for higher derivatives a Tensor with its history.

        A node gives ``edge`` for its own results: they hold none, so that a node nobody needs dies at once.
        """
        if self.is_lost:
            return Overwritten(self.data, name)
        edge = self.edge or edge
        if as_tensor and edge is not None:
            return self.kind._made(self.data, edge, self.now)
        return self.data


class Node:
    """``edges`` lead to what the operation was computed from. ``outputs`` is how many results it has.

    Nodes are numbered: a node's number is larger than those of all nodes that its edges lead to.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "name", "number", "outputs", "released")

    def __init__(self, name: str, edges: Sequence[Edge], outputs: int = 1) -> None:
        self.name = name
        self.edges = tuple(edges)
        self.outputs = outputs
        self.number = next(_order)
        self.hooks: dict[int, dict[int, Callable[[Any], Any]]] = {}
        self.released = False

    def pull(self, cotangents_of_results: list[Any], as_tensors: bool) -> Iterable[tuple[int, Any]]:
        """For each edge (by its place in ``edges``) that gets one, its cotangent."""
        raise NotImplementedError

    def release(self) -> None:
        """Let go of saved values: the node cannot be pulled through again."""
        self.released = True

    def __repr__(self) -> str:
        return f"<{self.name} backward>"


class OpNode(Node):
    """A call of a row; its rules tell the cotangents.

    ``sources`` tells for each edge the position of the operand and, if that is a list, the place in it.
    """

    __slots__ = ("ans", "args", "kwargs", "row", "sources")

    def __init__(
        self,
        row: Op,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        edges: Sequence[Edge],
        sources: Sequence[tuple[int, int | None]],
        outputs: int = 1,
    ) -> None:
        super().__init__(f"np.{row.name}", edges, outputs)
        self.row, self.args, self.kwargs = row, args, kwargs
        self.sources = tuple(sources)
        self.ans: Any = None

    def pull(self, cotangents_of_results: list[Any], as_tensors: bool) -> Iterator[tuple[int, Any]]:
        def value(saved: Any) -> Any:
            if isinstance(saved, list | tuple):
                return like_sequence(saved, map(value, saved))
            return saved.value(self.name, as_tensors) if isinstance(saved, Saved) else saved

        args = tuple(map(value, self.args))
        ans = self._results(args, as_tensors)
        g = cotangents_of_results[0] if not isinstance(ans, tuple) else tuple(cotangents_of_results)
        wanted = dict.fromkeys(place for place, _ in self.sources)
        found = dict(cotangents(self.row, wanted, g, ans, args, self.kwargs))
        for i, (place, entry) in enumerate(self.sources):
            yield i, found[place] if entry is None else found[place][entry]

    def _results(self, args: tuple[Any, ...], as_tensors: bool) -> Any:
        """What the call gave; computed once more if it was written since (``x /= a`` and then ``x /= b``)."""
        several = isinstance(self.ans, tuple)
        entries = self.ans if several else (self.ans,)
        if not self.row.writes and any(isinstance(each, Saved) and each.is_lost for each in entries):
            with suppress(GradientError):  # of operands of which only the layout was kept: the rule needs no more
                called, options = as_called(self.row, args, self.kwargs)
                again = self.row.call(*called, **options)
                return tuple(again) if several else again
        found = [
            each.value(self.name, as_tensors, (self, i)) if isinstance(each, Saved) else each
            for i, each in enumerate(entries)
        ]
        return tuple(found) if several else found[0]

    def release(self) -> None:
        super().release()
        self.args, self.ans, self.kwargs = (), None, {}


class FunctionNode(Node):
    """A computation with a pullback of its own: ``pullback(cotangents, as_tensors)`` gives one for each edge."""

    __slots__ = ("pullback",)

    def __init__(
        self, name: str, pullback: Callable[[list[Any], bool], Sequence[Any]], edges: Sequence[Edge], outputs: int = 1
    ) -> None:
        super().__init__(name, edges, outputs)
        self.pullback: Any = pullback

    def pull(self, cotangents_of_results: list[Any], as_tensors: bool) -> Iterator[tuple[int, Any]]:
        yield from enumerate(self.pullback(cotangents_of_results, as_tensors))

    def release(self) -> None:
        super().release()
        self.pullback = None


class ErrorNode(Node):
    """A result through which no gradient can flow: asking for one raises ``message``."""

    __slots__ = ("message",)

    def __init__(self, name: str, message: str, edges: Sequence[Edge], outputs: int = 1) -> None:
        super().__init__(name, edges, outputs)
        self.message = message

    def pull(self, cotangents_of_results: list[Any], as_tensors: bool) -> Iterable[tuple[int, Any]]:
        raise GradientError(self.message)

"""``collections.deque``: a list with two ends and perhaps a limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.iterators import WatchedIterator
from jitmagic.tracer.variables.sequences import LIST_METHODS, ListTracker, SequenceTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["DequeTracker"]


class DequeTracker(ListTracker):
    """A deque. ``limit`` is its maxlen."""

    kind: type = deque

    def __init__(
        self, items: Iterable[VariableTracker], limit: int | None = None, source: Source | None = None
    ) -> None:
        super().__init__(items, source)
        self.limit = limit
        self.trim()

    def constant(self) -> Any:
        """A deque has no constant form: it is compared and shown by what it holds."""
        return deque((v.constant() for v in self.items), self.limit)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        text = "deque mutated during iteration"
        return WatchedIterator(lambda: list(self.items), lambda item: item, text, text)

    def room_for(self, items: list[VariableTracker]) -> list[VariableTracker]:
        return items if self.limit is None else items[max(len(items) - self.limit, 0) :]

    def trim(self, *, keep_left: bool = False) -> None:
        """Drop what is over the limit, at the end opposite to the one that grew."""
        if self.limit is not None and len(self.items) > self.limit:
            kept = slice(self.limit) if keep_left else slice(len(self.items) - self.limit, None)
            self.items[:] = self.items[kept]

    def like(self, items: Iterable[VariableTracker]) -> SequenceTracker:
        return DequeTracker(items, self.limit)

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        index = key.constant()
        if not isinstance(index, int):
            raise python_error(TypeError, f"sequence index must be integer, not {key.python_type().__name__!r}")
        if not -len(self.items) <= index < len(self.items):
            raise python_error(IndexError, "deque index out of range")
        return tx.realize(self.items[index])

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        return Constant(self.limit) if name == "maxlen" else super().attribute(tx, name)

    def methods(self) -> dict[str, Callable[..., VariableTracker]]:
        return _METHODS

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.constant(deque)}({emit.value_list(self.end)}, {self.limit})"


def _append(tx: Evaluator, d: DequeTracker, value: VariableTracker) -> VariableTracker:
    d.will_change(tx)
    d.end.append(value)
    if d.unread is None:
        d.trim()
    return Constant(None)


def _append_left(tx: Evaluator, d: DequeTracker, value: VariableTracker) -> VariableTracker:
    d.will_change(tx)
    d.items.insert(0, value)
    d.trim(keep_left=True)
    return Constant(None)


def _extend(tx: Evaluator, d: DequeTracker, values: VariableTracker) -> VariableTracker:
    for value in tx.unpack(values):
        _append(tx, d, value)
    return Constant(None)


def _extend_left(tx: Evaluator, d: DequeTracker, values: VariableTracker) -> VariableTracker:
    for value in tx.unpack(values):
        _append_left(tx, d, value)
    return Constant(None)


def _pop_at(position: int) -> Callable[..., VariableTracker]:
    def method(tx: Evaluator, d: DequeTracker) -> VariableTracker:
        if not d.items:
            raise python_error(IndexError, "pop from an empty deque")
        d.will_change(tx)
        return tx.realize(d.items.pop(position))

    return method


def _rotate(tx: Evaluator, d: DequeTracker, steps: VariableTracker | None = None) -> VariableTracker:
    d.will_change(tx)
    if d.items:
        n = (1 if steps is None else steps.constant()) % len(d.items)
        d.items[:] = d.items[len(d.items) - n :] + d.items[: len(d.items) - n]
    return Constant(None)


def _copy(tx: Evaluator, d: DequeTracker) -> VariableTracker:
    return DequeTracker(d.items, d.limit)


def _refuse(tx: Evaluator, d: DequeTracker, *args: VariableTracker) -> VariableTracker:
    raise Unsupported("call", f"this method of {d.describe()}")


_METHODS: dict[str, Callable[..., VariableTracker]] = {
    "append": _append,
    "appendleft": _append_left,
    "extend": _extend,
    "extendleft": _extend_left,
    "pop": _pop_at(-1),
    "popleft": _pop_at(0),
    "rotate": _rotate,
    "copy": _copy,
    **{name: LIST_METHODS[name] for name in ("clear", "reverse", "count")},
    **dict.fromkeys(("insert", "remove", "index"), _refuse),
}

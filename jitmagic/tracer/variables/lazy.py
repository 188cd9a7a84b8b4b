"""A value that nobody has looked at yet: it costs no guard until somebody does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import VariableTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter

__all__ = ["Lazy"]


class Lazy(VariableTracker):
    """Stands for ``value`` at ``source`` until ``realize`` wraps it, once."""

    def __init__(self, value: Any, source: Source, wrap: Callable[[Any, Source], VariableTracker]) -> None:
        self.value = value
        self.source: Source = source
        self._wrap = wrap
        self._real: VariableTracker | None = None

    def realize(self) -> VariableTracker:
        if self._real is None:
            self._real = self._wrap(self.value, self.source)
        return self._real

    @property
    def is_realized(self) -> bool:
        return self._real is not None

    # Containers ask these of items that were not read yet; answering is reading.
    def constant(self) -> Any:
        return self.realize().constant()

    @property
    def is_constant(self) -> bool:
        return self.realize().is_constant

    def python_type(self) -> type:
        return self.realize().python_type()

    def reconstruct(self, emit: Emitter) -> str:
        return emit.source(self.source)

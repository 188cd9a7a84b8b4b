"""Takes numbers and arrays from outside, gives constants or inputs of the graph, with the guards they need.

What was seen at earlier compiles of the frame decides: a number or a size that changes becomes an input or a symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.config import current
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.tracer import marks
from jitmagic.tracer.guards import ConstantSource, LocalSource, MemberSource, Source
from jitmagic.tracer.guards import kinds as guard
from jitmagic.tracer.guards.naming import dtype_text
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import OpaqueTracker

if TYPE_CHECKING:
    from jitmagic.tracer.output import OutputGraph

__all__ = ["Inputs", "is_held"]

KERNEL_KINDS = "biufcmMSU"  # dtype kinds whose arrays can be inputs of a graph
INT64 = (-(2**63), 2**63 - 1)


def is_held(source: Source) -> bool:
    """True for the entry's own reference: which object it is needs no guard, what that object holds does."""
    return isinstance(source, ConstantSource)


class Inputs:
    """The part of the builder that makes constants, symbols and graph inputs."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.drawn: frozenset[str] = frozenset()  # arguments that are new random numbers at every call (B31)

    def literal(self, value: Any, source: Source) -> VariableTracker:
        if not is_held(source):
            self.output.guards.add(guard.constant_guard(source, value))
            if source.category != "local":
                self.output.freeze(f"{source.text} = {value!r}")
        return Constant(value, source)

    def integer(self, value: int, source: Source) -> VariableTracker:
        """Constants at first; a name whose value changes becomes a symbol (B24 to B26)."""
        if self.output.options.unknown_ints and source.category == "local" and not is_held(source):
            return self._unknown(value, source)
        if not self._becomes_dynamic(value, source) or value in (0, 1) or not INT64[0] <= value <= INT64[1]:
            return self.literal(value, source)
        known = self.output.symbol_inputs.get(source)
        if known is None:
            node = self.output.add_input(source, PyMeta(int), value)
            known = self.output.size_symbol(node, source, None, value)
            self.output.symbol_inputs[source] = known
            self.output.guards.add(guard.integer_guard(source))
        return SymbolicInt(known, source)

    def _unknown(self, value: int, source: Source) -> VariableTracker:
        """A size that nothing in the trace may decide on, 0 and 1 neither (B29)."""
        known = self.output.symbol_inputs.get(source)
        if known is None:
            node = self.output.add_input(source, PyMeta(int), value)
            known = self.output.symbol_inputs[source] = self.output.env.new_run_time_symbol()
            self.output.root.bind(known, node, None)
        return SymbolicInt(known, source)

    def floating(self, value: float, source: Source) -> VariableTracker:
        """Constants at first; from the second value on a run-time input (B22, B23)."""
        if not self._becomes_dynamic(value, source):
            return self.literal(value, source)
        return self.run_time_number(value, source)

    def complex_number(self, value: complex, source: Source) -> VariableTracker:
        """As floats; in functions that are differentiated always a constant: their numbers are real."""
        if self.output.differentiating or not self._becomes_dynamic(value, source):
            return self.literal(value, source)
        return self.run_time_number(value, source)

    def run_time_number(self, value: float | complex, source: Source) -> VariableTracker:
        """An input of the graph, whatever its value."""
        kind = complex if isinstance(value, complex) else float
        node = self.output.number_inputs.get(source)
        if node is None:
            node = self.output.add_input(source, PyMeta(kind), value)
            self.output.number_inputs[source] = node
            self.output.guards.add(guard.type_guard(source, kind))
        return RunTimeNumber(node, kind, source)

    def _becomes_dynamic(self, value: complex, source: Source) -> bool:
        settings, options = current(), self.output.options
        if is_held(source) or options.dynamic is False:
            return False
        if isinstance(source, LocalSource) and source.name in self.drawn:
            return True
        if type(value) is int and settings.specialize_int:
            return False
        if source.category == "local" and options.dynamic and type(value) is int:
            return True
        if type(value) is not int and not settings.automatic_dynamic_floats:
            return False
        seen = self.output.state.numbers.get(source.text, [])
        known = any(v == value or v != v for v in seen)
        counts = source.text in self.output.state.written
        special = type(value) is int and value in (0, 1) and not counts
        self.output.seen_numbers[source.text] = seen if known or special else [*seen, value]
        different = len(self.output.seen_numbers[source.text])
        return different >= (2 if counts or source.category == "local" else 4)

    def scalar(self, value: np.generic, source: Source) -> VariableTracker:
        """NumPy numbers are run-time inputs; ``np.bool_`` drives branches and is a constant (B12 to B14)."""
        if type(value) is np.bool_:
            self.output.guards.add(guard.constant_guard(source, value))
            return Constant(value, source)
        if value.dtype.kind not in KERNEL_KINDS:
            self.output.guards.add(guard.type_guard(source, type(value)))
            return OpaqueTracker(value, source, "dtype", str(value.dtype))
        known = self.output.known_number(source)
        if known is not None:
            return known
        meta = ArrayMeta.of(value)
        self.output.guards.add(guard.scalar_guard(source, value))
        tracker = ArrayTracker(self.output.add_input(source, meta, value), meta, source)
        self.output.scalar_inputs[source] = tracker
        return tracker

    def array(self, value: np.ndarray[Any, Any], source: Source) -> VariableTracker:
        of_specialised = isinstance(source, MemberSource) and source.is_held
        promised = marks.has_fixed_address(value) and not is_held(source)
        if (of_specialised or promised) and self.output.ties_array_to(value, source):
            self.output.guards.add(guard.identity_guard(source, value))
            source = self.output.held_array(value, source)
        known = self.output.known(value, source)
        if known is not None:
            return known
        if value.dtype.kind not in KERNEL_KINDS or value.dtype.metadata is not None:  # results would lose the metadata
            self.output.guards.add(guard.type_guard(source, np.ndarray))
            self.output.guards.add(guard.dtype_guard(source, value.dtype))
            return OpaqueTracker(value, source, "dtype", dtype_text(value.dtype))
        return self.free_array(value, source)

    def free_array(
        self, value: np.ndarray[Any, Any], source: Source, array_source: Source | None = None
    ) -> ArrayTracker:
        """An input that each call reads where it stands; ``array_source`` leads to its array, if it is a Tensor."""
        free = self._free_axes(value, source)
        meta = ArrayMeta.of(value)
        node = self.output.add_input(source, meta, value)
        shape: list[Any] = list(value.shape)
        for axis, is_free in enumerate(free):
            if is_free:
                shape[axis] = self.output.size_symbol(node, source, axis, value.shape[axis])
                if axis in marks.strict_axes(value):
                    self.output.strict_axes[repr(shape[axis])] = f"axis {axis} of {source.text}"
                elif not current().assume_static_by_default:
                    shape[axis] = self.output.shared_size(shape[axis])
        meta = meta.with_shape(tuple(shape))
        node.meta = meta
        sizes = tuple(None if f else n for f, n in zip(free, value.shape, strict=True))
        for each in guard.array_guard(array_source or source, value, sizes, marks.static_axes(value)):
            self.output.guards.add(each)
        tracker = ArrayTracker(node, meta, source)
        self.output.track(value, tracker)
        return tracker

    def _free_axes(self, value: np.ndarray[Any, Any], source: Source) -> list[bool]:
        """Which sizes become symbols (B73 to B80); 0 and 1 never do."""
        marked, fixed = marks.dynamic_axes(value), marks.static_axes(value)
        for axis in marks.strict_axes(value):
            if value.shape[axis] in (0, 1):
                raise marks.cannot_be_dynamic(source.text, axis, value.shape[axis])
        changed = self._changed_axes(value.shape, source)
        dynamic = self.output.options.dynamic
        everywhere = dynamic or not current().assume_static_by_default
        of_specialised = isinstance(source, MemberSource) and source.is_held  # its contents are static (B82)
        automatic = current().automatic_dynamic_shapes and dynamic is not False and not of_specialised
        free: list[bool] = []
        for axis, n in enumerate(value.shape):
            wanted = axis in marked or (axis not in fixed and (everywhere or (automatic and changed[axis])))
            free.append(bool(wanted and n not in (0, 1)))
        return free

    def _changed_axes(self, shape: tuple[int, ...], source: Source) -> list[bool]:
        before = self.output.state.sizes.get(source.text)
        if before is None and source.text in self.output.state.numbers:  # it was a number before (B76)
            before = (None,) * len(shape)
        if before is None:
            self.output.seen_sizes[source.text] = shape
            return [False] * len(shape)
        if len(before) != len(shape):
            self.output.seen_sizes[source.text] = (None,) * len(shape)
            return [True] * len(shape)
        merged = tuple(
            old if n in (0, 1) or old == n else (n if old in (0, 1) else None)
            for old, n in zip(before, shape, strict=True)
        )
        self.output.seen_sizes[source.text] = merged
        return [n is None for n in merged]

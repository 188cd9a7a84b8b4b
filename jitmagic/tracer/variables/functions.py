"""Functions: of the user (inlined), of Python (answered by tables), of NumPy (ops, or traced through)."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import AttributeEffect, CellEffect
from jitmagic.tracer.guards import AttributeSource, DictSource, Source
from jitmagic.tracer.guards.contents import attribute_names_guard, registry_guard
from jitmagic.tracer.guards.kinds import missing_key_guard
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.frame import FunctionNode

__all__ = ["BoundMethod", "Cell", "FunctionTracker", "NestedFunction"]


class Cell:
    """A variable that inner functions share. ``real`` is the cell object, if it existed before the call."""

    def __init__(self, name: str, content: VariableTracker | None = None, real: CellType | None = None) -> None:
        self.name = name
        self.content = content
        self.real = real
        self.code: str | None = None
        self.is_changed = False

    def store(self, tx: Evaluator, value: VariableTracker | None) -> None:
        if self.real is not None and not self.is_changed:
            tx.output.add_effect(CellEffect(self, self.name))
        self.is_changed = True
        self.content = value

    def cell_code(self, emit: Emitter) -> str:
        """Python text for the cell object itself in the generated program."""
        return emit.cell(self)


class FunctionTracker(VariableTracker):
    """A Python function that existed before the call; calling it inlines it.

    ``face`` is what the program has in its hands: of a compiled function the compiled form, whose defaults and
    attributes count, while ``function`` has the code.
    """

    def __init__(
        self,
        function: FunctionType,
        source: Source | None,
        cells: Sequence[Cell] = (),
        face: FunctionType | None = None,
    ) -> None:
        self.function = function
        self.face = function if face is None else face
        self.source = source
        self.cells = tuple(cells)

    def python_type(self) -> type:
        return FunctionType

    def describe(self) -> str:
        return f"{self.function.__qualname__}()"

    def real_object(self) -> Any:
        return self.face

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        known = tx.language.builtins.get(self.function)
        if known is None and args and self.function.__code__.co_qualname == "singledispatch.<locals>.wrapper":
            return self.dispatched(tx, args[0]).call(tx, args, kwargs)
        return tx.inline(self, args, kwargs) if known is None else known(tx, *args, **kwargs)

    def truth(self, tx: Evaluator) -> bool:
        return True

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        pending = tx.output.builder.function_writes.get((self.face, name))
        if pending is not None:
            return pending
        source = self.source or tx.output.constant_source(self.face)
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return tx.output.builder.wrap(tx, getattr(self.face, name), AttributeSource(source, name))
        own = self.face.__dict__
        if name in own:
            return tx.output.builder.wrap(tx, own[name], DictSource(source, name))
        if hasattr(self.face, name):  # of the class, or not seen among its attributes
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        tx.output.guards.add(missing_key_guard(source, name))
        raise python_error(AttributeError, f"'function' object has no attribute {name!r}")

    def dispatched(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        """What ``functools.singledispatch`` has registered for the class of the first argument."""
        function: Any = self.function
        source = self.source or tx.output.constant_source(function)
        tx.output.guards.add(registry_guard(source, dict(function.registry)))
        return tx.output.builder.constant_object(tx, function.dispatch(value.python_type()))

    def own_attributes(self, tx: Evaluator) -> dict[str, VariableTracker]:
        """What ``__dict__`` holds, for ``functools.wraps``."""
        if any(function is self.face for function, _ in tx.output.builder.function_writes):
            raise Unsupported("attribute", f"{self.describe()}.__dict__")
        names = tuple(self.face.__dict__)
        source = self.source or tx.output.constant_source(self.face)
        tx.output.guards.add(attribute_names_guard(source, names))
        return {name: self.attribute(tx, name) for name in names}

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        """Counters and caches that a program keeps on its functions."""
        if hasattr(FunctionType, name):
            raise Unsupported("store", f"{self.describe()}.{name} = ...")
        tx.output.builder.function_writes[self.face, name] = value
        tx.output.add_effect(AttributeEffect(self, name, value, span=tx.span))

    def reconstruct(self, emit: Emitter) -> str:
        return emit.constant(self.face)


class NestedFunction(VariableTracker):
    """A function or lambda defined during the trace; its cells are those of the frame that defines it."""

    def __init__(
        self,
        code: CodeType,
        node: FunctionNode,
        owner: Evaluator,
        cells: Sequence[Cell],
        defaults: Sequence[VariableTracker],
        kwdefaults: dict[str, VariableTracker],
        annotations: dict[str, VariableTracker],
    ) -> None:
        self.code = code
        self.node = node
        self.owner = owner
        self.cells = tuple(cells)
        self.defaults = tuple(defaults)
        self.kwdefaults = kwdefaults
        self.annotations = annotations
        self.attributes: dict[str, VariableTracker] = {}

    def python_type(self) -> type:
        return FunctionType

    def describe(self) -> str:
        return f"{self.code.co_qualname}()"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return tx.inline_nested(self, args, kwargs)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in self.attributes:
            return self.attributes[name]
        if name in ("__name__", "__qualname__"):
            return Constant(self.code.co_name if name == "__name__" else self.code.co_qualname)
        if name == "__doc__" and not isinstance(self.node, ast.Lambda):
            return Constant(ast.get_docstring(self.node, clean=False))
        if name == "__module__" and isinstance(self.owner.globals.get("__name__"), str):
            return Constant(self.owner.globals["__name__"])
        if hasattr(FunctionType, name):
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        raise python_error(AttributeError, f"'function' object has no attribute {name!r}")

    def truth(self, tx: Evaluator) -> bool:
        return True

    def own_attributes(self, tx: Evaluator) -> dict[str, VariableTracker]:
        return {k: v for k, v in self.attributes.items() if not hasattr(FunctionType, k)}

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        if hasattr(FunctionType, name) and name not in ("__name__", "__qualname__", "__module__", "__doc__"):
            raise Unsupported("store", f"{self.describe()}.{name} = ...")
        self.attributes[name] = value

    def reconstruct(self, emit: Emitter) -> str:
        cells = ", ".join(emit.cell(c) for c in self.cells)
        closure = f"({cells},)" if cells else "()"
        defaults = ", ".join(emit.value(v) for v in self.defaults)
        name = emit.temporary()
        code = emit.constant(self.code)
        packed = f"({defaults},)" if defaults else "None"
        emit.line(f"{name} = new_function({code}, {self.owner.namespace}, {self.code.co_name!r}, {packed}, {closure})")
        for attribute, table in (("__kwdefaults__", self.kwdefaults), ("__annotations__", self.annotations)):
            if table:
                inner = ", ".join(f"{k!r}: {emit.value(v)}" for k, v in table.items())
                emit.line(f"{name}.{attribute} = {{{inner}}}")
        emit.remember(self, name)
        for key, value in self.attributes.items():
            emit.line(f"{name}.{key} = {emit.value(value)}")
        return name


class BoundMethod(VariableTracker):
    """A Python function bound to a receiver."""

    def __init__(self, function: VariableTracker, receiver: VariableTracker, source: Source | None = None) -> None:
        self.function = function
        self.receiver = receiver
        self.source = source

    def describe(self) -> str:
        return self.function.describe()

    def python_type(self) -> type:
        return MethodType

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "__self__":
            return self.receiver
        return self.function if name == "__func__" else self.function.attribute(tx, name)

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return self.function.call(tx, [self.receiver, *args], kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        return f"bind_method({emit.value(self.function)}, {emit.value(self.receiver)})"

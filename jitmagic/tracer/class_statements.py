"""What ``class`` statements mean over trackers."""

from __future__ import annotations

import ast
import dis
import itertools
from collections.abc import Callable
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.annotations import DEFERRED, annotation_value
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.frame import Frame
from jitmagic.tracer.signals import Returned
from jitmagic.tracer.statements import run_block
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.classes import NestedClass, placeholder

__all__ = ["ROWS"]


class ClassBody(Evaluator):
    """The body of a class: names are looked up in the class, then in enclosing functions and globals."""

    def __init__(self, parent: Evaluator, frame: Frame) -> None:
        closure = {name: parent.cell(name) for name in frame.code.co_freevars}
        super().__init__(parent.output, frame, parent.globals, parent.namespace, {}, closure, parent)
        self.names: dict[str, VariableTracker] = {}
        self.annotations: dict[str, Any] = {}

    def load_name(self, name: str) -> VariableTracker:
        if name in self.names and not self.scopes:  # a comprehension does not see the names of the class
            return self.realize(self.names[name])
        return super().load_name(name)

    def store_name(self, name: str, value: VariableTracker) -> None:
        self.names[self.mangle_here(name)] = value

    def delete_name(self, name: str) -> None:
        self.load_name(name)
        self.names.pop(self.mangle_here(name), None)

    def forget_name(self, name: str) -> None:
        self.names.pop(name, None)

    def annotate(self, name: str, annotation: ast.expr) -> None:
        """``@dataclass`` reads them; their text is enough once they were evaluated."""
        if not DEFERRED:
            annotation_value(self, annotation)
        self.annotations[self.mangle_here(name)] = ast.unparse(annotation)

    def mangle_here(self, name: str) -> str:
        owner = self.frame.code.co_name.lstrip("_")
        private = name.startswith("__") and not name.endswith("__") and owner
        return f"_{owner}{name}" if private else name


def _class(tx: Evaluator, node: ast.ClassDef) -> Returned | None:
    decorators = [tx.eval(d) for d in node.decorator_list]
    bases = [_base(tx, b) for b in node.bases]
    if node.keywords or getattr(node, "type_params", None):
        raise Unsupported("statement", f"class {node.name} with keywords")
    frame: Any = Frame(tx.frame.inner_code(node), node)  # type: ignore[arg-type] # a class body is a block as well
    body = ClassBody(tx, frame)
    flow = run_block(body, [s for s in node.body if not _is_text(s)])
    if flow is not None:
        raise Unsupported("statement", f"class {node.name}")
    value: VariableTracker = _make(tx, node, body, tuple(bases))
    for decorator in reversed(decorators):
        value = tx.realize(decorator.call(tx, [value], {}))
    tx.store_name(node.name, value)
    return None


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _base(tx: Evaluator, node: ast.expr) -> type:
    base = tx.eval(node)
    if not isinstance(base, ClassTracker) or type(base.value) is not type:
        raise Unsupported("statement", f"a class with the base {ast.unparse(node)}")
    if base.value.__init_subclass__ is not object.__init_subclass__:
        own = getattr(base.value.__init_subclass__, "__func__", None)
        if own is not None:
            raise Unsupported("statement", f"a class with the base {ast.unparse(node)}")
    found: type = base.value
    return found


def _make(tx: Evaluator, node: ast.ClassDef, body: ClassBody, bases: tuple[type, ...]) -> NestedClass:
    entries = {name: placeholder(body, value) for name, value in body.names.items()}
    if "__slots__" in entries or "__set_name__" in entries:
        raise Unsupported("statement", f"class {node.name} with __slots__ or __set_name__")
    entries["__module__"] = tx.globals.get("__name__", "builtins")
    entries["__qualname__"] = body.frame.code.co_qualname
    entries["__doc__"] = ast.get_docstring(node, clean=False)
    if body.annotations:
        entries["__annotations__"] = body.annotations
    is_whole = not body.annotations  # only their text is known
    made = NestedClass(type(node.name, bases, entries), _about(body, entries), dict(body.names), is_whole=is_whole)
    tx.output.builder.stand_ins[id(made.value)] = (made.value, made)
    cell = body.cells.get("__class__")
    if cell is not None:
        cell.content = made
    return made


def _about(body: ClassBody, entries: dict[str, Any]) -> dict[str, Any]:
    """What Python puts into the dict of the class besides the names of its body, as the compiler wrote it."""
    about = {name: entries[name] for name in ("__module__", "__qualname__")}
    steps = list(dis.get_instructions(body.frame.code))
    for load, store in itertools.pairwise(steps):
        if (
            store.opname == "STORE_NAME"
            and store.argval in _WRITTEN
            and load.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
        ):
            about[store.argval] = load.argval
    return about


_WRITTEN = ("__doc__", "__firstlineno__", "__static_attributes__")
ROWS: dict[type[ast.stmt], Callable[[Evaluator, Any], Returned | None]] = {ast.ClassDef: _class}

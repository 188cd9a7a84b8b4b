"""Takes statements of a loop that change attributes of objects or items of dicts, gives them over variables instead.

                                       total = s.total
    for v in x:                        for v in x:
        s.total += v          =>           total += v
        d["n"] += 1                        n += 1           (and the same for d["n"])
                                       s.total = total

While such a loop is captured the object itself holds a mark there: whoever asks for the attribute by another way
(a function that is called, a second name) ends the attempt.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.loops.owners import has_plain_attribute, owner_of
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.runs import TEMPORARY
from jitmagic.tracer.loops.unfolding import OWN, bound_by_inner, with_methods
from jitmagic.tracer.names import names_in
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.objects import ObjectTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Carried", "carried"]

Owner = ObjectTracker | DictTracker
KEYS = (str, int)
_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.GeneratorExp)


class _Away(Lazy):
    """Stands in an object for a value that a loop carries in a variable."""

    def __init__(self, tracker: VariableTracker, text: str) -> None:
        self.tracker = tracker
        self.text = text

    def realize(self) -> VariableTracker:
        raise refuse(f"another way to {self.text}, which the loop changes")

    @property
    def is_realized(self) -> bool:
        return False

    def describe(self) -> str:
        return self.text


@dataclass(slots=True)
class _Place:
    """One attribute or item; ``mark`` stands there while a variable has its value."""

    owner: Owner
    key: Any
    name: str  # of the variable
    text: str
    mark: _Away | None = None
    was_pending: bool = False

    @property
    def slots(self) -> dict[Any, Any]:
        return self.owner.pending if isinstance(self.owner, ObjectTracker) else self.owner.items

    def take(self, tx: Evaluator) -> VariableTracker:
        """The value, which the object no longer shows."""
        if isinstance(self.owner, ObjectTracker):
            value = self.owner.own(tx, self.key)
        else:
            value = tx.realize(self.owner.items[self.key])
        assert value is not None
        self.was_pending = self.key in self.slots
        self.mark = _Away(value, self.text)
        self.slots[self.key] = self.mark
        return value

    def put_back(self) -> None:
        """The object is as it was."""
        assert self.mark is not None
        if self.was_pending:
            self.slots[self.key] = self.mark.tracker
        else:
            del self.slots[self.key]

    def store(self, tx: Evaluator, value: VariableTracker) -> None:
        if isinstance(self.owner, ObjectTracker):
            self.owner.set_attribute(tx, self.key, value)
        else:
            self.owner.set_item(tx, Constant(self.key), value)


@dataclass(frozen=True, slots=True)
class Carried:
    """``nodes`` use the variables ``names``; nothing is carried where there are none."""

    nodes: list[ast.stmt]
    places: Sequence[_Place] = ()

    @property
    def names(self) -> list[str]:
        return [place.name for place in self.places]

    @contextmanager
    def held(self, tx: Evaluator) -> Iterator[None]:
        """Within it the variables have the values, after it the objects, unless it raises: then nothing has changed."""
        for place in self.places:
            tx.store_name(place.name, place.take(tx))
        try:
            yield
        except Unsupported as error:
            error.detail = self.as_written(error.detail)
            self._back(tx)
            raise
        except BaseException:
            reasons = tx.output.policy.no_flow
            reasons.update({place: self.as_written(reason) for place, reason in reasons.items()})
            self._back(tx)
            raise
        values = [tx.realize(tx.locals[name]) for name in self.names]
        self._back(tx)
        for place, value in zip(self.places, values, strict=True):
            if value is not place.mark.tracker:  # type: ignore[union-attr]  # it was taken
                place.store(tx, value)

    def as_written(self, text: str) -> str:
        """A text in the words of the program."""
        for place in self.places:
            text = re.sub(rf"\b{place.name}\b", place.text, text)
        return re.sub(rf"\b{OWN}_\w+?\d+_", "", text)

    def _back(self, tx: Evaluator) -> None:
        """The objects are as they were, the variables gone."""
        for name in [n for n in tx.locals if n.startswith(OWN)]:
            del tx.locals[name]
        for place in self.places:
            tx.locals.pop(place.name, None)
            place.put_back()


def carried(tx: Evaluator, nodes: Sequence[ast.stmt]) -> Carried:
    """The statements over variables, if they are or hold loops that change attributes or items by their text."""
    inner = [n for s in nodes for n in ast.walk(s)]
    if tx.scopes or not any(isinstance(n, ast.Call) or _is_stored(n) for n in inner):
        return Carried(list(nodes))
    unfolded = with_methods(tx, nodes)
    places = _places(tx, unfolded)
    if not places and not bound_by_inner(tx) & names_in(unfolded, stores_only=True):
        return Carried(list(nodes))
    spelled = _Spelled(tx, places, names_in(unfolded, stores_only=True))
    made = [_of(spelled.visit(copy.deepcopy(s)), s) for s in unfolded]
    for each, node in zip(made, nodes, strict=False) if len(made) == len(nodes) else ():
        each.jm_of = node  # type: ignore[attr-defined]  # the statement of the function
    return Carried(made, places)


def _of(made: Any, node: ast.stmt) -> ast.stmt:
    fixed: ast.stmt = ast.fix_missing_locations(ast.copy_location(made, node))
    return fixed


def _is_stored(node: Any) -> bool:
    return isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)


def _places(tx: Evaluator, nodes: Sequence[ast.stmt]) -> list[_Place]:
    rebound = names_in(nodes, stores_only=True)
    found: dict[tuple[int, Any], _Place] = {}
    for node in (n for s in nodes for n in ast.walk(s) if _is_stored(n)):
        place = _place(tx, node, rebound)
        if place is not None and (id(place.owner), place.key) not in found:
            place.name = _name(place.text, {each.name for each in found.values()})
            found[id(place.owner), place.key] = place
    stored: Iterator[Any] = (n for s in nodes for n in ast.walk(s) if _is_stored(n))
    on_the_way = {step for n in stored for step in _steps(tx, n.value, rebound)}
    return [] if on_the_way & found.keys() else list(found.values())


def _steps(tx: Evaluator, node: ast.expr, rebound: set[str]) -> Iterator[tuple[int, Any]]:
    """The attributes by which a chain leads to an object."""
    while isinstance(node, ast.Attribute):
        yield id(owner_of(tx, node.value, rebound)), tx.mangle(node.attr)
        node = node.value


def _place(tx: Evaluator, node: Any, rebound: set[str]) -> _Place | None:
    """Where a statement stores, if that is one place each time."""
    owner = owner_of(tx, node.value, rebound)
    if isinstance(node, ast.Attribute):
        name = tx.mangle(node.attr)
        if type(owner) is not ObjectTracker or not has_plain_attribute(tx, owner, name):
            return None
        return _Place(owner, name, "", ast.unparse(node))
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if type(owner) is not DictTracker or type(key) not in KEYS or key not in owner.items:
        return None
    return _Place(owner, key, "", ast.unparse(node))


def _name(text: str, taken: set[str]) -> str:
    """A name that says what it stands for."""
    name = "_".join([TEMPORARY, *re.findall(r"\w+", text)])
    while name in taken:
        name += "_"
    return name


class _Spelled(ast.NodeTransformer):
    """Puts variables in the place of attributes and items."""

    def __init__(self, tx: Evaluator, places: Sequence[_Place], rebound: set[str]) -> None:
        self.tx = tx
        self.rebound = rebound
        self.names = {(id(p.owner), p.key): p.name for p in places}
        self.attributes = {p.key for p in places if isinstance(p.owner, ObjectTracker)}
        self.dicts = [p.owner for p in places if isinstance(p.owner, DictTracker)]

    def visit(self, node: ast.AST) -> Any:
        """What may run later, when the object has its value again, keeps the words of the program."""
        return node if isinstance(node, _LATER) else super().visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.ctx, ast.Del) or self.tx.mangle(node.attr) not in self.attributes:
            return self.generic_visit(node)
        return self._replaced(node, self.tx.mangle(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.ctx, ast.Del) or not self.dicts or not isinstance(node.slice, ast.Constant):
            return self.generic_visit(node)
        return self._replaced(node, node.slice.value)

    def _replaced(self, node: Any, key: Any) -> Any:
        owner = owner_of(self.tx, node.value, self.rebound)
        name = self.names.get((id(owner), key))
        return self.generic_visit(node) if name is None else ast.copy_location(ast.Name(name, node.ctx), node)

"""What ``match`` means over trackers."""

from __future__ import annotations

import ast
import collections.abc
from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.identity import same_object
from jitmagic.tracer.operators import compare
from jitmagic.tracer.signals import Raised, Returned
from jitmagic.tracer.statements import run_block
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.objects import ObjectTracker, find_in_class
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, TupleTracker

__all__ = ["ROWS", "choose_case"]

Bound = dict[str, VariableTracker]
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
NO_SEQUENCES = (Constant, ArrayTracker, DictTracker, ClassTracker)


def _match(tx: Evaluator, node: ast.Match) -> Returned | None:
    chosen = choose_case(tx, node)
    return None if chosen is None else run_block(tx, chosen.body)


def choose_case(tx: Evaluator, node: ast.Match) -> ast.match_case | None:
    """The first case that fits, with its names bound."""
    subject = tx.eval(node.subject)
    for case in node.cases:
        bound: Bound = {}
        if not fits(tx, case.pattern, subject, bound):
            continue
        for name, value in bound.items():
            tx.store_name(name, value)
        if case.guard is None or tx.truth(tx.eval(case.guard)):
            return case
    return None


def fits(tx: Evaluator, pattern: ast.pattern, subject: VariableTracker, bound: Bound) -> bool:
    """Whether ``subject`` fits; names that the pattern binds are added to ``bound``."""
    return _PATTERNS[type(pattern)](tx, pattern, tx.realize(subject), bound)


def _value(tx: Evaluator, pattern: ast.MatchValue, subject: VariableTracker, bound: Bound) -> bool:
    return tx.truth(compare(tx, "eq", subject, tx.eval(pattern.value)))


def _singleton(tx: Evaluator, pattern: ast.MatchSingleton, subject: VariableTracker, bound: Bound) -> bool:
    return same_object(tx, subject, Constant(pattern.value))


def _as(tx: Evaluator, pattern: ast.MatchAs, subject: VariableTracker, bound: Bound) -> bool:
    if pattern.pattern is not None and not fits(tx, pattern.pattern, subject, bound):
        return False
    if pattern.name is not None:
        bound[pattern.name] = subject
    return True


def _or(tx: Evaluator, pattern: ast.MatchOr, subject: VariableTracker, bound: Bound) -> bool:
    for each in pattern.patterns:
        own: Bound = {}
        if fits(tx, each, subject, own):
            bound.update(own)
            return True
    return False


def _sequence(tx: Evaluator, pattern: ast.MatchSequence, subject: VariableTracker, bound: Bound) -> bool:
    if isinstance(subject, NO_SEQUENCES):
        return False
    if isinstance(subject, ObjectTracker) and not issubclass(subject.cls, collections.abc.Sequence):
        return False
    if not isinstance(subject, ListTracker | TupleTracker | RangeTracker):
        raise Unsupported("statement", f"a sequence pattern for {subject.describe()}")
    items = tx.unpack(subject)
    star = next((i for i, p in enumerate(pattern.patterns) if isinstance(p, ast.MatchStar)), None)
    if star is None:
        return len(items) == len(pattern.patterns) and _all_fit(tx, pattern.patterns, items, bound)
    tail = len(pattern.patterns) - star - 1
    if len(items) < star + tail:
        return False
    end = len(items) - tail
    if not _all_fit(tx, pattern.patterns[:star], items[:star], bound):
        return False
    name = pattern.patterns[star].name  # type: ignore[attr-defined] # a MatchStar
    if name is not None:
        bound[name] = ListTracker(items[star:end])
    return _all_fit(tx, pattern.patterns[star + 1 :], items[end:], bound)


def _all_fit(tx: Evaluator, patterns: Sequence[ast.pattern], items: Sequence[VariableTracker], bound: Bound) -> bool:
    return all(fits(tx, p, v, bound) for p, v in zip(patterns, items, strict=True))


def _mapping(tx: Evaluator, pattern: ast.MatchMapping, subject: VariableTracker, bound: Bound) -> bool:
    if isinstance(subject, Constant | ArrayTracker | ListTracker | TupleTracker):
        return False
    if isinstance(subject, ObjectTracker) and not issubclass(subject.cls, collections.abc.Mapping):
        return False
    if not isinstance(subject, DictTracker):
        raise Unsupported("statement", f"a mapping pattern for {subject.describe()}")
    keys = [tx.eval(k) for k in pattern.keys]
    for key, each in zip(keys, pattern.patterns, strict=True):
        if not tx.truth(subject.contains(tx, key)):
            return False
        if not fits(tx, each, subject.items[key.constant()], bound):
            return False
    if pattern.rest is not None:
        used = {k.constant() for k in keys}
        subject.note_order()
        bound[pattern.rest] = DictTracker({k: v for k, v in subject.items.items() if k not in used})
    return True


def _class(tx: Evaluator, pattern: ast.MatchClass, subject: VariableTracker, bound: Bound) -> bool:
    cls = tx.eval(pattern.cls)
    if not isinstance(cls, ClassTracker):
        raise python_error(TypeError, "called match pattern must be a class")
    tx.output.builder.guard_metaclass(cls.value, "__instancecheck__")
    if find_in_class(type(cls.value), "__instancecheck__") is not type.__dict__["__instancecheck__"]:
        raise Unsupported("statement", f"a pattern of {cls.describe()}")
    if subject.python_type() is not cls.value:
        tx.output.builder.guard_bases(subject.python_type())
    if not issubclass(subject.python_type(), cls.value):
        return False
    if len(pattern.patterns) == 1 and cls.value in SELF_MATCHING:
        positional: list[tuple[str, ast.pattern]] = []
        if not fits(tx, pattern.patterns[0], subject, bound):
            return False
    else:
        positional = list(zip(_match_args(tx, cls, len(pattern.patterns)), pattern.patterns, strict=True))
    named = zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)
    return all(_attribute_fits(tx, subject, name, each, bound) for name, each in [*positional, *named])


def _match_args(tx: Evaluator, cls: ClassTracker, count: int) -> list[str]:
    names: tuple[Any, ...] = ()
    if count:
        try:
            names = tx.realize(cls.attribute(tx, "__match_args__")).constant()
        except Raised as raised:
            if not isinstance(raised.error, AttributeError):
                raise
    if len(names) < count:
        plural = "" if len(names) == 1 else "s"
        text = f"{cls.value.__name__}() accepts {len(names)} positional sub-pattern{plural} ({count} given)"
        raise python_error(TypeError, text)
    return list(names[:count])


def _attribute_fits(tx: Evaluator, subject: VariableTracker, name: str, pattern: ast.pattern, bound: Bound) -> bool:
    try:
        value = subject.attribute(tx, name)
    except Raised as raised:
        if isinstance(raised.error, AttributeError):
            return False
        raise
    return fits(tx, pattern, value, bound)


_PATTERNS: dict[type[ast.pattern], Callable[[Evaluator, Any, VariableTracker, Bound], bool]] = {
    ast.MatchValue: _value,
    ast.MatchSingleton: _singleton,
    ast.MatchAs: _as,
    ast.MatchOr: _or,
    ast.MatchSequence: _sequence,
    ast.MatchMapping: _mapping,
    ast.MatchClass: _class,
}
ROWS: dict[type[ast.stmt], Callable[[Evaluator, Any], Returned | None]] = {ast.Match: _match}

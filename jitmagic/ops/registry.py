"""The op registry: rows register themselves at import; every stage looks them up by the callable the user wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitmagic.errors import InternalError
from jitmagic.ops.record import Form, MetaRule, Op

__all__ = ["all_ops", "by_name", "lookup", "lookup_attribute", "lookup_method", "op", "own_signature"]

ATTRIBUTES = frozenset({"T", "mT", "real", "imag"})

_by_name: dict[str, Op] = {}
_by_callable: dict[Any, tuple[Op, Form]] = {}
_by_method: dict[str, tuple[Op, Form]] = {}


def op(name: str, call: Callable[..., Any], *, meta: MetaRule, signature: str = "", **columns: Any) -> Op:
    """Register one row; see ``Op`` for the columns. ``signature`` is the canonical parameter list as text.

    Refuses a name, function or method that is registered twice.
    """
    columns["signature"] = parse_signature(signature) if signature else own_signature(call)
    row = Op(name, call, meta, **columns)
    _claim(_by_name, name, row, name)
    for form in (Form(call, row.adapt), *row.forms):
        form = _out_by_name(form, row)
        table: dict[Any, tuple[Op, Form]] = _by_method if isinstance(form.target, str) else _by_callable
        _claim(table, form.target, (row, form), name)
    return row


def own_signature(call: Callable[..., Any]) -> inspect.Signature:
    """The parameters as the function itself tells them; none if it does not."""
    try:
        return inspect.signature(call)
    except (TypeError, ValueError):  # older builtins and ufuncs do not tell
        return inspect.Signature()


def _out_by_name(form: Form, row: Op) -> Form:
    """The form with ``out`` moved from its position to its name, where every stage looks for it."""
    names = list(row.signature.parameters)
    if "out" not in names or isinstance(row.call, np.ufunc):
        return form
    place = names.index("out")

    def adapt(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if form.adapt is not None:
            args, kwargs = form.adapt(*args, **kwargs)
        if len(args) > place and row.signature.parameters["out"].kind is not inspect.Parameter.KEYWORD_ONLY:
            later = dict(zip(names[place:], args[place:], strict=False))
            args, kwargs = args[:place], {**later, **kwargs}
        return args, kwargs

    return Form(form.target, adapt)


def parse_signature(text: str) -> inspect.Signature:
    """``"a, axis=None"`` as a Signature; defaults are Python literals, ``...`` stands for "not given"."""
    scope: dict[str, Any] = {}
    exec(f"def call({text}): pass", scope)
    return inspect.signature(scope["call"])


def _claim(table: dict[Any, Any], key: Any, value: Any, name: str) -> None:
    if key in table:
        raise InternalError(f"op {name!r}: {key!r} is registered twice")
    table[key] = value


def by_name(name: str) -> Op:
    """The row of that name. Raises KeyError."""
    return _by_name[name]


def lookup(function: Any) -> tuple[Op, Form] | None:
    """The row that a function or ufunc means, with the form in which it was written; None if it has no row."""
    try:
        return _by_callable.get(function)
    except TypeError:  # unhashable callables have no row
        return None


def lookup_method(name: str) -> tuple[Op, Form] | None:
    """The row that an ndarray method or operator (``"sum"``, ``"__add__"``) means."""
    return _by_method.get(name)


def all_ops() -> Iterator[Op]:
    """Every row, in order of registration."""
    return iter(_by_name.values())


def lookup_attribute(name: str) -> Op | None:
    """The row behind an ndarray attribute that gives an array: ``T``, ``mT``, ``real``, ``imag``."""
    found = _by_method.get(name)
    return found[0] if found is not None and name in ATTRIBUTES else None

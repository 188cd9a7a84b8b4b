"""What ``warnings.warn`` and loggers mean in a trace: recorded, and replayed in order after the graph."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.effects import HelperEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.guards.loud import quiet_guard
from jitmagic.tracer.reports import give_log, give_root_log, give_warning, is_loud
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.deferred import snapshot
from jitmagic.tracer.variables.namespaces import GlobalsTracker
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["ROWS"]


# -- warnings
def _warn(
    tx: Evaluator,
    message: VariableTracker,
    category: VariableTracker | None = None,
    stacklevel: VariableTracker | None = None,
    source: VariableTracker | None = None,
) -> VariableTracker:
    """``warnings.warn``. Left to plain Python where a filter makes an exception of a warning, and beyond this call."""
    kind = UserWarning if category is None or _is_none(category) else _class_of(category)
    level = 1 if stacklevel is None else stacklevel.constant()
    if kind is None or message.python_type() is not str or source is not None or type(level) is not int or is_loud():
        raise Unsupported("call", "warnings.warn")
    frame = _frame_at(tx, max(level, 1))
    line = getattr(frame.node, "lineno", 0)
    place = [Constant(line), Constant(frame.frame.filename), GlobalsTracker(frame)]
    tx.output.guards.add(quiet_guard(tx.output.constant_source(None)))
    values = [message, tx.output.builder.constant_object(tx, kind), *place]
    tx.output.add_effect(HelperEffect("warnings.warn", values, {}, helper=give_warning, span=tx.span))
    return Constant(None)


def _is_none(value: VariableTracker) -> bool:
    return value.is_constant and value.constant() is None


def _class_of(category: VariableTracker) -> type[Warning] | None:
    value = getattr(category, "value", None)
    is_warning = isinstance(category, ClassTracker) and isinstance(value, type) and issubclass(value, Warning)
    return value if is_warning else None


def _frame_at(tx: Evaluator, level: int) -> Evaluator:
    """The frame that a stack level means: 1 is the one that calls."""
    frame: Evaluator | None = tx
    for _ in range(level - 1):
        if frame is None or frame.scopes or frame.frame.is_generator:
            raise Unsupported("call", "warnings.warn of a caller")
        frame = frame.parent
    if frame is None:
        raise Unsupported("call", "warnings.warn of a caller")
    return frame


# -- logging
def _logged(level: int, name: str) -> Handler:
    def log(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
        logger = args[0] if args else None
        if not isinstance(logger, ObjectTracker) or logger.cls not in PLAIN_LOGGERS:
            raise Unsupported("call", f"logging.{name}")
        return _log(tx, give_log, [logger, Constant(level)], args[1:], kwargs)

    return log


def _logged_by_root(level: int) -> Handler:
    def log(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
        return _log(tx, give_root_log, [Constant(level)], args, kwargs)

    return log


def _log(
    tx: Evaluator,
    helper: Callable[..., None],
    before: Sequence[VariableTracker],
    args: Sequence[VariableTracker],
    kwargs: dict[str, VariableTracker],
) -> VariableTracker:
    """A record with the values of this moment. Options, and frames that Python makes for comprehensions, are left."""
    if kwargs or not args or tx.scopes:
        raise Unsupported("call", "logging with options")
    code = tx.frame.code
    place = TupleTracker([Constant(code.co_filename), Constant(getattr(tx.node, "lineno", 0)), Constant(code.co_name)])
    values = [*before, place, *(snapshot(tx, a) for a in args)]
    tx.output.add_effect(HelperEffect("a logger", values, {}, helper=helper, span=tx.span))
    return Constant(None)


PLAIN_LOGGERS = (logging.Logger, logging.RootLogger)
LEVELS = ("debug", "info", "warning", "error", "critical")

ROWS: dict[Any, Handler] = {
    warnings.warn: _warn,
    **{getattr(logging.Logger, name): _logged(getattr(logging, name.upper()), name) for name in LEVELS},
    **{getattr(logging, name): _logged_by_root(getattr(logging, name.upper())) for name in LEVELS},
}

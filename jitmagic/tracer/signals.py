"""The tracer's own control flow: these never leave ``jitmagic.tracer`` and are no errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported

if TYPE_CHECKING:
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["Finished", "NotConstant", "PlainRun", "Raised", "Restart", "Returned", "without_frames"]


class Signal(BaseException):
    """Base; not an Exception, so that no handler for the user's errors catches it."""


class NotConstant(Signal):
    """A value was asked for that is only known at run time."""


class Restart(Signal):
    """Throw this attempt away and trace again: the policy has learnt something (row N37)."""


class Finished(Signal):
    """A callee has recorded its own end on every way, and all that follows it in its callers too."""

    def __init__(self, flow: Returned) -> None:
        super().__init__(flow)
        self.flow = flow


class PlainRun(Signal):
    """This call is best run as plain Python as a whole."""

    def __init__(self, code: str, detail: str = "", span: Any = None) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail
        self.span = span


class Raised(Signal):
    """The traced program raised an exception; ``error`` is a real one, with NumPy's or Python's own text.

    ``value`` is its tracker, once somebody has asked for it; ``is_chained`` says that its context is known; ``missed``
    are the object and the name of the innermost attribute that could not be read because of it, empty if it shall not
    tell them.
    """

    def __init__(self, error: BaseException, value: Any = None, *, is_chained: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.value = value
        self.is_chained = is_chained
        self.missed: tuple[Any, str] | tuple[()] | None = None


@dataclass(slots=True)
class Returned:
    """How a block ended, if not by falling off its end: ``return``, ``break`` or ``continue``."""

    kind: str
    value: VariableTracker | None = None


def without_frames(error: BaseException) -> None:
    """Drop the tracebacks of signals and break reasons: their frames hold the arguments of the call being traced.

    Exceptions of the user's program among those that it came of are left as they are.
    """
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Signal | Unsupported):
            each.__traceback__ = None
            waiting += [each.__cause__, each.__context__]
            each.__cause__ = each.__context__ = None
            waiting += [each.inner] if isinstance(each, Unsupported) else [getattr(each, "cause", None)]

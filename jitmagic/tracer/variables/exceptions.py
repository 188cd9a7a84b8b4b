"""Exceptions raised and caught inside the traced program; they never leave the trace."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant, is_literal, wrap_constant
from jitmagic.tracer.variables.descriptors import HEAP_TYPE
from jitmagic.tracer.variables.objects import PLAIN_WRITES, ObjectTracker, find_in_class
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["ExceptionTracker", "TracebackTracker", "construct_exception", "is_exception_class", "raised_value"]

# Built-in classes that make more of their arguments than to keep them.
SPECIAL = (OSError, BaseExceptionGroup, SyntaxError, UnicodeError, ImportError)
CHAIN = ("__cause__", "__context__", "__suppress_context__")
MISSED = ("name", "obj")  # what an AttributeError is about


def is_exception_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


class ExceptionTracker(ObjectTracker):
    """An exception of the traced program: its class, its ``args``, and what methods of the class have set."""

    def __init__(self, cls: type, args: Sequence[VariableTracker]) -> None:
        super().__init__(cls, None, None)
        self.arguments = list(args)
        self.known: BaseException | None = None
        self.is_worded = False  # whether ``known`` came out of Python or NumPy, with all its attributes
        self.chain: dict[str, VariableTracker] = dict(zip(CHAIN, map(Constant, (None, None, False)), strict=True))

    @staticmethod
    def of(error: BaseException) -> ExceptionTracker:
        """For an exception that Python or NumPy has worded."""
        made = ExceptionTracker(type(error), [wrap_constant(a) for a in error.args])
        made.known, made.is_worded = error, True
        made.chain["__suppress_context__"] = Constant(error.__suppress_context__)
        return made

    def stand_in(self) -> BaseException:
        """A real exception of the same class, made without running code of the user."""
        if self.known is None:
            args = [a.constant() for a in self.arguments if a.is_constant]
            base = _builtin_base(self.cls)
            self.known = base.__new__(self.cls, *(args if len(args) == len(self.arguments) else ()))
        return self.known

    def text(self) -> str:
        """``str(self)`` if no class has a ``__str__`` of its own."""
        return str(_builtin_base(self.cls)(*(a.constant() for a in self.arguments)))

    def set_cause(self, cause: VariableTracker) -> None:
        """``raise self from cause``: the context is kept, and not shown."""
        self.chain |= {"__cause__": cause, "__suppress_context__": Constant(True)}

    def note_missed(self, owner: VariableTracker, name: str) -> None:
        """It kept ``owner.name`` from being read; one that is about something says so already."""
        known = [getattr(self.known, each, None) for each in MISSED]
        if known == [None, None] and not any(each in self.pending or each in self.chain for each in MISSED):
            self.chain |= {"name": Constant(name), "obj": owner}

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name not in self.pending:
            if name in self.chain and self._is_builtin(tx, name):
                return self.chain[name]
            if self.is_worded and _holds(self.known, name):
                return self._known_attribute(name)
            if self._is_builtin(tx, name):
                return self._builtin_attribute(name)
        return super().attribute(tx, name)

    def _is_builtin(self, tx: Evaluator, name: str) -> bool:
        """Whether no class below the built-in one has a say in what ``name`` is."""
        base = _builtin_base(self.cls)
        asked = (name, "__getattribute__", "__getattr__")
        return all(find_in_class(base, each) is self.guarded_entry(tx, each) for each in asked)

    def _builtin_attribute(self, name: str) -> VariableTracker:
        """``StopIteration.value``, ``NameError.name`` and the like."""
        if name == "args":
            return TupleTracker(self.arguments)
        if name == "__traceback__":
            return TracebackTracker()
        if not hasattr(_builtin_base(self.cls), name):
            raise self.absent(name)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.arguments[0] if self.arguments else Constant(None)
        return self._known_attribute(name)

    def _known_attribute(self, name: str) -> VariableTracker:
        if self.known is not None and is_literal(getattr(self.known, name)):
            return Constant(getattr(self.known, name))
        raise Unsupported("attribute", f"{name} of {self.describe()}")

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        stock = self._is_builtin(tx, name) and self.guarded_entry(tx, "__setattr__") in PLAIN_WRITES
        if name == "__cause__" and stock:
            self.set_cause(value)
        elif name in self.chain and stock:
            self.chain[name] = value
        elif name == "args" and stock:
            self.arguments = tx.unpack(value)
        elif name != "__traceback__" or not stock:
            super().set_attribute(tx, name, value)

    def truth(self, tx: Evaluator) -> bool:
        return super().truth(tx)

    def reconstruct(self, emit: Emitter) -> str:
        raise Unsupported("call", f"passing on the exception {self.cls.__name__}")


class TracebackTracker(VariableTracker):
    """A traceback: something that is not None, and that says where; nothing looks into it."""

    def describe(self) -> str:
        return "a traceback"

    def truth(self, tx: Evaluator) -> bool:
        return True


def _holds(error: BaseException | None, name: str) -> bool:
    """Whether the exception itself has the attribute, in its dict or in a slot."""
    return name in vars(error) or isinstance(inspect.getattr_static(error, name, None), MemberDescriptorType)


def _builtin_base(cls: type) -> Any:
    return next(base for base in cls.__mro__ if home(base) == "builtins" and not base.__flags__ & HEAP_TYPE)


def raised_value(raised: Raised) -> ExceptionTracker:
    """The tracker of what was raised; always the same one for the same exception."""
    if raised.value is None:
        raised.value = ExceptionTracker.of(raised.error)
    value: ExceptionTracker = raised.value
    if raised.missed:
        value.note_missed(*raised.missed)
        raised.missed = ()
    return value


def construct_exception(
    tx: Evaluator, cls: type, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """``cls(*args, **kwargs)``: ``args`` are kept as they are, then ``__init__`` runs."""
    for name in ("__new__", "__init__"):
        tx.output.builder.guard_held_class(cls, name)
    base = _builtin_base(cls)
    if issubclass(base, SPECIAL) or find_in_class(cls, "__new__") is not find_in_class(base, "__new__"):
        raise Unsupported("call", f"{cls.__name__}()")
    made = ExceptionTracker(cls, args)
    init = find_in_class(cls, "__init__")
    if init is find_in_class(base, "__init__"):
        if kwargs:
            raise Unsupported("call", f"{cls.__name__}() with keywords")
        return made
    tx.output.builder.class_entry(tx, cls, "__init__", init).call(tx, [made, *args], kwargs)
    return made


def set_arguments(tx: Evaluator, receiver: VariableTracker, *args: VariableTracker) -> VariableTracker:
    """``BaseException.__init__``."""
    if not isinstance(receiver, ExceptionTracker):
        raise Unsupported("call", "BaseException.__init__()")
    receiver.arguments = list(args)
    receiver.known = None
    return Constant(None)


def text_of(tx: Evaluator, receiver: VariableTracker) -> VariableTracker:
    """``BaseException.__str__``."""
    if not isinstance(receiver, ExceptionTracker):
        raise Unsupported("call", "BaseException.__str__()")
    try:
        return Constant(receiver.text())
    except NotConstant:
        raise Unsupported("data-number", f"the text of {receiver.describe()}") from None


def repr_of(tx: Evaluator, receiver: VariableTracker) -> VariableTracker:
    """``BaseException.__repr__``."""
    if not isinstance(receiver, ExceptionTracker):
        raise Unsupported("call", "BaseException.__repr__()")
    values = tuple(a.constant() for a in receiver.arguments)
    inner = repr(values[0]) if len(values) == 1 else ", ".join(map(repr, values))
    return Constant(f"{receiver.cls.__name__}({inner})")


def make_exception(tx: Evaluator, value: VariableTracker) -> ExceptionTracker:
    """What ``raise value`` raises."""
    if isinstance(value, ExceptionTracker):
        return value
    cls = value.real_object()
    if is_exception_class(cls):
        made = value.call(tx, [], {})
        if isinstance(made, ExceptionTracker):
            return made
    elif value.is_constant:
        raise python_error(TypeError, "exceptions must derive from BaseException")
    raise Unsupported("statement", f"raise {value.describe()}")


EXCEPTION_SLOTS = {"__init__": set_arguments, "__str__": text_of, "__repr__": repr_of}


def _builtin_exceptions(cls: type[BaseException]) -> Iterator[type[BaseException]]:
    if home(cls) == "builtins":
        yield cls
        for sub in cls.__subclasses__():
            yield from _builtin_exceptions(sub)


EXCEPTION_CALLS: dict[Any, Any] = {
    cls.__dict__[name]: call
    for cls in _builtin_exceptions(BaseException)
    if not issubclass(cls, SPECIAL)
    for name, call in EXCEPTION_SLOTS.items()
    if name in cls.__dict__
}

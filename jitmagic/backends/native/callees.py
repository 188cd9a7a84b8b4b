"""What a word of kernel text is to Numba: takes types, gives the signature and the writer of instructions.

Numba is asked once per process for each function and the types of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.errors import NumbaError

from jitmagic.backends.native.intrinsics import NAMESPACE
from jitmagic.errors import Unsupported
from jitmagic.own_builtins import OWN_BUILTINS

__all__ = ["Callee", "NoLibrary", "callee", "function_kind", "meaning"]


class NoLibrary:
    """Stands where Numba collects the compiled code that a kernel calls: here there is none."""

    def add_linking_library(self, library: Any) -> None:
        raise Unsupported("kernel", "a function with compiled code of its own")


class Callee(NamedTuple):
    """What a function of given types takes, and how it is written."""

    signature: Any
    write: Callable[..., Any]


def callee(context: Any, kind: Any, arguments: tuple[Any, ...]) -> Callee:
    """``kind`` is Numba's type of a function.

    Raises Unsupported for types that the function does not take, and for one that would need code of its own.
    """
    found = _found(context, kind, arguments)
    if isinstance(found, str):
        raise Unsupported("kernel", found)
    return found


@cache
def _found(context: Any, kind: Any, arguments: tuple[Any, ...]) -> Callee | str:
    """As ``callee``, or why there is none: Numba looks through its own source to say so, for 5 ms each time."""
    try:
        signature = context.typing_context.resolve_function_type(kind, arguments, {})
        if signature is None:
            return f"{kind} of {arguments}"
        if isinstance(kind, types.ExternalFunction):
            return Callee(signature, _external(context, kind.symbol, signature))
        return Callee(signature, context.get_function(kind, signature))
    except (NumbaError, NotImplementedError) as error:
        return str(error)


def _external(context: Any, symbol: str, signature: Any) -> Callable[..., Any]:
    is_void = signature.return_type is types.none
    result = ir.VoidType() if is_void else context.get_value_type(signature.return_type)
    kind = ir.FunctionType(result, [context.get_value_type(a) for a in signature.args])

    def write(builder: ir.IRBuilder, arguments: Sequence[Any]) -> Any:
        function = builder.module.globals.get(symbol) or ir.Function(builder.module, kind, symbol)
        made = builder.call(function, arguments)
        return context.get_dummy_value() if is_void else made

    return write


@cache
def meaning(context: Any, word: str) -> Any:
    """Numba's type of what ``word`` names: a function, or a number."""
    first, *rest = word.split(".")
    found = NAMESPACE.get(first, OWN_BUILTINS.get(first))
    for attribute in rest:
        found = getattr(found, attribute, None)
    if found is None:
        raise Unsupported("kernel", f"{word} has no value")
    return found if isinstance(found, int | float) else context.typing_context.resolve_value_type(found)


@cache
def function_kind(context: Any, function: Any) -> Any:
    """Numba's type of a Python operator or builtin."""
    return context.typing_context.resolve_value_type(function)

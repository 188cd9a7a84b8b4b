"""Takes nothing, gives the rows of operators between NumPy scalars (and Python numbers).

NumPy computes these by other code than ufuncs: powers go through the C library, integer overflow warns, and warnings
are worded differently. Their methods are looked up under ``"generic.__add__"``, for operands that are no arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.ops import elementwise  # noqa: F401 - its rows come first: their rules serve here too
from jitmagic.ops.describe import ONE_OF_TYPE, describe
from jitmagic.ops.lowering import Pointwise
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Form, Inferred, Rules, Sample
from jitmagic.ops.refusals import refuse
from jitmagic.ops.registry import by_name, op

__all__: list[str] = []

ALL = frozenset({"divide", "over", "under", "invalid"})

# name, meaning, loop with the same bits (floats only: integers warn when they wrap around)
BINARY: tuple[tuple[str, Callable[..., Any], str | None], ...] = (
    ("add", operator.add, "a + b"),
    ("sub", operator.sub, "a - b"),
    ("mul", operator.mul, "a * b"),
    ("truediv", operator.truediv, "a / b"),
    ("floordiv", operator.floordiv, None),
    ("mod", operator.mod, None),
    ("divmod", divmod, None),
    ("pow", lambda a, b: a**b, None),
    ("and", operator.and_, None),
    ("or", operator.or_, None),
    ("xor", operator.xor, None),
    ("lshift", operator.lshift, None),
    ("rshift", operator.rshift, None),
)
COMPARED: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("eq", operator.eq),
    ("ne", operator.ne),
    ("lt", operator.lt),
    ("le", operator.le),
    ("gt", operator.gt),
    ("ge", operator.ge),
)
UNARY: tuple[tuple[str, Callable[..., Any], str | None], ...] = (
    ("neg", operator.neg, "-a"),
    ("pos", operator.pos, "a"),
    ("abs", abs, "abs(a)"),
    ("invert", operator.invert, None),
)


def _own(function: Callable[..., Any]) -> Callable[..., Any]:
    """A callable of its own: the rows do not claim ``operator.add`` when it is called with arrays."""

    def call(*operands: Any) -> Any:
        return function(*operands)

    return call


def _scalar_rule(call: Arguments) -> Inferred:
    """The operation on ones of the same types tells the type; larger constants are tried as they are."""
    if any(isinstance(a, ArrayMeta) and not a.scalar for a in call.args):
        raise Unsupported("operator", f"{call.op.name} with an array")
    found = _of_ones(call.op.call, tuple(_key(a) for a in call.args))
    if found is None:
        refuse(call)
    return Inferred(found)


def _key(value: Any) -> Any:
    """A hashable stand-in: a dtype, or a type and a Python number of it."""
    if type(value) is int and value > 1:
        return int, value
    meta = describe(value)
    if meta is None:
        raise Unsupported("argument", "None")
    return (meta.type, ONE_OF_TYPE[meta.type]) if isinstance(meta, PyMeta) else meta.dtype


@lru_cache(maxsize=4096)
def _of_ones(call: Callable[..., Any], keys: tuple[Any, ...]) -> Any:
    values = [k[1] if isinstance(k, tuple) else np.ones((), k)[()] for k in keys]
    with Quiet():
        try:
            result = call(*values)
        except TypeError:
            return None
    entries = tuple(_described(r) for r in result) if isinstance(result, tuple) else _described(result)
    return entries


def _described(value: Any) -> Any:
    return ArrayMeta(value.dtype, scalar=True) if isinstance(value, np.generic) else PyMeta(type(value))


def _swapped(a: Any, b: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (b, a), {}


def _given(*values: Any) -> Sample:
    return Sample(lambda rng: values)


def _scalars(count: int) -> tuple[Sample, ...]:
    kinds: list[Any] = [np.float64(1.5), np.float32(2.5), np.int8(3), np.uint64(5), np.complex64(1j), np.True_]
    if count == 1:
        return tuple(_given(v) for v in kinds)
    numbers: list[Any] = [2, 0.5, 300, True, 1j]
    return tuple(
        [*(_given(v, w) for v in kinds for w in kinds + numbers), *(_given(w, v) for v in kinds for w in numbers)]
    )


# The rules are those of the array operations of the same meaning.
LIKE = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "power",
    "neg": "negative",
    "pos": "positive",
    "abs": "absolute",
}


def _rules_of(name: str) -> Rules | None:
    return by_name(LIKE[name]).vjp if name in LIKE else None


for _name, _call, _loop in BINARY:
    op(
        f"scalar_{_name}",
        _own(_call),
        meta=_scalar_rule,
        signature="a, b, /",
        forms=(Form(f"generic.__{_name}__"), Form(f"generic.__r{_name}__", _swapped)),
        warns=ALL,
        raises=_name == "pow",
        lower=Pointwise(_loop, "f") if _loop else None,
        vjp=_rules_of(_name),
        samples=_scalars(2),
    )
for _name, _call in COMPARED:
    op(
        f"scalar_{_name}",
        _own(_call),
        meta=_scalar_rule,
        signature="a, b, /",
        forms=(Form(f"generic.__{_name}__"),),
        warns=frozenset({"invalid"}),
        samples=_scalars(2),
    )
for _name, _call, _loop in UNARY:
    op(
        f"scalar_{_name}",
        _own(_call),
        meta=_scalar_rule,
        signature="a, /",
        forms=(Form(f"generic.__{_name}__"),),
        warns=ALL,
        lower=Pointwise(_loop, "f") if _loop else None,
        vjp=_rules_of(_name),
        samples=_scalars(1),
    )

"""Takes one call as text, differentiates it, gives where its gradient came from: the compiler, the tape, or nowhere.

The call becomes one number, to which everything real that comes out adds. The gradient of that number is compared with
central differences along random directions, and value and result of the call with what it gives plainly.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.autograd import transforms
from jitmagic.errors import JitMagicError
from jitmagic.ops import all_ops
from tests.conformance.sameness import difference
from tests.ops.coverage.values import make, scope

__all__ = ["KINDS", "Derived", "as_complex", "measure", "measure_twice", "on_tensors"]

KINDS = ("compiled", "tape", "zero", "refused", "missing", "wrong")
STEP = 1e-6
TOLERANCE = 1e-5
Operands = dict[str, Any]
Change = Callable[[str, Any], Any]
_serial = itertools.count()


@dataclass(frozen=True, slots=True)
class Derived:
    """``kind`` is one of ``KINDS``, or empty where there is nothing to differentiate; ``why`` tells what is amiss."""

    kind: str
    why: str = field(default="", compare=False)

    @property
    def is_amiss(self) -> bool:
        return self.kind in ("missing", "wrong")


def _same(name: str, value: Any) -> Any:
    return value


def measure(text: str, change: Change = _same) -> Derived:
    """The gradient by ``jm.value_and_grad`` of the call; ``change`` makes other operands of those of ``make``."""
    call = _called(text, change)
    return Derived("") if call is None else call.derived(call.differentiated(jm.value_and_grad))


def measure_twice(text: str) -> tuple[Derived, Derived]:
    """The same, and then the same program with longer operands: sizes are symbols then."""
    short, longer = _called(text, _same), _called(text, _longer)
    if short is None:
        return Derived(""), Derived("")
    differentiated = short.differentiated(jm.value_and_grad)
    found = short.derived(differentiated)
    if longer is None:
        return found, Derived("")
    if longer.domain is not short.domain:
        differentiated = longer.differentiated(jm.value_and_grad)
        _Call(text, _same, longer.domain).derived(differentiated)
    return found, longer.derived(differentiated)


def on_tensors(text: str) -> Derived:
    """The same by the tape alone, as for ``jm.Tensor``."""
    call = _called(text, _same)
    return Derived("") if call is None else call.derived(call.differentiated(transforms.value_and_grad))


def as_complex(name: str, value: Any) -> Any:
    """A complex operand in place of a real one."""
    if not _is_real(value) or value.dtype.kind == "c":
        return value
    turned = 0.3j * np.cos(np.arange(value.size)).reshape(value.shape)
    return value + (turned + np.conj(turned.T) if name == "s" else turned)


def _longer(name: str, value: Any) -> Any:
    """One more row; of the square matrix a column too."""
    if name == "s":
        return np.pad(value, (0, 1), constant_values=0.1) + np.diag([0.0] * len(value) + [9.0])
    return np.concatenate([value, 0.9 * value[:1] if _is_real(value) else value[:1]])


def _called(text: str, change: Change) -> _Call | None:
    """The call in the first domain where it gives something finite; None if there is nothing to differentiate."""
    call = None
    for domain in DOMAINS:
        try:
            call = _Call(text, change, domain)
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
            return None  # NumPy does not take such operands
        if np.isfinite(call.value):
            break
    assert call is not None
    return call if call.smooth and _has_numbers(call.result) else None


def _positive(name: str, value: Any) -> Any:
    """Between 0.1 and 0.9, for the functions that are not defined everywhere."""
    return 0.1 + 0.8 * np.abs(value) if name in "xyvw" else value


def _above_one(name: str, value: Any) -> Any:
    return 1.1 + np.abs(value) if name in "xyvw" else value


DOMAINS = (_same, _positive, _above_one)


class _Call:
    """The text as a function of its operands that gives ``(number, result)``."""

    def __init__(self, text: str, change: Change, domain: Change) -> None:
        values = make()
        self.domain = domain
        self.values = {name: change(name, domain(name, values[name])) for name in _names(text) if name in values}
        self.smooth = [name for name, value in self.values.items() if _is_real(value)]
        self.function = _function(tuple(self.values), [*_lines(text), "return weighed(r), r"])
        self.value, self.result = self.run(self.function, self.values)
        self.is_coarse = _is_coarse(self.result)

    def run(self, function: Callable[..., Any], values: Operands) -> Any:
        given = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in values.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*given.values())

    def differentiated(self, transform: Any) -> Any:
        places = tuple(list(self.values).index(name) for name in self.smooth)
        return transform(self.function, places, has_aux=True)

    def derived(self, differentiated: Any) -> Derived:
        """What ``differentiated``, made of this text, gives for these operands."""
        try:
            (value, result), gradients = self.run(differentiated, self.values)
        except JitMagicError as error:
            return Derived("refused" if _is_told(str(error)) else "missing", f"{type(error).__name__}: {error}")
        except Exception as error:
            return Derived("missing", f"{type(error).__name__}: {error}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of looking at the flags of what np.broadcast_arrays gives
            wrong = difference(self.result, result) or difference(self.value, value)
        wrong = wrong or self.disagreement(dict(zip(self.smooth, gradients, strict=True)))
        if wrong:
            return Derived("wrong", wrong)
        return _kind(differentiated, any(np.any(g != 0) for g in gradients))

    def disagreement(self, gradients: Operands) -> str:
        """In which operand the differences see something else."""
        step, tolerance = (1e-2, 2e-2) if self.is_coarse else (STEP, TOLERANCE)
        for name, seed in itertools.product(self.smooth, range(2)):
            direction = _direction(self.values[name], seed)
            expected = self.slope(name, step * direction) / step
            found = float(np.real(np.sum(gradients[name] * direction)))
            if not abs(found - expected) <= tolerance * max(1, abs(expected)):
                return f"by {name}: {found}, differences give {expected}"
        return ""

    def slope(self, name: str, move: Any) -> float:
        """The change of the number by ``move``, from four values: the error has the fifth power of its size."""
        near_up, near_down, far_up, far_down = (
            _smooth_part(self.run(self.function, self.values | {name: self.values[name] + times * move})[1])
            for times in (1, -1, 2, -2)
        )
        return float(8 * (near_up - near_down) - (far_up - far_down)) / 12


def weighed(value: Any) -> Any:
    """One number to which all numbers in ``value`` add, such that each matters by its own size."""
    if isinstance(value, tuple | list):
        total = 0.0
        for item in value:
            total = total + weighed(item)
        return total
    if isinstance(value, float | complex):
        kind = "c" if isinstance(value, complex) else "f"
    else:
        kind = value.dtype.kind if hasattr(value, "dtype") and not isinstance(value, type) else "O"
    if kind in "biu":
        return np.sum(value * 1.0)
    if kind not in "fc":
        return 0.0
    away = np.real(value) - 0.3
    total = np.sum(np.multiply(away, np.square(away)))
    if kind == "c":
        away = np.imag(value) - 0.2
        total = total + np.sum(np.multiply(away, np.square(away)))
    return total


def _smooth_part(value: Any) -> Any:
    """``weighed`` of the real and complex numbers: a derivative by an integer is 0, however fast that one jumps."""
    if isinstance(value, tuple | list):
        return sum(map(_smooth_part, value))
    return weighed(value) if _kind_of(value) in "fc" else 0.0


def _kind_of(value: Any) -> str:
    known = isinstance(value, np.ndarray | np.generic | float | complex | int)
    return np.asarray(value).dtype.kind if known else "O"


def _has_numbers(value: Any) -> bool:
    return any(map(_has_numbers, value)) if isinstance(value, tuple | list) else _kind_of(value) in "biufc"


def _is_coarse(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_coarse, value))
    return getattr(value, "dtype", None) in (np.float16, np.float32, np.complex64)


def _direction(value: Any, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    direction = draw.standard_normal(value.shape)
    return direction + 1j * draw.standard_normal(value.shape) if value.dtype.kind == "c" else direction


def _kind(differentiated: Any, is_felt: bool) -> Derived:
    handle = getattr(differentiated, "jit", None)
    why = "" if handle is None else _interruptions(handle)
    if not is_felt:
        return Derived("zero", why)
    return Derived("tape" if why or handle is None else "compiled", why)


def _interruptions(handle: Any) -> str:
    found = [f"{b.code}: {b.reason}" for b in handle.record.breaks]
    found += [f.reason for f in handle.record.fallbacks]
    return "; ".join(dict.fromkeys(found))


# What the documentation says has no gradient, in the words of the errors
TOLD = (
    "a subclass of ndarray with rules of its own",
    "became a plain array here",
    "became a Python number here",
    "are no smooth function of it",
)


def _is_told(message: str) -> bool:
    """Whether the message gives a reason that the documentation or the record of the operation gives."""
    reasons = [row.no_vjp for row in all_ops() if row.no_vjp]
    return any(reason in message for reason in (*TOLD, *reasons))


def _is_real(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)))


def _lines(text: str) -> list[str]:
    """The lines that put the result into ``r``; of a statement, the operand that it writes."""
    try:
        compile(text, "", "eval")
        return [f"r = {text}"]
    except SyntaxError:
        first = min((n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)), key=lambda n: n.col_offset)
        return [text, f"r = {first.id}"]


def _function(names: tuple[str, ...], lines: list[str]) -> Any:
    source = f"def f({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    filename = f"<derivatives {next(_serial)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {**scope, "weighed": weighed}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"]

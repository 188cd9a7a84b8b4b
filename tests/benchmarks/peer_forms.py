"""Takes the array programs, gives them as a user of each peer would write them. Runs in the peers' environment.

``numba.njit``, JAX and torch.compile take the NumPy functions as they are wherever they can; what they refuse, and
everything for numexpr, which computes one expression at a time, is written out here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, prange

from tests.benchmarks.programs import PROGRAMS

__all__ = ["FORMS", "Form"]


# Of a program's name: a function of arrays that has finished when it returns
Form = Callable[[str], Callable[..., Any]]
PLAIN: dict[str, Callable[..., Any]] = {case.function.__name__: case.function for case in PROGRAMS}


# ---------------------------------------------------------------- numba

PARALLEL: dict[str, Callable[..., Any]] = {}


def parallel(function: Callable[..., Any]) -> Callable[..., Any]:
    PARALLEL[function.__name__] = function
    return function


@parallel
def drawdown(value):
    most, found = value[0], 0.0
    for i in range(len(value)):
        most = max(most, value[i])
        found = max(found, most - value[i])
    return found


@parallel
def column_scores(x):
    rows, columns = x.shape
    mean, spread = np.zeros(columns), np.zeros(columns)
    for i in range(rows):
        mean += x[i]
    mean /= rows
    for i in range(rows):
        spread += (x[i] - mean) ** 2
    spread = np.sqrt(spread / rows) + 1e-9
    out = np.empty_like(x)
    for i in prange(rows):
        out[i] = (x[i] - mean) / spread
    return out


@parallel
def distances(a, b):
    out = np.empty((len(a), len(b)))
    for i in prange(len(a)):
        for j in range(len(b)):
            total = 0.0
            for k in range(a.shape[1]):
                total += (a[i, k] - b[j, k]) ** 2
            out[i, j] = math.sqrt(total)
    return out


@parallel
def kernel_matrix(a, b):
    out = np.empty((len(a), len(b)))
    for i in prange(len(a)):
        for j in range(len(b)):
            total = 0.0
            for k in range(3):
                total += (a[i, k] - b[j, k]) ** 2
            out[i, j] = math.exp(-0.5 * total)
    return out


@parallel
def softmax(x):
    out = np.empty_like(x)
    for i in prange(len(x)):
        e = np.exp(x[i] - x[i].max())
        out[i] = e / e.sum()
    return out


@parallel
def layer_norm(x):
    out = np.empty_like(x)
    for i in prange(len(x)):
        centred = x[i] - x[i].mean()
        out[i] = centred / np.sqrt((centred * centred).mean() + 1e-5)
    return out


def numba_form(fastmath: bool) -> Form:
    def form(name: str) -> Callable[..., Any]:
        function = PARALLEL.get(name, PLAIN[name])
        compiled: Callable[..., Any] = njit(parallel=name != "drawdown", fastmath=fastmath)(function)
        return compiled

    return form


# ---------------------------------------------------------------- numexpr

LINES: dict[str, str] = {  # of the programs that are one expression over their arguments
    "returns": "weight * (log(price / before) + dividend / before)",
    "discounted": "cash / (1.0 + rate) ** 2 * exp(-rate * years)",
    "luminance": "where(0.2126*red + 0.7152*green + 0.0722*blue > 1, 1, "
    "where(0.2126*red + 0.7152*green + 0.0722*blue < 0, 0, 0.2126*red + 0.7152*green + 0.0722*blue))",
    "gamma": "where(z <= 0.0031308, 12.92 * z, 1.055 * z**0.4166 - 0.055)",
    "blend": "where(a < 0.5, 2.0 * a * b, 1.0 - 2.0 * (1.0 - a) * (1.0 - b))",
    "oscillator": "position + 0.01 * (velocity + 0.01 * (-position * (1.0 + 0.1 * position * position)) / mass)",
    "energy": "sum(0.5 * velocity * velocity + 0.5 * position * position)",
    "lennard_jones": "4.0 * (1.0 / (r * r)) ** 3 * ((1.0 / (r * r)) ** 3 - 1.0)",
    "logistic": "1.0 / (1.0 + exp(-x))",
    "layer": "where(x * w + 0.1 > 0.0, x * w + 0.1, 0.0) * 0.5",
    "gelu": "0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
}


def numexpr_form(name: str) -> Callable[..., Any]:
    import numexpr

    if name not in LINES:
        return WRITTEN[name](numexpr.evaluate)
    line, code = LINES[name], PLAIN[name].__code__
    names = code.co_varnames[: code.co_argcount]

    def run(*arguments: Any) -> Any:
        return numexpr.evaluate(line, dict(zip(names, arguments, strict=True)))

    return run


WRITTEN: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {}


def written(make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[..., Any]:
    WRITTEN[make.__name__.removesuffix("_")] = make
    return make


def _views(z: Any) -> dict[str, Any]:
    """The nine neighbours of every inner point."""
    cuts = {"a": slice(None, -2), "b": slice(1, -1), "c": slice(2, None)}
    return {f"{r}{c}": z[rows, columns] for r, rows in cuts.items() for c, columns in cuts.items()}


@written
def option_moneyness_(evaluate: Any) -> Any:
    def run(spot: Any, strike: Any, sigma: Any) -> Any:
        d1 = evaluate("(log(spot / strike) + 0.5 * sigma * sigma) / sigma")
        names = {"d1": d1, "spot": spot, "strike": strike, "sigma": sigma}
        return evaluate("tanh(0.8 * d1) * spot - tanh(0.8 * (d1 - sigma)) * strike", names)

    return run


@written
def drawdown_(evaluate: Any) -> Any:
    return lambda value: evaluate("max(m - value)", {"m": np.maximum.accumulate(value), "value": value})


@written
def box_blur_(evaluate: Any) -> Any:
    return lambda z: evaluate("(bb + ab + cb + ba + bc + aa + ac + ca + cc) / 9.0", _views(z))


@written
def edges_(evaluate: Any) -> Any:
    return lambda z: evaluate("sqrt((bc - ba) * (bc - ba) + (cb - ab) * (cb - ab))", _views(z))


@written
def heat_(evaluate: Any) -> Any:
    def run(u: Any) -> Any:
        new = u.copy()
        evaluate("bb + 0.1 * (cb + ab + bc + ba - 4.0 * bb)", _views(u), out=new[1:-1, 1:-1])
        return new

    return run


@written
def burgers_(evaluate: Any) -> Any:
    line = "b - 0.05 * b * (c - a) + 0.01 * (c - 2.0 * b + a)"
    return lambda u: evaluate(line, {"a": u[:-2], "b": u[1:-1], "c": u[2:]})


@written
def standardise_(evaluate: Any) -> Any:
    def run(x: Any) -> Any:
        mean = x.mean()
        spread = math.sqrt(evaluate("sum((x - mean) * (x - mean))") / x.size)
        return evaluate("(x - mean) / spread", {"x": x, "mean": mean, "spread": spread})

    return run


@written
def column_scores_(evaluate: Any) -> Any:
    def run(x: Any) -> Any:
        mean = x.mean(axis=0)
        spread = np.sqrt(evaluate("sum((x - mean) * (x - mean), axis=0)") / len(x)) + 1e-9
        return evaluate("(x - mean) / spread", {"x": x, "mean": mean, "spread": spread})

    return run


@written
def correlation_(evaluate: Any) -> Any:
    def run(x: Any, y: Any) -> Any:
        names = {"x": x, "y": y, "mx": x.mean(), "my": y.mean()}
        both = evaluate("sum((x - mx) * (y - my))", names)
        squares = evaluate("sum((x - mx) * (x - mx))", names), evaluate("sum((y - my) * (y - my))", names)
        return both / math.sqrt(squares[0] * squares[1])

    return run


@written
def farthest_(evaluate: Any) -> Any:
    return lambda x: evaluate("max(abs(x - 0.5))", {"x": x})


@written
def distances_(evaluate: Any) -> Any:
    def run(a: Any, b: Any) -> Any:
        left, right = a[:, None, :], b[None, :, :]
        squares = evaluate("sum((left - right) * (left - right), axis=2)", {"left": left, "right": right})
        return evaluate("sqrt(squares)", {"squares": squares})

    return run


@written
def kernel_matrix_(evaluate: Any) -> Any:
    line = "exp(-0.5 * ((a0 - b0) ** 2 + (a1 - b1) ** 2 + (a2 - b2) ** 2))"

    def run(a: Any, b: Any) -> Any:
        names = {f"a{k}": a[:, None, k] for k in range(3)} | {f"b{k}": b[None, :, k] for k in range(3)}
        return evaluate(line, names)

    return run


@written
def softmax_(evaluate: Any) -> Any:
    def run(x: Any) -> Any:
        e = evaluate("exp(x - most)", {"x": x, "most": x.max(axis=1, keepdims=True)})
        return evaluate("e / total", {"e": e, "total": e.sum(axis=1, keepdims=True)})

    return run


@written
def layer_norm_(evaluate: Any) -> Any:
    def run(x: Any) -> Any:
        mean = x.mean(axis=-1, keepdims=True)
        squares = evaluate("sum((x - mean) * (x - mean), axis=1)", {"x": x, "mean": mean})[:, None]
        names = {"x": x, "mean": mean, "v": squares / x.shape[-1]}
        return evaluate("(x - mean) / sqrt(v + 1e-5)", names)

    return run


@written
def cross_entropy_(evaluate: Any) -> Any:
    def run(p: Any, t: Any) -> Any:
        return -evaluate("sum(t * log(p) + (1.0 - t) * log(1.0 - p * 0.99))", {"p": p, "t": t}) / p.size

    return run


# ---------------------------------------------------------------- JAX


def jax_form(name: str) -> Callable[..., Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    function = PLAIN[name]
    rebuilt = FunctionType(function.__code__, {"np": jax.numpy, "range": range}, name)
    compiled = jax.jit(_jax_heat(jax.numpy) if name == "heat" else rebuilt)
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


def _jax_heat(np: Any) -> Callable[..., Any]:
    def heat(u: Any) -> Any:
        change = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].set(u[1:-1, 1:-1] + 0.1 * change)

    return heat


# ---------------------------------------------------------------- torch


def torch_form(name: str) -> Callable[..., Any]:
    import torch

    torch._dynamo.config.recompile_limit = 10_000  # above it, it would run plainly and not say so
    if name == "drawdown":
        return torch.compile(lambda value: (torch.cummax(value, 0).values - value).max())
    return torch.compile(torch.compiler.wrap_numpy(PLAIN[name]), fullgraph=True)


FORMS: dict[str, Callable[[], Form]] = {
    "numexpr": lambda: numexpr_form,
    "numba": lambda: numba_form(fastmath=False),
    "numba fast": lambda: numba_form(fastmath=True),
    "jax": lambda: jax_form,
    "torch": lambda: torch_form,
}

"""The functions of ``fastmath`` are as near to the right result as the documents say, for every kind of float."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.loops import recipes
from jitmagic.backends.native import ulps
from jitmagic.backends.native.codegen import assembly
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.native.launch import make_launcher

DRAWN = 50_000
SPECIAL = np.array(
    [
        *(0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 1e-320, -1e-320, 1e308, -1e308, 5e-324),
        *(710.0, -746.0, 709.78, -745.13, 1e-300, 2.2250738585072014e-308, np.nextafter(1, 0), np.nextafter(1, 2)),
    ]
)
HAS_EXTENDED = np.finfo(np.longdouble).nmant > 60


def anything(rng: Any) -> Any:
    return rng.integers(-(2**63), 2**63 - 1, DRAWN, dtype=np.int64).view(np.float64)


def operands(name: str) -> tuple[Any, ...]:
    rng = np.random.default_rng(4)
    if name == "power":
        bases = [rng.uniform(0, 5, DRAWN), np.exp(rng.uniform(-100, 100, DRAWN)), rng.integers(-9, 9, DRAWN) * 1.0]
        exponents = [rng.uniform(-20, 20, DRAWN), rng.uniform(-7, 7, DRAWN), rng.integers(-9, 9, DRAWN) * 1.0]
        pairs = np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))
        return np.concatenate([*bases, pairs[0]]), np.concatenate([*exponents, pairs[1]])
    if name in ("sin", "cos", "tan"):
        ranges = [rng.uniform(-size, size, DRAWN) for size in (1e-3, 10, 1e6, 1e12)]
        return (np.concatenate([*ranges, SPECIAL[~(np.abs(SPECIAL) > 1e15)], [np.inf, -np.inf]]),)
    ranges = [rng.uniform(*bounds, DRAWN) for bounds in ((-1, 1), (-30, 30), (-745, 710), (0.999, 1.001))]
    return (np.concatenate([*ranges, anything(rng), np.abs(anything(rng)), SPECIAL]),)


def kernel_text(name: str) -> str:
    count = getattr(np, name).nin
    loads = ", ".join(f"load_float64(arg(args, {3 * k}), i * 8)" for k in range(count))
    result = f"store_float64(arg(args, {3 * count}), i * 8, fast_{name}({loads}))"
    return f"def kernel(args, lo, hi):\n    for i in range(lo, hi):\n        {result}\n    return 0\n"


def approximate(name: str, args: tuple[Any, ...]) -> Any:
    out = np.empty_like(args[0])
    kernel = compile_kernel(kernel_text(name), "kernel", fastmath=True)
    launch = make_launcher("a1" * (len(args) + 1))
    assert launch(kernel.address, 0, out.size, out.size, *args, out) & 0xFF == 0
    return out


@pytest.mark.skipif(not HAS_EXTENDED, reason="there is no format with more bits to compare with")
@pytest.mark.parametrize("name", ulps.ERRORS_ULP)
def test_errors_are_as_documented(name: str) -> None:
    args = operands(name)
    found = approximate(name, args)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(*(a.astype(np.longdouble) for a in args))
        rounded = exact.astype(np.float64)
        error = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    finite = np.isfinite(rounded)
    assert error[finite].max() <= ulps.ERRORS_ULP[name]
    assert np.array_equal(found[~finite], rounded[~finite], equal_nan=True)
    zero = (rounded == 0) & (found == 0)
    assert np.array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize("name", ulps.ERRORS_ULP)
def test_they_call_no_library_and_use_the_vector_unit(name: str) -> None:
    """No call is left, and values are handled several at a time (packed instructions of x86-64)."""
    text = assembly(kernel_text(name), "kernel", fastmath=True)
    assert not re.search(r"\b(?:call|bl)\w*\s+.*(?:exp|log|pow|sin|cos|tan|rint|fma|fabs)", text)
    if "mulsd" in text or "mulpd" in text:
        assert "mulpd" in text or re.search(r"vfn?m\w+pd", text)


def test_the_page_says_the_same() -> None:
    page = (Path(__file__).parents[3] / "docs" / "fastmath.md").read_text(encoding="utf-8")
    shown = {name: float(error) for name, error in re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", page, re.MULTILINE)}
    assert shown == ulps.ERRORS_ULP


def program(x: Any, y: Any) -> Any:
    return (np.sin(x) * np.exp(-y) + x**1.7).sum(axis=0), np.cos(x) / (1.0 + np.tanh(y))


@pytest.mark.parametrize("wanted", [frozenset(ulps.ERRORS_ULP), frozenset({"sin", "cos"})], ids=["all", "some"])
def test_a_compiled_function_approximates_only_when_asked(
    wanted: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipes, "worth_approximating", lambda: wanted)
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.1, 3, (2, 500, 7))
    exact, fast = jm.compile(program), jm.compile(program, fastmath=True)
    for _ in range(2):
        expected = program(x, y)
        assert all(map(np.array_equal, exact(x, y), expected))
        assert all(np.allclose(a, b, rtol=1e-13, atol=0) for a, b in zip(fast(x, y), expected, strict=True))
    sources = [k.source for f in (exact, fast) for k in f.jit.frame.entries[-1].lowered.kernels]
    assert any("fast_sin" in s for s in sources)
    assert any("fast_" not in s for s in sources)
    assert any("fast_exp" in s for s in sources) == ("exp" in wanted)


def cube(x: Any) -> Any:
    return np.negative(x**3)


def fourth(x: Any) -> Any:
    return np.negative(np.power(x, 4.0))


@pytest.mark.skipif(not HAS_EXTENDED, reason="there is no format with more bits to compare with")
@pytest.mark.parametrize("function", [cube, fourth], ids=lambda f: f.__name__)
def test_small_powers_are_products(function: Any) -> None:
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-3, 3, DRAWN), np.exp(rng.uniform(-200, 200, DRAWN)), anything(rng), SPECIAL])
    fast, exact = jm.compile(function, fastmath=True), jm.compile(function)
    with np.errstate(all="ignore"):
        found, wanted = fast(x), function(x.astype(np.longdouble))
        assert np.array_equal(exact(x), function(x), equal_nan=True)
        rounded = wanted.astype(np.float64)
        error = np.abs(found.astype(np.longdouble) - wanted) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    finite = np.isfinite(rounded)
    assert error[finite].max() <= 3.0
    assert np.array_equal(found[~finite], rounded[~finite], equal_nan=True)
    zero = (rounded == 0) & (found == 0)
    assert np.array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))
    (source,) = (k.source for k in fast.jit.frame.entries[-1].lowered.kernels)
    assert "inner_loop" not in source


def test_fast_kernels_report_no_floating_point_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "worth_approximating", lambda: frozenset(ulps.ERRORS_ULP))
    x = np.zeros(4)
    with np.errstate(all="raise"):
        found = jm.compile(lambda x: np.log(x) / x, fastmath=True)(x)
    assert np.array_equal(found, [-np.inf] * 4)


def test_other_dtypes_keep_numpys_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "worth_approximating", lambda: frozenset(ulps.ERRORS_ULP))
    x = np.linspace(0, 3, 40, dtype=np.float32)
    compiled = jm.compile(lambda x: np.sin(x) * 2, fastmath=True)
    assert np.array_equal(compiled(x), np.sin(x) * 2)

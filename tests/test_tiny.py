"""The whole way through the house in a few seconds: run this first."""

from __future__ import annotations

import numpy as np

import jitmagic as jm


def smooth(z):
    return (z[1:-1] * 2 + z[:-2] + z[2:]) / 4


def scaled(x):
    total = x.sum()
    if total > 0:
        return x / total
    return None


def test_a_function_is_captured_compiled_and_explained() -> None:
    compiled = jm.compile(smooth)
    for n in (50, 51, 52):
        z = np.linspace(0.0, 1.0, n) ** 2
        assert compiled(z).tobytes() == smooth(z).tobytes()
    assert compiled.jit.compiles == 2
    (recompile,) = jm.recompiles(compiled)
    assert (recompile.guard, recompile.then, recompile.now) == ("z.shape", "(50,)", "(51,)")
    assert "smooth" in str(compiled.jit.report())


def named(x):
    return {x.argmax(): x * 2}


def test_a_branch_on_the_data_is_no_break() -> None:
    assert jm.explain(scaled)(np.arange(4.0)).break_count == 0
    compiled = jm.compile(scaled)
    assert compiled(np.arange(4.0)).tobytes() == scaled(np.arange(4.0)).tobytes()
    assert compiled(-np.arange(4.0)) is None


def test_data_as_the_key_of_a_dict_are_the_only_break() -> None:
    explanation = jm.explain(named)(np.arange(4.0))
    assert [b.code for b in explanation.breaks] == ["data-key"]
    ((key, value),) = jm.compile(named)(np.arange(4.0)).items()
    assert (key, value.tobytes()) == (3, (np.arange(4.0) * 2).tobytes())

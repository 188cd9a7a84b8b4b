"""Functions of ``builtins`` that the program replaces: its own functions see them, the compiler does not."""

from __future__ import annotations

import builtins
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from jitmagic.own_builtins import OWN_BUILTINS, replaced_builtin

X = np.arange(1.0, 9.0)
PROGRAMS = {
    "len": lambda x: x * 2.0 + len(x),
    "max": lambda x: x * max(x[0], x[1]),
    "sum": lambda x: x * sum([2.0, 3.0]),
    "abs": lambda x: x * abs(-2.0),
    "isinstance": lambda x: x * 2.0 if isinstance(x, np.ndarray) else x,
    "range": lambda x: x * float(list(range(3))[-1]),
}


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return np.asarray(function(*arguments)).tobytes()
    except Exception as error:
        return repr(error)


def boom(*values: Any, **named: Any) -> Any:
    raise KeyError("the user's own")


def number(*values: Any, **named: Any) -> Any:
    return 77


def few(*values: Any, **named: Any) -> Any:
    return [1.0, 7.0]


@pytest.mark.parametrize("replacement", [boom, number, few])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replaced_builtin_is_what_the_function_calls(name: str, replacement: Any) -> None:
    """Before and after it, on the arguments that were compiled for and on others."""
    plain = PROGRAMS[name]
    compiled = jm.compile(plain)
    own = getattr(builtins, name)
    calls = [X, np.arange(9.0), X.astype("f4")]
    before = [outcome(plain, x) for x in calls]
    assert outcome(compiled, X) == before[0]
    setattr(builtins, name, replacement)
    try:
        expected = [OWN_BUILTINS["repr"](plain), *[outcome(plain, x) for x in calls]]
        found = [OWN_BUILTINS["repr"](plain), *[outcome(compiled, x) for x in calls]]
    finally:
        setattr(builtins, name, own)
    assert found == expected
    assert [outcome(compiled, x) for x in calls] == before
    assert not compiled.jit.frame.closed  # type: ignore[attr-defined]  # every compiled function has it


def test_nothing_is_compiled_while_one_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = jm.compile(lambda x: x + 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "sorted", lambda values, **named: [])
        assert replaced_builtin() == "sorted"
        np.testing.assert_array_equal(compiled(X), X + 1.0)
        assert compiled.jit.compiles == 0  # type: ignore[attr-defined]  # every compiled function has it
        (event,) = compiled.jit.frame.record.fallbacks  # type: ignore[attr-defined]  # the same
        assert "builtins.sorted has been replaced" in event.reason
    np.testing.assert_array_equal(compiled(X), X + 1.0)
    assert compiled.jit.compiles == 1  # type: ignore[attr-defined]  # every compiled function has it


def test_print_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many programs do, and no library computes with it."""
    compiled = jm.compile(lambda x: x + 1.0)
    monkeypatch.setattr(builtins, "print", lambda *values: None)
    np.testing.assert_array_equal(compiled(X), X + 1.0)
    assert compiled.jit.compiles == 1  # type: ignore[attr-defined]  # every compiled function has it


def test_layers_keep_the_builtins_that_they_were_imported_with(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    compiled = jm.compile(model)
    expected = outcome(lambda x: model(x).numpy(), X)
    assert outcome(lambda x: compiled(x).numpy(), X) == expected
    with monkeypatch.context() as patch:
        for name in ("zip", "enumerate", "tuple"):
            patch.setattr(builtins, name, number)
        found = outcome(lambda x: model(x).numpy(), X), outcome(lambda x: compiled(x).numpy(), X)
    assert found == (expected, expected)


def test_every_module_runs_with_them() -> None:
    """Also those that are imported later, and nobody else's."""
    text = (
        "import sys, jitmagic, jitmagic.magic.extension, jitmagic.tracer.trace, jitmagic.runtime.native.table\n"
        "own = jitmagic.own_builtins.OWN_BUILTINS\n"
        "ours = [m for n, m in sys.modules.items() if n.startswith('jitmagic.') and n != 'jitmagic.own_builtins']\n"
        "others = [m for n, m in sys.modules.items() if n.startswith('numpy')]\n"
        "assert len(ours) > 200 and all(m.__builtins__ is own for m in ours)\n"
        "assert not any(getattr(m, '__builtins__', None) is own for m in others)\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)

"""Random programs over arrays show, compiled, all that they show in plain Python; a quick set of fixed seeds.

To look further: ``python -m tests.fuzz.array_check FIRST LAST [BACKEND]`` from the root of the repository.
"""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.fuzz.array_check import check
from tests.fuzz.array_outcomes import define, differing, outcome
from tests.fuzz.array_programs import make_array_program


@pytest.mark.parametrize(("backend", "seeds"), [("aot_eager", range(80)), ("numba", range(1000, 1012))])
def test_random_array_programs_show_what_plain_python_shows(backend: str, seeds: range) -> None:
    """Running everything plainly must not pass: most programs are captured."""
    compiled = 0
    for seed in seeds:
        program = make_array_program(seed)
        found = check(program.text, seed, backend)
        assert not found.differences, "\n".join([f"seed {seed}", program.text, *found.differences])
        compiled += found.compiled
    assert compiled >= 0.8 * len(seeds)


NARROWING = (
    "x.sum(dtype=np.float32)",
    "np.sum(x, None, np.float32)",
    "x.cumsum(dtype=np.float32)",
    "np.concatenate([x, x], dtype=np.float32, casting='unsafe')",
    "np.add(x, x, dtype=np.float32, casting='unsafe')",
    "x.astype(np.float32)",
)


@pytest.mark.parametrize("backend", ["numba", "aot_eager"])
@pytest.mark.parametrize("expression", NARROWING)
@pytest.mark.parametrize("filters", ["always", "error"])
def test_a_lost_imaginary_part_is_reported_where_plain_python_reports_it(
    expression: str, filters: str, backend: str
) -> None:
    """Category, text, file and line; a method and a function of NumPy warn from different files."""
    text = f"def f(x):\n    y = {expression}\n    return y\n"
    plain, compiled = define(text, "narrowing"), jm.compile(define(text, "narrowing"), backend=backend)
    x = np.array([1 + 1j, 2, 3j])
    wanted = outcome(plain, [x], filters)
    assert wanted["warnings"] or wanted["error"]
    with jm.configure(demote=False):
        for _ in range(2):
            assert differing(wanted, outcome(compiled, [x], filters)) == []
    assert compiled.jit.compiles


@pytest.mark.parametrize("kind", ["m8[s]", "M8[D]"])
@pytest.mark.parametrize("statement", ["y = np.add(x, -1)", "y = x + 1", "x += 1; y = x.copy()", "y = np.append(x, 1)"])
def test_a_unit_that_numpy_warns_of_is_reported_where_plain_python_reports_it(statement: str, kind: str) -> None:
    """From 2.5 on it warns, in C, of numbers without a unit among times."""
    text = f"def f(x):\n    {statement}\n    return y\n"
    plain, compiled = define(text, "unit"), jm.compile(define(text, "unit"), backend="numba")
    with jm.configure(demote=False):
        for _ in range(3):
            wanted = outcome(plain, [np.arange(3).astype(kind)])
            assert differing(wanted, outcome(compiled, [np.arange(3).astype(kind)])) == []


CHANGED = {  # the text, and a maker of arguments for each call
    "an in-place error of a read-only array": (
        "    try:\n        x *= 2\n    except ValueError as error:\n        return str(error)\n    return x\n",
        lambda: (_read_only(3), np.ones(3), _read_only(3), np.ones(3)),
    ),
    "a view of a read-only array": (
        "    try:\n        x[1:][...] = 0\n    except ValueError as error:\n        return str(error)\n    return x\n",
        lambda: (_read_only(3), np.ones(3), _read_only(4)),
    ),
    "an array copied onto itself": (
        "    try:\n        np.copyto(x, x)\n    except ValueError as error:\n        return str(error)\n    return x\n",
        lambda: (_read_only(3), np.ones(3), _read_only(0)),
    ),
    "positions that are changed": (
        "    v = np.argwhere(x)\n    v += v\n    return v\n",
        lambda: (np.array([1, 0, 1]), np.array([1, 1, 1]), np.array([[1, 0], [1, 1]]), np.zeros(3)),
    ),
    "nothing, in an order of its own": (
        "    v, w = np.roll(x, 1), np.kron(x, x)\n    v += 1\n    w[::-1][...] += 1\n    return v, w\n",
        lambda: (np.ones((3, 0)), np.ones((0, 3)), np.ones((2, 0, 3)), np.ones((3, 2)), np.ones((3, 0))),
    ),
}


def _read_only(count: int) -> np.ndarray:
    array = np.ones(count)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("backend", ["aot_eager", "numba"])
@pytest.mark.parametrize("name", CHANGED)
def test_programs_that_once_differed(name: str, backend: str) -> None:
    body, make = CHANGED[name]
    plain, compiled = (
        define(f"def f(x):\n{body}", name),
        jm.compile(define(f"def f(x):\n{body}", name), backend=backend),
    )
    with jm.configure(demote=False):
        for x, same in zip(make(), make(), strict=True):
            assert differing(outcome(plain, [x], "always"), outcome(compiled, [same], "always")) == []
    assert compiled.jit.calls == len(make())

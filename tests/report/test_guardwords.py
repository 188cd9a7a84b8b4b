"""Every kind of guard has its plain words, and every guard a sentence."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import jitmagic
from jitmagic import explain
from jitmagic.backends.native.abi import Status
from jitmagic.events import GuardRecord
from jitmagic.report.folded import _few_guards
from jitmagic.report.guardwords import GUARD_KINDS, statement
from jitmagic.report.terms import STATUSES

PACKAGE = Path(jitmagic.__file__).parent
MAKERS = {"Guard": 0, "expression_guard": 0, "identity_guard": 2}  # callable: where the kind stands among its arguments


def written_kinds() -> set[str]:
    """The kinds that occur in the calls that make guards, and as defaults of their makers."""
    found = set()
    for path in (PACKAGE / "tracer").rglob("*.py"), (PACKAGE / "runtime").rglob("*.py"):
        for file in path:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.name == "identity_guard":
                    found |= {d.value for d in node.args.defaults if isinstance(d, ast.Constant) and d.value}
                if not isinstance(node, ast.Call):
                    continue
                name = ast.unparse(node.func).rpartition(".")[2]
                given = node.args[MAKERS[name] :] if name in MAKERS else []
                found |= {a.value for a in given[:1] if isinstance(a, ast.Constant)}
    return found


def test_the_table_holds_exactly_the_kinds_that_are_made() -> None:
    assert written_kinds() == set(GUARD_KINDS)


def test_every_status_of_a_kernel_is_explained() -> None:
    assert set(STATUSES) == {status.name for status in Status}


@pytest.mark.parametrize(
    ("kind", "expression", "expected", "said"),
    [
        ("ARRAY_MATCH", "z.dtype", "float64", "z.dtype is float64"),
        ("BUILTIN_MATCH", "np.sin", "sin", "np.sin unchanged"),
        ("BUILTIN_MATCH", "a global named print", "absent", "a global named print is absent"),
        ("ERRSTATE", "np.geterr()", "{'over': 'warn'}", "np.geterr() unchanged"),
        ("FUNCTION_MATCH", "forward", "Linear.forward as compiled", "Linear.forward unchanged"),
        ("FUNCTION_MATCH", "defaults of f", "2 defaults", "defaults of f unchanged"),
        ("NO_ALIASING", "x is y", "False (two objects)", "x is not y"),
        ("NO_ALIASING", "number of objects among x, y, z", "3", "number of objects among x, y, z is 3"),
        ("ALIAS", "y is x", "True (one object)", "y is x"),
        ("SIZE_RELATION", "x.shape[0] == y.shape[0]", "true", "x.shape[0] == y.shape[0]"),
        ("WARNINGS", "no warning is an exception", "true", "no warning is an exception"),
        ("CONSTANT_MATCH", "name", "'" + "a" * 100 + "'", "name is '" + "a" * 56 + "..."),
    ],
)
def test_what_a_guard_says(kind: str, expression: str, expected: str, said: str) -> None:
    assert statement(GuardRecord(expression, kind, "x", expected)) == said


def prints(x: np.ndarray) -> object:
    print("spread of", len(x), sorted([2, 1]))
    return abs(x).max() - sum([1.0, 2.0])


def test_no_guard_of_a_call_is_listed_twice() -> None:
    """A builtin is guarded twice: it is the same function, and no global hides it. The words differ."""
    for x in (np.arange(10.0), np.ones((8, 8))[::2, ::3]):
        guards = explain(prints)(x).guards
        said = [(statement(g), g.kind) for g in guards]
        assert len(said) == len(set(said))
        assert ("print unchanged", "BUILTIN_MATCH") in said


def test_what_a_function_does_not_say_is_explained_below_the_table() -> None:
    found = explain(prints)(np.arange(10.0))
    for kind in {guard.kind for guard in found.guards}:
        assert f"({kind}: {GUARD_KINDS[kind]})" in " ".join(found.text.split())
        assert f'<abbr title="{GUARD_KINDS[kind]}"' in found.html


def test_the_few_guards_of_a_card_say_each_sentence_once() -> None:
    def guard(expression: str) -> GuardRecord:
        return GuardRecord(expression, "ID_MATCH", expression, expression)

    shown = [guard("a"), guard("a"), *(guard(f"b{k}") for k in range(8)), guard("b0")]
    text = _few_guards(shown, "f")
    assert text.startswith("a unchanged; b0 unchanged; b1 unchanged;")
    assert text.endswith("; 1 more (%jit guards f)")

"""``%jit``: the table of all compiled functions, and the verbs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from IPython.core.error import UsageError

import jitmagic as jm
from jitmagic.magic.engine import Engine
from jitmagic.magic.verbs import VERBS, JitLine
from jitmagic.report.guardwords import GUARD_KINDS
from jitmagic.report.terms import STATUSES, TERMS
from jitmagic.report.words import short_name
from tests.magic.conftest import Notebook


@pytest.fixture
def two(notebook: Notebook) -> Notebook:
    notebook.run("x = 7")
    notebook.run("%%compile\ndef f(a, b=0): pass\nclass C:\n    def m(self): pass\ndef p(): yield")
    return notebook


def test_without_a_word_it_lists_all_compiled_functions(two: Notebook) -> None:
    text = two.run("%jit").out
    assert "In[2], line 2" in text
    assert "C.m" in text


def test_without_any_compiled_function_it_says_what_to_do(notebook: Notebook) -> None:
    assert "put %%compile on top of a cell" in notebook.run("%jit").out


@pytest.mark.parametrize("verb", [v for v in VERBS if v not in ("check", "time", "clear", "help")])
def test_a_verb_gives_its_view(verb: str, two: Notebook) -> None:
    assert two.run(f"%jit {verb} f").out == f"Out[3]: {verb} f\n"


def test_a_name_alone_gives_the_report(two: Notebook) -> None:
    assert str(two.run("%jit f").value) == "report f"
    assert str(two.run("%jit C.m").value) == "report C.m"


def test_several_names_are_shown_one_below_the_other(two: Notebook) -> None:
    assert two.run("%jit why f C.m").shown == ["why f", "why C.m"]


def test_a_verb_alone_is_about_all_functions(two: Notebook) -> None:
    assert two.run("%jit breaks").shown == ["breaks C.m", "breaks f"]


def test_the_view_is_a_value(two: Notebook) -> None:
    two.run("v = %jit guards f")
    assert str(two.ns["v"]) == "guards f"


@pytest.mark.parametrize("verb", ["check", "time"])
def test_check_and_time_take_a_call(verb: str, two: Notebook) -> None:
    assert str(two.run(f"%jit {verb} f(x + 1, b=-2)").value) == f"{verb} f (8,) {{'b': -2}}"
    assert "needs a call" in two.run(f"%jit {verb} f").err


def test_clear_drops_one_or_all(two: Notebook) -> None:
    two.run("%jit clear f")
    assert two.ns["f"].jit.cleared
    assert not two.ns["C"].m.jit.cleared
    two.run("%jit clear")
    assert "no compiled functions" in two.run("%jit").out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("p", "p is not compiled"),
        ("g", "g is neither a compiled function nor a verb"),
        ("why g", "no compiled function is called g ("),
        ("why why", "no compiled function is called why ("),
        ("time f(undefined)", "the arguments of f(undefined) fail with NameError: name 'undefined' is not defined"),
        ("gards f", "did you mean guards?"),
        ("C.n", "did you mean C.m?"),
    ],
)
def test_what_is_not_understood_is_said(line: str, says: str, two: Notebook) -> None:
    ran = two.run(f"%jit {line}")
    assert type(ran.error).__name__ == "UsageError"
    assert says in ran.err
    assert ("compiled: C.m, f" in ran.err) != line.startswith("time")
    assert "Traceback" not in ran.err + ran.out


def test_a_function_that_the_notebook_has_renamed_is_found_by_its_own_name(two: Notebook) -> None:
    two.run("h = f; del f")
    assert str(two.run("%jit f").value) == "report f"
    assert str(two.run("%jit h").value) == "report f"


def test_the_help_page_explains_every_word_and_every_kind_of_guard(two: Notebook) -> None:
    text = str(two.run("%jit help").value)
    assert all(f"\n{verb} " in text for verb in VERBS)
    assert all(f"\n  {word}: " in text for word in (*TERMS, *GUARD_KINDS, *STATUSES))
    assert max(map(len, text.splitlines())) <= 100


def test_help(two: Notebook) -> None:
    assert "%jit guards" in two.run("%jit -h").out
    assert "%jit guards" in two.run("%jit?").out


def test_what_a_card_calls_a_function_finds_it_without_a_name_in_the_notebook() -> None:
    def loss(w):
        return (w * w).sum()

    slope = jm.value_and_grad(loss)
    plain, other = jm.compile(loss), jm.compile(lambda x: x)
    line = JitLine(
        SimpleNamespace(user_ns={}), Engine(jm.compile, lambda: [other, slope, plain], print, tuple, jm.reset)
    )
    for function in (slope, plain):
        assert line.find(short_name(function.__qualname__)) is function
        assert line.find(function.__qualname__) is function
    with pytest.raises(UsageError, match=r"no compiled function is called grad\(loss\)"):
        line.find("grad(loss)")

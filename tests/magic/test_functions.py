"""Which functions of a cell are handed to the compiler, and with which options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jitmagic.tracer.guards.naming import cell_place
from tests.magic.conftest import Notebook


def compiled_names(notebook: Notebook, *names: str) -> list[str]:
    return [name for name in names if hasattr(notebook.ns[name], "jit")]


def test_every_function_is_compiled_but_generators_and_coroutines(notebook: Notebook) -> None:
    notebook.run("%%compile\ndef f(): pass\ndef g(): yield\nasync def h(): pass\ndef i(): pass")
    assert compiled_names(notebook, "f", "g", "h", "i") == ["f", "i"]


def test_names_restrict(notebook: Notebook) -> None:
    notebook.run("%%compile g\ndef f(): pass\ndef g(): pass")
    assert compiled_names(notebook, "f", "g") == ["g"]


def test_methods_are_compiled_as_plain_attributes_of_the_class(notebook: Notebook) -> None:
    notebook.run("%%compile\nclass A:\n    def m(self): pass\n    @staticmethod\n    def s(): pass")
    namespace = vars(notebook.ns["A"])
    assert hasattr(namespace["m"], "jit")
    assert type(namespace["s"]) is staticmethod
    assert hasattr(namespace["s"].__func__, "jit")


def test_an_unknown_name_lists_what_there_is(notebook: Notebook) -> None:
    ran = notebook.run("%%compile blurr\nx = 1\ndef blur(): pass\nclass A:\n    def m(self): pass")
    assert type(ran.error).__name__ == "UsageError"
    assert "no function 'blurr' (found: blur, A.m)" in ran.err
    assert "x" not in notebook.ns


def test_naming_a_generator_says_why_it_stays_plain(notebook: Notebook) -> None:
    assert "g is a generator" in notebook.run("%%compile g\ndef g(): yield").err


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("", {}),
        ("--backend eager", {"backend": "eager"}),
        ("--target cuda", {"target": "cuda"}),
        ("--dynamic always", {"dynamic": True}),
        ("--dynamic never", {"dynamic": False}),
        ("--fullgraph", {"fullgraph": True}),
        ("--strict", {"fullgraph": True}),
        ("--fastmath --check", {"fastmath": True, "check": True}),
        ("--explain", {"backend": "eager"}),
    ],
)
def test_options_reach_the_compiler(line: str, changes: dict[str, Any], notebook: Notebook) -> None:
    notebook.run(f"%%compile {line}\ndef f(): pass")
    options = {
        "backend": "numba",
        "target": "cpu",
        "dynamic": None,
        "fullgraph": False,
        "fastmath": False,
        "check": False,
    }
    assert notebook.ns["f"].jit.options == options | changes


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--nope", "unrecognized arguments: --nope"),
        ("--target moon", "invalid choice: 'moon'"),
        ("--backend nope", "no backend is called 'nope'"),
        ("-o 3x", "'3x' is not a variable name"),
        ("--explain --backend numba", "--explain compiles nothing"),
    ],
)
def test_wrong_options_are_one_line_that_says_so(line: str, says: str, notebook: Notebook) -> None:
    ran = notebook.run(f"%%compile {line}\ndef f(): pass")
    assert type(ran.error).__name__ == "UsageError"
    assert says in ran.err
    assert "%%compile" in ran.err
    assert ran.err.count("\n") <= 1


def test_braces_and_dollars_in_the_line_are_not_expanded(notebook: Notebook) -> None:
    notebook.run("name = 'f'")
    assert "no function '{name}'" in notebook.run("%%compile {name}\ndef f(): pass").err


def test_help_runs_nothing(notebook: Notebook) -> None:
    ran = notebook.run("%%compile --help\nx = 1")
    assert "--fullgraph, --strict" in ran.out
    assert "x" not in notebook.ns


def test_the_help_page_names_every_option(notebook: Notebook) -> None:
    page = notebook.run("%%compile?").out
    for option in ("--backend", "--dynamic", "--report", "--graph", "-q", "-o VAR", "%%compile"):
        assert option in page


def test_the_users_own_compile_is_not_compiled_twice(notebook: Notebook) -> None:
    """However it is spelt; the user's options win."""
    notebook.run(
        "%%compile --backend eager\n"
        "from tests.magic import fakes\nfrom tests.magic.fakes import compile_function as c\n"
        "import functools\nfast = functools.partial(c, fastmath=True)\n"
        "@fakes.compile_function\ndef f(): pass\n@c\ndef g(): pass\n@fast\ndef h(): pass\n"
        "def i(): pass"
    )
    ns = notebook.ns
    assert [ns[n].jit.options for n in "fgh"] == [{}, {}, {"fastmath": True}]
    assert not any(hasattr(ns[n].jit.plain, "jit") for n in "fgh")
    assert ns["i"].jit.options["backend"] == "eager"


def test_another_compilers_decorator_gets_the_plain_function(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%compile\nimport numba\n@numba.njit\ndef f(x): return x + 1\n"
        "@numba.njit(cache=False)\ndef g(x): return x + 2\nf(1), g(1)"
    )
    assert ran.value == (2, 3)
    assert not hasattr(notebook.ns["f"].py_func, "jit")


def test_a_name_from_a_class_body_can_decorate(notebook: Notebook) -> None:
    ran = notebook.run("%%compile\nclass A:\n    def d(f): return f\n    @d\n    def m(self): return 5\nA().m()")
    assert ran.value == 5
    assert hasattr(notebook.ns["A"].m, "jit")


@pytest.mark.parametrize("above", ["%%capture", "%%time"])
def test_another_cell_magic_above(above: str, notebook: Notebook) -> None:
    notebook.run(f"{above}\n%%compile\ndef f(): return f.__code__.co_firstlineno")
    assert hasattr(notebook.ns["f"], "jit")


def test_lines_count_from_the_top_below_another_magic(notebook: Notebook) -> None:
    assert "line 4" in notebook.run("%%time\n%%compile\n\n1 / 0").out


def test_an_indented_cell_keeps_its_lines(notebook: Notebook) -> None:
    assert "line 2" in notebook.run("    %%compile\n    1 / 0").out


def test_called_by_hand_it_has_a_file_of_its_own(notebook: Notebook) -> None:
    ran = notebook.run("x = 1\nget_ipython().run_cell_magic('compile', '', '1 / 0')")
    assert "<jitmagic-" in ran.out
    assert "----> 1 1 / 0" in ran.out


@pytest.mark.parametrize("kind", ["all", "last", "last_expr", "none", "last_expr_or_assign"])
@pytest.mark.parametrize("body", ["1\n2", "1\nx = 3", "x: int = 4", "for i in (1, 2):\n    i", "def f(): pass"])
def test_every_kind_of_interactivity(kind: str, body: str, open_notebook: Callable[..., Notebook]) -> None:
    outs = []
    for first in ("#", "%%compile"):
        notebook = open_notebook()
        notebook.shell.ast_node_interactivity = kind
        outs.append(notebook.run(f"{first}\n{body}").out)
        if first == "#" and kind != "none" and body == "1\n2":
            assert "2" in outs[0]
    if kind == "none":  # of the magic's own line the value is not shown either
        outs[1] = ""
    assert outs[0] == outs[1]


@pytest.mark.parametrize("line", ["-h", "--help", "  --help"])
def test_help_needs_no_body(notebook: Notebook, line: str) -> None:
    ran = notebook.run(f"%%compile {line}")
    assert "compile only these functions" in ran.out
    assert ran.err == ""


def test_guards_and_reasons_say_in_which_cell_a_helper_stands(notebook: Notebook) -> None:
    notebook.run("y = 1\ndef helper(x):\n    return x")
    assert cell_place(notebook.ns["helper"].__code__) == "Cell In[1], line 2"
    assert cell_place(cell_place.__code__) == ""

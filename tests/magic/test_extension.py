"""The extension as users load it, with the real compiler behind it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.magic.conftest import Notebook


@pytest.fixture
def loaded(open_notebook: Callable[..., Notebook]) -> Notebook:
    notebook = open_notebook(extension=False)
    assert notebook.run("%load_ext jitmagic\nimport numpy as np\nx = np.linspace(0.0, 1.0, 1000)").error is None
    return notebook


def test_a_cell_compiles_and_says_so(loaded: Notebook) -> None:
    ran = loaded.run("%%compile\ndef f(x):\n    y = x * x + 1\n    return y / 2\nf(x)")
    x = loaded.ns["x"]
    assert ran.value.tobytes() == ((x * x + 1) / 2).tobytes()
    (card,) = ran.shown
    assert card.startswith("f: ")
    assert loaded.ns["f"].jit.compiles == 1
    assert "In[2], line 2" in loaded.run("%jit").out


def test_a_recompile_is_told_below_the_cell_that_caused_it(loaded: Notebook) -> None:
    loaded.run("%%compile\ndef f(x):\n    return x * 2\nf(x)")
    (card,) = loaded.run("f(x.astype('f4'));").shown
    assert "recompiled at call 2 (Cell In[3], line 1): x.dtype was" in card


def test_an_exception_points_at_the_line_of_the_cell(loaded: Notebook) -> None:
    ran = loaded.run("%%compile -r none\n\ndef f(x, y):\n    z = x + y\n    return z\nf(x, x[:3])")
    assert isinstance(ran.error, ValueError)
    assert "Cell In[2], line 4, in f(x, y)" in ran.out
    assert "jitmagic" not in ran.out


def test_a_break_under_fullgraph_is_an_error(loaded: Notebook) -> None:
    cell = "def f(x):\n    y = -x\n    eval('1', {})\n    return y\nf(x)"
    assert loaded.run("%%compile -q\n" + cell).error is None
    assert type(loaded.run("%%compile --fullgraph\n" + cell).error).__name__ == "FullGraphError"


def test_an_unknown_backend_lists_the_known_ones(loaded: Notebook) -> None:
    assert "'numba', 'eager'" in loaded.run("%%compile --backend nope\ndef f(): pass").err


def test_reloading_leaves_one(loaded: Notebook) -> None:
    assert loaded.run("%reload_ext jitmagic").error is None
    (card,) = loaded.run("%%compile -r line\ndef f(x):\n    return x + 1\nf(x);").shown
    assert card.startswith("f: ")
    assert loaded.run("%unload_ext jitmagic").error is None
    assert "not found" in loaded.run("%%compile\n1").err

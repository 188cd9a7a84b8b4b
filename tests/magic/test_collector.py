"""Cards: which events are shown below which cell, and how."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from jitmagic.magic.loader import draw_card
from tests.magic import fakes
from tests.magic.conftest import Notebook

USE = "from tests.magic.fakes import compiled, recompiled, broke, kernel\n"


def define(notebook: Notebook, line: str = "", name: str = "f") -> None:
    notebook.run(USE)
    notebook.run(f"%%compile {line}\ndef {name}(): pass")


def test_a_card_is_shown_below_the_cell_that_compiled(notebook: Notebook) -> None:
    define(notebook)
    assert notebook.run("compiled(f)").shown == ["card of f (auto, fold)"]


def test_a_cell_in_which_nothing_happened_has_no_card(notebook: Notebook) -> None:
    define(notebook)
    assert notebook.run("f()").shown == []
    assert notebook.cards.calls == []


def test_the_value_is_shown_before_the_card(notebook: Notebook) -> None:
    order: list[str] = []
    notebook.run(USE)
    notebook.shell.displayhook.write_output_prompt = lambda: order.append("value")
    draw = notebook.cards.__call__
    notebook.ns["order"] = order
    collector = notebook.shell.magics_manager.registry["JitMagic"].cells.collector
    collector.draw = lambda *a: order.append("card") or draw(*a)
    notebook.run("%%compile\ndef f(): pass\ncompiled(f)\norder.append('print')\n5")
    assert order == ["print", "value", "card"]


def test_a_plain_cell_that_recompiles_has_the_card(notebook: Notebook) -> None:
    define(notebook, "--report full --graph open")
    assert notebook.run("recompiled(f)").shown == ["card of f (full, open)"]


def test_the_card_is_shown_below_a_cell_that_fails(notebook: Notebook) -> None:
    define(notebook)
    ran = notebook.run("compiled(f)\n1 / 0")
    assert isinstance(ran.error, ZeroDivisionError)
    assert ran.shown == ["card of f (auto, fold)"]


def test_cells_with_other_options_have_cards_of_their_own(notebook: Notebook) -> None:
    define(notebook, "--report full", "f")
    define(notebook, "--graph none", "g")
    shown = notebook.run("compiled(f); compiled(g); recompiled(f)").shown
    assert shown == ["card of f (full, fold)", "card of g (auto, none)"]


def test_no_card_where_the_cell_wants_none(notebook: Notebook) -> None:
    define(notebook, "-r none")
    assert notebook.run("compiled(f)").shown == []


def test_quiet_tells_only_what_needs_attention(notebook: Notebook) -> None:
    define(notebook, "-q")
    assert notebook.run("compiled(f)").shown == []
    assert notebook.run("compiled(f); broke(f)").shown == ["card of f (auto, fold)"]
    assert [type(e).__name__ for e in notebook.cards.calls[-1][0]] == ["BreakEvent"]


def test_the_session_can_show_no_card_at_all(notebook: Notebook) -> None:
    notebook.run('%config JitMagic.report = "none"')
    define(notebook, "--report full")
    assert notebook.run("compiled(f)").shown == []


def test_the_session_sets_what_cells_leave_open(notebook: Notebook) -> None:
    notebook.run('%config JitMagic.report = "line"')
    notebook.run('%config JitMagic.graph = "text"')
    define(notebook, "", "f")
    define(notebook, "-g open", "g")
    assert notebook.run("compiled(f)").shown == ["card of f (line, text)"]
    assert notebook.run("compiled(g)").shown == ["card of g (line, open)"]


def test_out_keeps_the_report_even_if_it_is_not_shown(notebook: Notebook) -> None:
    notebook.run(USE)
    notebook.run("%%compile -r none -o kept\ndef f(): pass\ncompiled(f)")
    assert str(notebook.ns["kept"]) == "card of f (none, fold)"
    notebook.run("compiled(f)")
    assert len(notebook.ns["kept"].events) == 1


def test_out_keeps_the_report_of_a_cell_that_fails(notebook: Notebook) -> None:
    notebook.run("%%compile -o kept\ndef f(): pass\n1 / 0")
    assert notebook.ns["kept"].events == []


def test_events_of_other_threads_are_shown_below_the_running_cell(notebook: Notebook) -> None:
    define(notebook)
    code = "import threading\nt = threading.Thread(target=compiled, args=(f,))\nt.start(); t.join()"
    assert notebook.run(code).shown == ["card of f (auto, fold)"]


def test_events_between_cells_are_shown_below_the_next_one(notebook: Notebook) -> None:
    define(notebook)
    fakes.compiled(notebook.ns["f"])
    assert notebook.run("1;").shown == ["card of f (auto, fold)"]


def test_another_thread_shows_nothing(notebook: Notebook) -> None:
    define(notebook)
    fakes.compiled(notebook.ns["f"])
    collector = notebook.shell.magics_manager.registry["JitMagic"].cells.collector
    thread = threading.Thread(target=collector.cell_ended)
    thread.start()
    thread.join()
    assert notebook.cards.calls == []
    assert notebook.run("1;").shown == ["card of f (auto, fold)"]


def test_cells_are_named_on_the_card(notebook: Notebook) -> None:
    define(notebook)
    notebook.run("recompiled(f)")
    assert list(notebook.cards.calls[-1][2].values()) == ["Cell In[2]"]


def test_a_card_that_fails_does_not_fail_the_cell(notebook: Notebook) -> None:
    define(notebook)
    collector = notebook.shell.magics_manager.registry["JitMagic"].cells.collector
    collector.draw = lambda *a: 1 / 0
    ran = notebook.run("compiled(f)\n7")
    assert ran.value == 7
    assert ran.error is None
    assert "the card could not be shown (ZeroDivisionError" in ran.err


def test_the_real_card_can_be_drawn(open_notebook: Callable[..., Notebook]) -> None:
    notebook = open_notebook()
    collector = notebook.shell.magics_manager.registry["JitMagic"].cells.collector
    collector.draw = draw_card
    define(notebook)
    (text,) = notebook.run("compiled(f)").shown
    assert text.startswith("f: 1 kernel")


def test_time_shows_each_called_function_on_copies(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%compile --time\nlog = []\ndef f(a, *b, c=1, **d):\n    log.append(a)\n    a.append(0)\n"
        "    print('called')\ndef g(): pass\nf([1], 2, c=3, e=4)\nf([5])"
    )
    assert ran.shown == ["time f ([1], 2) {'c': 3, 'e': 4}"]
    assert ran.out == "called\ncalled\n"


def test_time_leaves_the_random_streams_alone(open_notebook: Callable[..., Notebook]) -> None:
    values = []
    for options in ("", "--time"):
        notebook = open_notebook()
        notebook.run("import numpy as np, random\nnp.random.seed(1); random.seed(1)")
        notebook.run(f"%%compile {options}\ndef f(): return np.random.random(), random.random()\nf()")
        values.append(notebook.run("f()").value)
    assert values[0] == values[1]


@pytest.mark.parametrize("where", ["notebook", "terminal"])
def test_progress_is_shown_after_a_while_and_becomes_the_card(
    where: str, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jitmagic.magic import progress

    said: list[str] = []

    class Place:
        def update(self, value: object, raw: bool = False) -> None:
            said.append(f"update: {value}")

    def start(value: object) -> Place:
        said.append(f"show: {value}")
        return Place()

    monkeypatch.setattr(progress, "show_replaceable", start)
    monkeypatch.setattr(progress, "is_captured", lambda shell: False)
    if where == "notebook":
        monkeypatch.setattr(type(notebook.shell), "kernel", object(), raising=False)
    define(notebook)
    shown = notebook.run("kernel(f, 0.3); kernel(f, 0.3); kernel(f, 0.1)").shown
    card = "card of f (auto, fold)"
    line = "compiling f: {} kernels, {} s so far"
    if where == "terminal":
        assert (said, shown) == ([], [card])
    else:
        expected = [f"show: {line.format(2, 0.6)}", f"update: {line.format(3, 0.7)}", f"update: {card}"]
        assert (said, shown) == (expected, [])

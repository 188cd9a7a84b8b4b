"""A cell that is run again and again leaves no more behind than a plain one does."""

from __future__ import annotations

import gc
import linecache
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from jitmagic.magic.source import RelativeNames
from jitmagic.tracer import frame

CELL = (
    "%%compile\nimport numpy as np\n"
    "def f(x):\n    y = np.sqrt(x) + {}\n    open('/dev/null').close()\n    return y * 2\n"
    "def g(x):\n    return [f(each) for each in x]\n"
    "r = f(np.ones(10)); r = f(np.ones((2, 5))); r = g(np.ones((2, 5)))\n"
)


@pytest.fixture
def shell() -> Any:
    InteractiveShell.clear_instance()
    made: Any = InteractiveShell.instance()
    made.run_line_magic("load_ext", "jitmagic")
    yield made
    made.run_line_magic("unload_ext", "jitmagic")
    InteractiveShell.clear_instance()


def sizes(shell: Any) -> dict[str, int]:
    """Of the tables that a cell adds to; IPython itself keeps one text of each cell."""
    gc.collect()
    generated = [name for name in linecache.cache if name.startswith("<jitmagic")]
    return {
        "texts": len(linecache.cache) - len(shell.user_ns["In"]),
        "generated": len(generated),
        "nodes": len(frame._nodes),
        "pieces": len(frame._pieces),
    }


@pytest.mark.parametrize("text", ["1", "{}"], ids=["one text", "texts that differ"])
def test_definitions_leave_the_tables_as_they_are(text: str, shell: Any) -> None:
    def run(first: int, last: int) -> dict[str, int]:
        for number in range(first, last):
            with capture_output():
                shell.run_cell(CELL.format(text.format(number)), store_history=True).raise_error()
        return sizes(shell)

    before, after = run(0, 10), run(10, 75)
    assert {name: n for name, n in after.items() if n > before[name] + 5} == {}  # of 65 more; what the last one left
    collector = shell.magics_manager.registry["JitMagic"].cells.collector
    assert len(collector._options) <= 64
    assert len(collector._files) <= 2 * 64


def test_options_of_a_cell_hold_as_long_as_its_functions(shell: Any) -> None:
    with capture_output():
        shell.run_cell("%%compile --report line\nimport numpy as np\ndef kept(x): return x + 1\n")
        for number in range(200):
            shell.run_cell(f"%%compile\ndef f(x): return x + {number}\n")
        with capture_output() as shown:
            shell.run_cell("kept(np.ones(3))")
    collector = shell.magics_manager.registry["JitMagic"].cells.collector
    assert any(options.report == "line" for options in collector._options.values())
    assert len(collector._options) <= 64
    assert len(str(shown.outputs[-1]).splitlines()) == 1


def test_relative_names_are_those_of_the_latest_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linecache, "cache", {})
    names = RelativeNames()
    for number in range(300):
        linecache.cache[f"/no/such/{number}.py"] = (2, None, ["1\n"], "a cell")
        names.add(f"/no/such/{number}.py")
    assert len(linecache.cache) == 300 + 256
    assert names.known[-1].startswith("..")
    assert linecache.getline(names.known[-1], 1) == "1\n"

"""``%%compile`` above another cell magic compiles what that one runs, which does the rest as ever."""

from __future__ import annotations

from typing import Any

import pytest

from tests.magic.conftest import Notebook

_BODY = "def f(x):\n    return 1 / x\nprint('here')\nf(2)"


@pytest.mark.parametrize("magic", ["%%time", "%%capture kept", "%%prun -q -s name"])
def test_both_orders_do_the_same(magic: str, notebook: Notebook) -> None:
    results: list[Any] = []
    for head in (f"{magic}\n%%compile -q", f"%%compile -q\n{magic}"):
        notebook.ns.pop("f", None)
        ran = notebook.run(f"{head}\n{_BODY}")
        assert hasattr(notebook.ns["f"], "jit")
        kept = notebook.ns.get("kept")
        results.append((ran.value, "here" in ran.out, "Wall time" in ran.out, kept and kept.stdout, ran.err, ran.error))
    assert results[0] == results[1]


def test_an_error_is_at_the_same_line_in_both_orders(notebook: Notebook) -> None:
    """``%%capture`` runs its body as a cell of its own, whose first line is ``%%compile``."""
    for head in ("%%capture\n%%compile -q", "%%compile -q\n%%capture"):
        notebook.run(f"{head}\ndef f(x):\n    return 1 / x")
        ran = notebook.run("f(0)")
        assert isinstance(ran.error, ZeroDivisionError)
        entry = ran.error.__traceback__
        while entry is not None and entry.tb_next is not None:
            entry = entry.tb_next
        assert entry is not None
        assert (entry.tb_frame.f_code.co_name, entry.tb_lineno) == ("f", 3)


@pytest.mark.parametrize(("magic", "why"), [("%%timeit -n1 -r1", "time a call with %timeit"), ("%%html", "not run")])
def test_what_cannot_be_compiled_below_it_is_told(magic: str, why: str, notebook: Notebook) -> None:
    ran = notebook.run(f"%%compile\n{magic}\n{_BODY}")
    assert ran.error is None
    assert f"nothing is compiled below {magic.split()[0]}: " in ran.err
    assert why in ran.err

"""All panels behind tabs, and how they are reached."""

from __future__ import annotations

import sys
from typing import Any

import ipywidgets
import numpy as np
import pytest

import jitmagic as jm
from jitmagic_widgets import Explorer, explore

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_it_hangs_on_the_function(compiled: Any) -> None:
    found = compiled.jit.explore()
    assert isinstance(found, Explorer)
    assert found.tabs.titles == ("Guards", "Recompiles", "Cache", "Graph")
    assert type(explore(compiled)) is type(found)


def test_every_container_can_be_read_without_a_kernel(compiled: Any) -> None:
    """The live view, and what it says as HTML and as text, with nothing that a stranger's notebook may not do."""
    explorer = explore(compiled)
    for panel in (explorer, *explorer.panels):
        bundle = panel._repr_mimebundle_()
        assert set(bundle) == {WIDGET, "text/html", "text/plain"}
        assert "smooth" in bundle["text/plain"]
        assert "VBox(" not in bundle["text/plain"]
        assert not {"<script", "<style", "<svg"} & set(bundle["text/html"].split(">"))
    text = explorer._repr_mimebundle_()["text/plain"]
    assert "z.dtype" in text
    assert "float64 -> float32" in text


def test_refresh_brings_all_panels_up_to_date(compiled: Any) -> None:
    explorer = explore(compiled)
    compiled(np.arange(6))
    explorer.button.click()
    assert len(explorer.guards.picker.options) == len(explorer.cache.picker.options) == 3
    assert len(explorer.timeline.picker.options) == len(explorer.graph.entry.options) == 3


def test_dropping_the_entries_empties_the_other_panels(compiled: Any) -> None:
    explorer = explore(compiled)
    explorer.cache.clear.click()
    assert explorer.guards.picker.options == ()


def test_a_function_that_was_never_called_can_be_explored(fresh: Any) -> None:
    assert "nothing was compiled yet" in explore(fresh)._repr_mimebundle_()["text/plain"]


def test_a_plain_function_is_refused() -> None:
    with pytest.raises(jm.UserError, match="len is not compiled"):
        explore(len)


def test_without_ipywidgets_it_says_what_to_install(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("jitmagic_widgets", "ipywidgets")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(jm.UserError, match="pip install ipywidgets, or use report"):
        compiled.jit.explore()


def test_only_core_widgets_are_used(compiled: Any) -> None:
    """They need no custom widget manager, so they work in every front end."""

    def below(widget: Any) -> list[Any]:
        return [widget, *(w for child in getattr(widget, "children", ()) for w in below(child))]

    kinds = {widget._model_module for widget in below(explore(compiled))}
    assert kinds == {"@jupyter-widgets/controls"}
    assert isinstance(explore(compiled), ipywidgets.VBox)

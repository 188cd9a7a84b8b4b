"""The graph panel."""

from __future__ import annotations

import base64
import re
from typing import Any

from jitmagic_widgets import GraphPanel
from tests.widgets.reading import words


def picture(panel: GraphPanel) -> str:
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', panel.picture.value)
    assert found
    return base64.b64decode(found.group(1)).decode()


def test_the_picked_node_is_outlined(compiled: Any) -> None:
    panel = GraphPanel(compiled.jit)
    before = picture(panel)
    panel.node.value = panel.node.options[-1][1]
    after = picture(panel)
    assert before != after
    assert before.count('stroke-width="3.5"') == after.count('stroke-width="3.5"') == 1
    assert panel.node.options[-1][0].split()[0] in words(panel.about.value)


def test_the_graph_of_another_entry_can_be_picked(compiled: Any) -> None:
    panel = GraphPanel(compiled.jit)
    assert "float32" in picture(panel)
    panel.entry.value = 1
    assert "float64" in picture(panel)


def test_without_a_graph_it_says_so(fresh: Any) -> None:
    assert "no graph was captured yet" in words(GraphPanel(fresh.jit).about.value)

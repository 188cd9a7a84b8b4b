"""The panels in a running notebook: how they are asked for, and which variables they offer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jitmagic_widgets import Explorer
from tests.magic.conftest import Notebook
from tests.widgets.reading import words

CELL = "%%compile {options}\ndef smooth(z):\n    return (z[1:] + z[:-1]) / 2\nsmooth(x);"


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    opened = Notebook(extension=False)
    opened.run("%load_ext jitmagic\nimport numpy as np\nx = np.linspace(0.0, 1.0, 100)")
    yield opened
    opened.close()


def test_the_verb_gives_the_widget(notebook: Notebook) -> None:
    """Its fields offer the variables of the notebook, also those made by the cell before."""
    notebook.run(CELL.format(options="--backend eager"))
    notebook.run("later = x.astype('f4')")
    found = notebook.run("%jit explore smooth").value
    assert isinstance(found, Explorer)
    field = found.guards.arguments.fields["z"]
    assert field.options == ("later", "x")
    field.value = "later"
    assert "z.dtype" in words(found.guards.verdict.value)
    assert notebook.ns["smooth"].jit.compiles == 1


def test_a_card_may_bring_it(notebook: Notebook) -> None:
    """The card comes first, with its static picture; the terminal shows what the widget says as text."""
    card, panel = notebook.run(CELL.format(options="--backend eager --graph widget")).shown
    assert card.startswith("smooth: ")
    assert "entry 0" in panel
    assert "z (argument)" in panel
    assert len(notebook.run("smooth(x);").shown) == 0


def test_places_have_the_names_of_cells(notebook: Notebook) -> None:
    """In the verbs as on the card, and in the timeline."""
    notebook.run(CELL.format(options="--backend eager"))
    notebook.run("smooth(x.astype('f4'));")
    assert "(Cell In[3], line 1)" in notebook.run("%jit why smooth").out
    timeline = notebook.run("%jit explore smooth").value.timeline
    assert "called from Cell In[3], line 1" in words(timeline.details.value)

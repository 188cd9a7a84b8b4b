"""Takes views of ``jitmagic.report``, gives them as widgets; containers that readers without a kernel can read too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from jitmagic.report.parts import Part
from jitmagic.report.view import View

__all__ = ["Panel", "Parts", "Written", "offer", "shown"]


class Parts(View):
    """The view of some parts, made when they are asked for."""

    def __init__(self, make: Callable[[], Sequence[Part]]) -> None:
        self._make = make

    def parts(self) -> Sequence[Part]:
        return self._make()


class Written:
    """For panels: beside the live widget their bundle holds what they say as HTML and as text.

    That is what a saved notebook shows without a kernel, on a page, and to readers who do not trust it.
    """

    def written(self) -> View:
        """What the panel says when nothing in it can be clicked."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        live = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # the widget's, next in line
        return {**(live or {}), **self.written()._repr_mimebundle_()}


class Panel(Written, ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A column of widgets about one compiled function; ``refresh`` brings it up to date."""

    def refresh(self) -> None:
        """Read the function's records again."""
        raise NotImplementedError


def shown(*parts: Part) -> str:
    """The HTML of these parts; a part that cannot be drawn costs a line, not the panel."""
    # Widgets give their text the line height of a button.
    return f'<div style="line-height:1.4">{Parts(lambda: parts).html}</div>'


def offer(selection: Any, labels: Sequence[str], *, newest: bool = False) -> None:
    """Let ``selection`` offer these labels, with their positions as values.

    What was picked stays picked if it is still there; else the first one is, or with ``newest`` the last one.
    """
    before = selection.value
    selection.options = [(label, index) for index, label in enumerate(labels)]
    if labels:
        kept = before is not None and before < len(labels) and not newest
        selection.value = before if kept else (len(labels) - 1 if newest else 0)

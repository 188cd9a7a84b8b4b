"""Takes a compiled function, gives all panels about it behind tabs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets

from jitmagic.errors import UserError
from jitmagic.report.parts import Part, Rule
from jitmagic.report.view import View
from jitmagic.report.words import short_name
from jitmagic.runtime.handle import Handle, handle_of
from jitmagic_widgets.cache import CacheBrowser
from jitmagic_widgets.graph import GraphPanel
from jitmagic_widgets.inspector import GuardInspector
from jitmagic_widgets.panel import Panel, Parts
from jitmagic_widgets.timeline import RecompileTimeline

__all__ = ["Explorer", "explore"]


class Explorer(Panel):
    """Guards, recompiles, cache and graph of one function; Refresh brings all of them up to date."""

    def __init__(self, handle: Handle, namespace: Mapping[str, Any] | None = None) -> None:
        self._handle = handle
        self.guards = GuardInspector(handle, namespace)
        self.timeline = RecompileTimeline(handle)
        self.cache = CacheBrowser(handle)
        self.graph = GraphPanel(handle)
        self.button = ipywidgets.Button(description="Refresh", icon="refresh")
        self.button.on_click(lambda _: self.refresh())
        tabs = {"Guards": self.guards, "Recompiles": self.timeline, "Cache": self.cache, "Graph": self.graph}
        self.tabs = ipywidgets.Tab(list(tabs.values()), titles=list(tabs), selected_index=0)
        title = ipywidgets.Label(f"{short_name(handle.record.name)}", style={"font_weight": "bold"})
        super().__init__([ipywidgets.HBox([title, self.button]), self.tabs])
        self.cache.clear.on_click(lambda _: self.refresh())

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The panels behind the tabs, in order."""
        return tuple(self.tabs.children)

    def refresh(self) -> None:
        for panel in self.panels:
            panel.refresh()

    def written(self) -> View:
        return Parts(self._static_parts)

    def _static_parts(self) -> list[Part]:
        parts: list[Part] = []
        for panel in self.panels:
            parts += [*([Rule()] if parts else []), *panel.written().parts()]
        return parts


def explore(function: Any, namespace: Mapping[str, Any] | None = None) -> Explorer:
    """All panels about a compiled function (or its ``.jit``).

    ``namespace`` holds the variables offered as arguments; by default the notebook's. Raises UserError for a function
    that is not compiled.
    """
    handle = function if isinstance(function, Handle) else handle_of(function)
    if handle is None:
        name = getattr(function, "__qualname__", repr(function))
        raise UserError(f"{name} is not compiled; put %%compile on top of its cell, or @jitmagic.compile above its def")
    return Explorer(handle, namespace)

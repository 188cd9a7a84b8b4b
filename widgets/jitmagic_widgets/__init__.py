"""Takes compiled functions, gives panels of plain ipywidgets that show them; what a panel says is static HTML too."""

from jitmagic_widgets.cache import CacheBrowser
from jitmagic_widgets.explorer import Explorer, explore
from jitmagic_widgets.graph import GraphPanel
from jitmagic_widgets.inspector import GuardInspector
from jitmagic_widgets.timeline import RecompileTimeline

__all__ = ["CacheBrowser", "Explorer", "GraphPanel", "GuardInspector", "RecompileTimeline", "explore"]

"""Takes events and records, gives cards, tables, pictures and text; needs no notebook."""

from jitmagic.report.card import Report
from jitmagic.report.drawing import Box, Drawing
from jitmagic.report.explanation import Explanation, FrozenRecord, LayerRecord
from jitmagic.report.graphtext import read_graph, read_pieces
from jitmagic.report.guide import GuideView
from jitmagic.report.sources import SourceText
from jitmagic.report.story import gather
from jitmagic.report.views import (
    BreaksView,
    CheckRecord,
    CheckView,
    Difference,
    EntryGuards,
    FunctionRow,
    FunctionsTable,
    GraphView,
    GuardsView,
    SourceView,
    TimeRecord,
    TimeView,
    WhyView,
)

__all__ = [
    "Box",
    "BreaksView",
    "CheckRecord",
    "CheckView",
    "Difference",
    "Drawing",
    "EntryGuards",
    "Explanation",
    "FrozenRecord",
    "FunctionRow",
    "FunctionsTable",
    "GraphView",
    "GuardsView",
    "GuideView",
    "LayerRecord",
    "Report",
    "SourceText",
    "SourceView",
    "TimeRecord",
    "TimeView",
    "WhyView",
    "gather",
    "read_graph",
    "read_pieces",
]

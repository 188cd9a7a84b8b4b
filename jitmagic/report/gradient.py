"""Takes the story of one function, gives the section about its derivatives: both directions, what is kept between."""

from __future__ import annotations

from itertools import zip_longest

from jitmagic.events import GradientRecord
from jitmagic.report.parts import Details, Mono, Paragraph, Part, Table
from jitmagic.report.story import Story
from jitmagic.report.terms import Setting
from jitmagic.report.words import memory, plural

__all__ = ["gradient_sections"]

_SHOWN_LINES = 60  # of each graph


def gradient_sections(story: Story, setting: Setting) -> list[Part]:
    """One folded section for each compile that has derivatives."""
    return [_section(event.gradient) for event in story.compiles if event.gradient is not None]


def _section(found: GradientRecord) -> Details:
    own = [s for s in found.saved if not s.is_argument]
    total = memory(sum(s.size_bytes for s in own))
    line = f"gradient: {plural(len(own), 'value')} kept from forward to backward, {total}"
    pairs = list(zip_longest(found.forward.splitlines(), found.backward.splitlines(), fillvalue=""))
    graphs = Table(("forward", "backward"), tuple((Mono(a), Mono(b)) for a, b in pairs[:_SHOWN_LINES]))
    rows = tuple(
        (Mono(s.name), s.description, "an argument" if s.is_argument else memory(s.size_bytes)) for s in found.saved
    )
    kept = Table(("kept", "what", "memory"), rows, right=frozenset({"memory"}))
    body: list[Part] = [graphs, kept]
    if len(pairs) > _SHOWN_LINES:
        more = f"{len(pairs) - _SHOWN_LINES} more lines of the graphs; the compile event of "
        body.insert(1, Paragraph((more, Mono("jitmagic.events"), " has them all, in ", Mono("gradient"))))
    return Details((line,), body, text=(line,))

"""Takes the verbs of ``%jit``, gives the page of ``%jit help``: what to type, and what the words of a card mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitmagic.report.guardwords import GUARD_KINDS
from jitmagic.report.parts import Details, Mono, Paragraph, Part, Strong, Table
from jitmagic.report.terms import STATUSES, TERMS
from jitmagic.report.view import View

__all__ = ["GuideView"]


class GuideView(View):
    """``verbs`` maps each verb to what it shows."""

    def __init__(self, verbs: Mapping[str, str]) -> None:
        self._verbs = dict(verbs)

    def parts(self) -> Sequence[Part]:
        """Verbs, words, kinds of guards, and what kernels return."""
        verbs = Table(("verb", "what it shows"), tuple((Mono(verb), shows) for verb, shows in self._verbs.items()))
        return [
            Paragraph((Strong("%jit"), " alone lists all compiled functions; ", Strong("%jit VERB NAME ..."), ":")),
            verbs,
            _section("words on a card", TERMS),
            _section("kinds of guards", GUARD_KINDS),
            _section("what a kernel returns", STATUSES),
        ]


def _section(title: str, meanings: Mapping[str, str]) -> Details:
    """A sentence for each word: a table would be too wide for a terminal."""
    told = [Paragraph((Strong(word), f": {meaning}")) for word, meaning in sorted(meanings.items())]
    return Details((Strong(title),), told, open=True)

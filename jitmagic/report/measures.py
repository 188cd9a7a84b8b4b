"""Takes one measured or checked call, gives the views of ``f.jit.time`` and ``f.jit.check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jitmagic.report.parts import Inline, Mono, Paragraph, Part, Strong, Table
from jitmagic.report.view import View
from jitmagic.report.words import duration, plural, ratio, short_name

__all__ = ["CheckRecord", "CheckView", "Difference", "TimeRecord", "TimeView"]


@dataclass(frozen=True, slots=True)
class TimeRecord:
    """Measured times of one call, plain and compiled, and of compiling; medians of ``repeats``
    calls. ``compile_ns`` is everything that was spent on compiling the function, ``now_ns`` the part of it that this
    very call needed. ``is_demoted``: plain Python won, and serves such calls from now on.
    """

    function: str
    plain_ns: int
    compiled_ns: int
    compile_ns: int = 0
    repeats: int = 1
    now_ns: int = 0
    is_demoted: bool = False

    @property
    def speedup(self) -> float:
        """Plain time over compiled time."""
        return self.plain_ns / self.compiled_ns if self.compiled_ns else float("inf")

    @property
    def break_even_calls(self) -> int | None:
        """Calls after which compiling has paid; None if it never does."""
        saved = self.plain_ns - self.compiled_ns
        return -(-(self.now_ns or self.compile_ns) // saved) if saved > 0 else None


class TimeView(View):
    """Plain and compiled time of the same call, and when compiling has paid."""

    def __init__(self, record: TimeRecord) -> None:
        self.record = record

    def parts(self) -> Sequence[Part]:
        r = self.record
        rows = (
            ("plain NumPy", duration(r.plain_ns)),
            ("compiled", duration(r.compiled_ns)),
            *((("compiling for this call, once", duration(r.now_ns)),) if r.now_ns else ()),
            *((("compiling until now, in all", duration(r.compile_ns)),) if r.compile_ns > r.now_ns else ()),
        )
        table = Table((f"a call (median of {r.repeats})", "time"), rows, right=frozenset({"time"}))
        return [Paragraph((Strong(short_name(r.function)), ": ", *self._verdict())), table]

    def _verdict(self) -> list[Inline]:
        r = self.record
        if r.break_even_calls is None:
            slower = ratio(r.compiled_ns, r.plain_ns)
            verdict: list[Inline] = [Strong(f"compiled takes {slower} as long", "bad"), " here"]
            return [*verdict, "; such calls run as plain Python from now on"] if r.is_demoted else verdict
        verdict = [Strong(f"{ratio(r.plain_ns, r.compiled_ns)} as fast", "good")]
        if r.compile_ns:
            verdict.append(f"; compiling has paid after {plural(r.break_even_calls, 'call')}")
        return verdict


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which plain and compiled differ: ``what`` (``result[0]``, ``x afterwards``),
    both as text.
    """

    what: str
    plain: str
    compiled: str


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """Plain and compiled compared on one call. ``refused`` says why nothing was run, ``raised`` what both raised;
    ``compared`` counts values.
    """

    function: str
    differences: tuple[Difference, ...] = ()
    compared: int = 0
    refused: str = ""
    raised: str = ""

    @property
    def same(self) -> bool:
        """Whether the check was made and found no difference."""
        return not self.differences and not self.refused


class CheckView(View):
    """Whether the compiled call gave what the plain call gives."""

    def __init__(self, record: CheckRecord) -> None:
        self.record = record

    def __bool__(self) -> bool:
        return self.record.same

    def parts(self) -> Sequence[Part]:
        r = self.record
        name = Strong(short_name(r.function))
        if r.refused:
            return [Paragraph((name, ": ", Strong("not checked", "bad"), f", {r.refused}"))]
        if r.same:
            if r.raised:
                return [
                    Paragraph((name, ": ", Strong("same answer", "good"), f" as plain NumPy: both raise {r.raised}"))
                ]
            compared = f", {plural(r.compared, 'value')} compared bit for bit" if r.compared else ""
            return [Paragraph((name, ": ", Strong("same answer", "good"), f" as plain NumPy{compared}"))]
        count = plural(len(r.differences), "difference")
        rows = tuple((d.what, Mono(d.plain), Mono(d.compiled)) for d in r.differences)
        return [
            Paragraph((name, ": ", Strong(f"{count} from plain NumPy", "bad"), "; please report it")),
            Table(("what", "plain", "compiled"), rows),
        ]

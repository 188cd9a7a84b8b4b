"""Takes nothing, gives made-up events of a few typical cells, for the tests of the report."""

from __future__ import annotations

from jitmagic.errors import Span
from jitmagic.events import (
    BreakEvent,
    CompileEvent,
    DemotionEvent,
    EffectRecord,
    Event,
    FallbackEvent,
    GuardRecord,
    KernelEvent,
    RecompileEvent,
)
from jitmagic.report import SourceText

CELL = "cells/4.py"
CALLER = "cells/7.py"

CELL_TEXT = """\
# %%compile
def smooth(x, y, a=2.0):
    t = np.sin(a * x) + y
    m = np.where(x > 0, t, y)
    s = m.sum()
    print("sum", s, file=log)
    return np.sqrt(s)


def blur(a):
    return (a[1:] + a[:-1]) / 2


class Model:
    def forward(self, x):
        return x @ self.w
"""

SOURCES = {
    CELL: SourceText.of("Cell In[4]", CELL_TEXT),
    CALLER: SourceText.of("Cell In[7]", "z = x.astype('f4')\n\nsmooth(z, z)\n"),
}

GRAPH = """\
%x = input x                        float64[1000]
%y = input y                        float64[1000]
%a = input a                        float64[]
%mul = multiply(%a, %x)             float64[1000]  k0  line 3
%sin = sin(%mul)                    float64[1000]  k0  line 3
%add = add(%sin, %y)                float64[1000]  k0  line 3
%c = constant 0                     int64[]
%gt = greater(%x, %c)               bool[1000]     k0  line 4
%where = where(%gt, %add, %y)       float64[1000]  k0  line 4
%sum = sum(%where)                  float64[]      k0  line 5
return %sum"""

GUARDS = (
    GuardRecord("x.dtype", "ARRAY_MATCH", "x", "float64", Span(CELL, 2, 11)),
    GuardRecord("x.shape", "ARRAY_MATCH", "x", "(1000,)"),
    GuardRecord("type(a)", "TYPE_MATCH", "smooth.__defaults__[0]", "float"),
)

KERNEL_SOURCE = """\
def k0(args, lo, hi):
    for i in range(lo, hi):
        t = a * x[i] < 0 and "&" or y
"""


def compiled(
    *,
    resume: int = 0,
    entry: int = 0,
    call: int = 1,
    lines: tuple[tuple[int, str], ...] = ((3, "k0"), (4, "k0"), (5, "k0")),
    guards: tuple[GuardRecord, ...] = GUARDS,
    effects: tuple[EffectRecord, ...] = (),
    graph: str = GRAPH,
    elapsed_ns: int = 610_000_000,
) -> CompileEvent:
    """One compile of ``smooth``."""
    return CompileEvent(
        function="smooth",
        owner=1,
        span=Span(CELL, 2),
        entry=entry,
        call=call,
        resume=resume,
        node_count=7,
        kernel_count=1,
        extern_count=0,
        elapsed_ns=elapsed_ns,
        guards=guards,
        effects=effects,
        graph_text=graph,
        lines=lines,
    )


def broken(count: int = 1) -> list[BreakEvent]:
    """The graph break at the print."""
    span = Span(CELL, 6, 4, 6, 29)
    reason = "print to an open file cannot be kept in order"
    hint = "print after the call, or without file="
    return [BreakEvent("smooth", 1, span, "JM102", reason, hint) for _ in range(count)]


def recompiled(then: str = "float64", now: str = "float32", call: int = 2, guard: str = "x.dtype") -> RecompileEvent:
    """A call of ``smooth`` that did not fit."""
    return RecompileEvent(
        function="smooth",
        owner=1,
        span=Span(CELL, 2),
        call=call,
        guard=guard,
        source="argument x",
        then=then,
        now=now,
        cost_ns=410_000_000,
        remedy="cast once where the data comes in",
        caller=Span(CALLER, 3),
    )


def kernel(name: str = "k0", cached: bool = False) -> KernelEvent:
    """The kernel of ``smooth``."""
    return KernelEvent("smooth", 1, Span(CELL, 3), name, 61_000_000, cached, KERNEL_SOURCE)


def blurred() -> CompileEvent:
    """A compile of ``blur``, which needs no attention."""
    return CompileEvent(
        function="blur",
        owner=2,
        span=Span(CELL, 10),
        entry=0,
        call=1,
        resume=0,
        node_count=3,
        kernel_count=1,
        extern_count=0,
        elapsed_ns=4_800_000,
        guards=GUARDS[:2],
        lines=((11, "k0"),),
    )


def quiet_cell() -> list[Event]:
    """Everything went well."""
    return [kernel(), compiled()]


def eventful_cell() -> list[Event]:
    """Every kind of event."""
    effects = (EffectRecord("log.append(...)", Span(CELL, 5)),)
    return [
        *broken(2),
        kernel(),
        compiled(effects=effects),
        compiled(resume=7, lines=((7, "k1"),), guards=GUARDS[2:], graph="", elapsed_ns=230_000_000),
        blurred(),
        recompiled(),
        *(recompiled("(8,)", f"({n},)", n, "x.shape") for n in range(9, 15)),
        FallbackEvent("Model.forward", 3, Span(CELL, 15), "its class is defined in C", "use jm.nn"),
        DemotionEvent("smooth", 1, Span(CELL, 2), 1, 42_000, 8_000),
    ]

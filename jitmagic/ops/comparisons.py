"""Takes nothing, gives the rows of comparisons, logic and tests of floats."""

from __future__ import annotations

import numpy as np

from jitmagic.ops.elementwise import NOTHING, ufunc_row
from jitmagic.ops.lowering import Pointwise
from jitmagic.ops.record import Form, Sample
from jitmagic.ops.samples import integers, reals

__all__: list[str] = []

INVALID = frozenset({"invalid"})  # ordering a NaN

COMPARISONS = (
    ("equal", "a == b", "biufc", "__eq__"),
    ("not_equal", "a != b", "biufc", "__ne__"),
    ("less", "a < b", "biuf", "__lt__"),
    ("less_equal", "a <= b", "biuf", "__le__"),
    ("greater", "a > b", "biuf", "__gt__"),
    ("greater_equal", "a >= b", "biuf", "__ge__"),
)
LOGIC = (
    ("logical_and", "(a != 0) and (b != 0)"),
    ("logical_or", "(a != 0) or (b != 0)"),
    ("logical_xor", "(a != 0) != (b != 0)"),
    ("logical_not", "a == 0"),
)
TESTS = (
    ("isnan", Pointwise("a != a", "fc")),
    ("isinf", Pointwise("isinf(a)", "f")),
    ("isfinite", Pointwise("isfinite(a)", "f")),
    ("signbit", Pointwise("signbit(a)", "f")),
)

for _name, _expression, _kinds, _method in COMPARISONS:
    ufunc_row(
        _name,
        lower=Pointwise(_expression, _kinds),
        forms=(Form(_method),),
        warns=INVALID,
        samples=integers(2),
        note="integers of different signedness are compared exactly, by NumPy's own loop",
    )
for _name, _expression in LOGIC:
    ufunc_row(_name, lower=Pointwise(_expression, "biuf"), warns=NOTHING, samples=integers(2 - (_name[8:] == "not")))
for _name, _lower in TESTS:
    ufunc_row(_name, lower=_lower, warns=NOTHING, samples=reals())
ufunc_row("isnat", warns=NOTHING, samples=(Sample(lambda rng: (np.array(["2020-01-01", "NaT"], "M8[D]"),)),))

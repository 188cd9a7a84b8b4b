"""The ways to write an operation mean the same: methods, operators, other functions, and their canonical form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops import Arguments, Form, Op, all_ops, by_name, lookup, lookup_attribute, lookup_method
from tests.ops.variations import copied, outcome

# `1j + np.float64(2)` asks complex first, not `np.float64.__radd__`: reflected methods are not called by name.
FORMS = [
    (row, form)
    for row in all_ops()
    for form in row.forms
    if row.samples and not str(form.target).startswith("generic.__r")
]


def written(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call as a user writes it."""
    if not isinstance(form.target, str):
        return form.target(*args, **kwargs)
    name = form.target.removeprefix("generic.")
    value = getattr(args[0], name)
    return value(*args[1:], **kwargs) if callable(value) else value


def canonical(row: Op, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same call in the form that graphs hold."""
    found = lookup_method(form.target) if isinstance(form.target, str) else lookup(form.target)
    assert found is not None
    assert found[0] is row
    adapt = found[1].adapt
    args, kwargs = adapt(*args, **kwargs) if adapt else (args, kwargs)
    return row.call(*args, **kwargs)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if a is None or b is None:
        return a is b
    return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def arguments_for(form: Form, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``compress`` and ``choose`` have the array in another place."""
    return (args[1], args[0], *args[2:]) if form.target == "compress" else args


@pytest.mark.parametrize(("row", "form"), FORMS, ids=lambda v: str(getattr(v, "target", v)).split(" at ")[0])
def test_every_form_means_its_row(row: Op, form: Form) -> None:
    for sample in row.samples:
        args = arguments_for(form, sample.args(np.random.default_rng(5)))
        if isinstance(form.target, str) and not isinstance(args[0], np.ndarray | np.generic):
            continue
        one, two = copied(args), copied(args)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real, error = outcome(lambda: written(form, one, dict(sample.kwargs)))  # noqa: B023 - called at once
            found, refused = outcome(lambda: canonical(row, form, two, dict(sample.kwargs)))  # noqa: B023 - the same
        if error is None and real is not NotImplemented:
            assert refused is None
            assert same(real, found)
            assert all(same(a, b) for a, b in zip(one, two, strict=True) if isinstance(a, np.ndarray))


def test_outputs_by_position_get_their_name() -> None:
    x, out = np.arange(3.0), np.zeros(3)
    for function, args in ((np.add, (x, x, out)), (np.cumsum, (x, 0, None, out)), (np.sum, (x, None, None, out))):
        found = lookup(function)
        assert found is not None
        assert found[1].adapt is not None
        positional, named = found[1].adapt(*args)
        assert named["out"] is out
        assert not any(a is out for a in positional)


def test_attributes_that_give_arrays_have_rows() -> None:
    assert {name for name in ("T", "mT", "real", "imag", "shape", "sum") if lookup_attribute(name)} == {
        "T",
        "mT",
        "real",
        "imag",
    }


def test_power_with_known_exponents_stands_for_cheaper_rows() -> None:
    """As ``ndarray.__pow__`` does: square for 2, of every dtype; sqrt and reciprocal for floats only."""
    row = by_name("pow")

    def stands_for(array: Any, exponent: Any) -> str:
        assert row.stands_for is not None
        found = row.stands_for(Arguments(row, (ArrayMeta.of(array), exponent), {}, ShapeEnv()))
        assert found is not None
        return found[0].name

    for array in (np.ones(3), np.ones(3, "f4"), np.ones(3, "i4")):
        for exponent in (2, 0.5, -1, 3, 2.0, 1.5):
            probe = stands_for(array, exponent)
            kept = (array,) if probe != "power" else (array, exponent)
            real, error = outcome(lambda: array**exponent)  # noqa: B023 - called at once
            if error is None:
                assert same(real, by_name(probe).call(*kept))
    assert stands_for(np.ones(3), 2) == "square"
    assert stands_for(np.ones(3), 1.5) == "power"

"""Overlapping arguments: synthetic bases, the guard that holds on to the relation, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from jitmagic.aot import aot_eager, compile_inference
from jitmagic.aot.overlap import analyse_overlap
from jitmagic.errors import Unsupported
from jitmagic.ops.registry import by_name
from tests.aot.recorder import Recorder, assert_same


def data(n: int = 12) -> np.ndarray[Any, Any]:
    return np.arange(float(n))


def reversed_pair() -> list[Any]:
    a = data()
    return [a, a[::-1]]


@pytest.mark.parametrize("written", [0, 1])
def test_a_write_to_one_alias_is_seen_through_the_other(written: int) -> None:
    """Row A19: ``a[0] = 7.0; return a - b`` with ``b = a[::-1]``."""
    r = Recorder(reversed_pair())
    r.call("setitem", r.inputs[written], 0, 7.0)
    graph = r.output(r.call("subtract", *r.inputs), *r.inputs)
    compiled = assert_same(graph, reversed_pair)
    assert len(compiled.pure_graph.inputs) == 1
    assert [c.argument for c in compiled.plan.copy_backs] == [written]
    assert "base0: the memory that x0, x1 share" in str(compiled.plan)


def test_both_aliases_written_and_an_unrelated_argument_between() -> None:
    def inputs() -> list[Any]:
        a = data(24).reshape(4, 6)
        return [a[1:, ::2], data(3), a.T[1:4], data(3)]

    r = Recorder(inputs())
    x, y, z, w = r.inputs
    r.call("add", x, y, out=x)
    r.call("multiply", z, 2.0, out=z)
    r.call("add", w, 1.0, out=w)
    r.call("add", x, w, out=x)
    assert_same(r.output(r.call("sum", z), r.call("getitem", x, 1), w), inputs)


def test_the_owner_itself_among_the_arguments() -> None:
    """Row A22."""

    def inputs() -> list[Any]:
        a = data()
        return [a, a[3:].reshape(3, 3)]

    r = Recorder(inputs())
    x, y = r.inputs
    r.call("setitem", x, slice(2, 6), -1.0)
    assert_same(r.output(r.call("sum", y), y, r.call("transpose", y)), inputs)


def test_one_array_in_two_places_and_a_view_of_it() -> None:
    """Row A26, for callers that do not pass one object once as the tracer does."""

    def inputs() -> list[Any]:
        a = data()
        return [a, a, a[1:]]

    r = Recorder(inputs())
    x, same, part = r.inputs
    r.call("multiply", same, 3.0, out=same)
    assert_same(r.output(r.call("sum", x), r.call("sum", part), x, same), inputs)


@pytest.mark.parametrize("cut", [(slice(0, 6), slice(6, None)), (slice(None, None, 2), slice(1, None, 2))])
def test_parts_that_do_not_overlap_are_not_merged(cut: Any) -> None:
    """Row A21: halves and interleaved parts."""

    def inputs() -> list[Any]:
        a = data()
        return [a[cut[0]], a[cut[1]]]

    r = Recorder(inputs())
    r.call("add", *r.inputs, out=r.inputs[0])
    compiled = assert_same(r.output(), inputs)
    assert not compiled.plan.guard.groups
    assert compiled.plan.guard.disjoint == ((0, 1),)


def test_nothing_is_merged_or_guarded_if_nothing_is_written() -> None:
    r = Recorder(reversed_pair())
    compiled = assert_same(r.output(r.call("add", *r.inputs)), reversed_pair)
    assert not compiled.plan.guard


def test_the_relation_is_guarded_both_ways() -> None:
    """Row A23: an entry for separate arguments is not used for overlapping ones, and the reverse."""
    a = data()
    apart, together = analyse_overlap([a, data()], [0]), analyse_overlap([a, a[::-1]], [0])
    assert apart.holds([data(), data()])
    assert not apart.holds([a, a[::-1]])
    assert together.holds(reversed_pair())
    assert not together.holds([a, data()])
    assert not together.holds([a, a])
    assert not together.holds([a[1:], a[::-1][1:]])


def bits_and_numbers() -> list[Any]:
    a = data(8)
    return [a, a.view(np.int64)]


def halves_of_numbers() -> list[Any]:
    a = data(8)
    return [a.view(np.uint8).reshape(4, 2, 8)[::-1, :, :5], a[2:6], data(3), a.view("i4")[3:13:2]]


def parts_of_complex_numbers() -> list[Any]:
    z = np.arange(6) * (1 + 2j)
    return [z.imag[::-1], z, z.view(float)[2:8]]


def single_precision_and_flags() -> list[Any]:
    a = np.arange(6, dtype="f4")
    return [a[1::2], a.view(bool)[:0], a.view("M8[s]"), a.view("u2").reshape(6, 2).T]


@pytest.mark.parametrize("written", [0, 1, 3])
@pytest.mark.parametrize(
    "inputs", [bits_and_numbers, halves_of_numbers, parts_of_complex_numbers, single_precision_and_flags]
)
def test_aliases_with_another_dtype_share_a_base_of_bytes(inputs: Any, written: int) -> None:
    """Row A22."""
    given = inputs()
    written = min(written, len(given) - 1)
    r = Recorder(given)
    target, copies = r.inputs[written], [r.call(by_name("copy"), x) for x in r.inputs]
    r.call("setitem", target, slice(1, 3), r.call("getitem", target, slice(0, 1)))
    r.call("setitem", r.inputs[0], Ellipsis, r.call("getitem", r.inputs[0], slice(None, None, -1)))
    compiled = assert_same(r.output(*copies, *(r.call(by_name("copy"), x) for x in r.inputs), *r.inputs), inputs)
    assert "base0" in str(compiled.plan)


def test_aliases_with_another_dtype_are_guarded() -> None:
    a = data()
    guard = analyse_overlap(pair := [a, a.view(np.int64)], [0])
    assert guard.holds(pair)
    assert guard.holds(bits_and_numbers()) is False  # fewer elements
    b = data()
    assert guard.holds([b, b.view(np.int64)])
    assert not guard.holds([b, b.view(np.uint64)])
    assert not guard.holds([b, b])
    assert not guard.holds([b, data().view(np.int64)])
    assert not guard.holds([b.view(np.int64), b])


def test_aliases_that_no_base_can_express_are_refused() -> None:
    """Row A22: then the function runs plainly."""
    a = data()
    with pytest.raises(Unsupported, match="aliased-inputs: p and q, whose elements start at different bytes,"):
        analyse_overlap([a[1:], a.view("u1")[11:19].view(float)], [0], names=["p", "q"])
    with pytest.raises(Unsupported, match="whose elements start at different bytes"):
        analyse_overlap([a[1:], a.view("f4")[1:]], [0])  # the base would not be aligned
    with pytest.raises(Unsupported, match="which hold objects"):
        analyse_overlap([o := np.array([1, None]), o[1:]], [0])
    assert not analyse_overlap([a, a.view(np.int64)], [])


def test_a_written_array_that_overlaps_itself_is_refused_and_guarded() -> None:
    a = data()
    window = sliding_window_view(a, 3, writeable=True)
    with pytest.raises(Unsupported, match="the elements of argument 0"):
        analyse_overlap([window], [0])
    assert not analyse_overlap([as_strided(a, (4, 3), (24, 8))], [0]).holds([window])


def test_a_constant_that_shares_memory_with_a_written_argument_is_refused() -> None:
    a = data()
    with pytest.raises(Unsupported, match="argument 0 and an array held by the code"):
        analyse_overlap([a], [0], [a[2:]])
    assert not analyse_overlap([data()], [0], [a[2:]]).holds([a])


def test_empty_arguments_share_nothing() -> None:
    def inputs() -> list[Any]:
        a = data()
        return [a, a[3:3]]

    r = Recorder(inputs())
    r.call("add", r.inputs[0], 1.0, out=r.inputs[0])
    assert not assert_same(r.output(r.call("sum", r.inputs[1])), inputs).plan.guard.groups


def test_writes_kept_in_the_graph_leave_bases_to_the_epilogue() -> None:
    def inputs() -> list[Any]:
        return [*reversed_pair(), data(5)]

    r = Recorder(inputs())
    a, b, c = r.inputs
    r.call("add", a, b, out=a)
    r.call("add", c, 1.0, out=c)
    compiled = assert_same(r.output(r.call("sum", b)), inputs, keep_input_mutations=True)
    assert compiled.plan.kept == (2,)
    assert [copy.argument for copy in compiled.plan.copy_backs] == [0]


def test_the_compiled_call_runs_on_other_arrays_in_the_same_relation() -> None:
    r = Recorder(reversed_pair())
    a, b = r.inputs
    r.call("subtract", a, b, out=a)
    compiled = compile_inference(r.output(), reversed_pair(), aot_eager)
    big = np.linspace(0, 1, 40)[10:22]
    expected = big - big[::-1]
    compiled.run([big, big[::-1]])
    assert np.array_equal(big, expected)

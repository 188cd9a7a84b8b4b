"""compile_inference: the caller sees what a plain run shows, and the pure graph has no writes."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from jitmagic.aot import aot_eager, compile_inference
from jitmagic.errors import InternalError, Unsupported, UserError
from jitmagic.graph import PyMeta, print_graph
from tests.aot.recorder import Recorder, assert_same
from tests.aot.rows import METHODS, ROWS

ALL = slice(None)


def fresh(shape: Any = (3, 4), dtype: Any = float) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape).copy()


def record(*arguments: Any) -> tuple[Recorder, list[Any]]:
    r = Recorder(arguments)
    return r, r.inputs


def assert_pure(graph: Any) -> None:
    assert not [n for n in graph.nodes if n.written()], print_graph(graph)


def test_mutated_input_is_an_extra_output_and_is_copied_back() -> None:
    """Row A01: ``x -= 1; return np.exp(x)``."""
    r, (x,) = record(fresh())
    r.call("subtract", x, 1.0, out=x)
    compiled = assert_same(r.output(r.call("exp", x)), lambda: [fresh()])
    assert len(compiled.pure_graph.outputs) == 2
    assert_pure(compiled.pure_graph)
    assert str(compiled.plan) == "x0: written\nout0: new"


def test_many_writes_give_one_copy_back_and_reads_see_their_moment() -> None:
    """Row A02: ``a = x.sum(); x += 1; b = x.sum(); x *= 2``."""
    r, (x,) = record(fresh())
    a = r.call("sum", x)
    r.call("add", x, 1.0, out=x)
    b = r.call("sum", x)
    r.call("multiply", x, 2.0, out=x)
    compiled = assert_same(r.output(a, b), lambda: [fresh()])
    assert len(compiled.plan.copy_backs) == 1


def test_overlapping_views_of_one_array_follow_numpys_overlap_rule() -> None:
    """Row A03: ``x[1:] += x[:-1]`` on 0..4 gives 0, 1, 3, 5, 7."""
    r, (x,) = record(fresh(5))
    target = r.call("getitem", x, slice(1, None))
    r.call("add", target, r.call("getitem", x, slice(None, -1)), out=target)
    r.call("setitem", x, slice(1, None), target)
    compiled = assert_same(r.output(x), lambda: [fresh(5)])
    assert [n.op.name for n in compiled.pure_graph.calls() if n.op] == ["getitem", "getitem", "add", "update"]
    values = fresh(5)
    compiled.run([values])
    assert values.tolist() == [0, 1, 3, 5, 7]


def test_a_part_assigned_to_another_part_is_written() -> None:
    """Only ``x[i] = x[i]`` changes nothing."""
    r, (x,) = record(fresh(6))
    r.call("setitem", x, slice(0, 3), r.call("getitem", x, slice(3, None)))
    r.call("setitem", r.call("getitem", x, slice(1, 4)), slice(0, 2), r.call("getitem", x, slice(0, 2)))
    assert_same(r.output(), lambda: [fresh(6)])


def test_a_row_is_a_part_and_an_element_takes_no_array() -> None:
    r, (x, y) = record(fresh(), fresh(4))
    r.call("setitem", x, 1, y)
    compiled = assert_same(r.output(), lambda: [fresh(), fresh(4)])
    assert "update(%x0, %x1, (.getitem((1, Ellipsis)),))" in print_graph(compiled.pure_graph)
    r, (x, y) = record(fresh(3), fresh(1))
    r.graph.call(ROWS["setitem"], (x, 1, y), {}, None)
    with pytest.raises((TypeError, ValueError), match="array"):
        compile_inference(r.output(), [fresh(3), fresh(1)], aot_eager).run([fresh(3), fresh(1)])


def test_a_part_assigned_to_itself_changes_nothing() -> None:
    r, (x,) = record(fresh(6))
    r.call("setitem", x, slice(0, 3), r.call("getitem", x, slice(0, 3)))
    compiled = assert_same(r.output(), lambda: [fresh(6)])
    assert compiled.pure_graph.outputs == []


def test_reversal_in_place_reads_before_it_writes() -> None:
    """``a[:] = a[::-1]``."""
    r, (x,) = record(fresh(5))
    r.call("setitem", x, ALL, r.call("getitem", x, slice(None, None, -1)))
    assert_same(r.output(), lambda: [fresh(5)])


@pytest.mark.parametrize("fortran", [False, True])
def test_writes_through_views_reach_the_owner_and_writes_into_copies_do_not(fortran: bool) -> None:
    """Row A03: ``x.T[0] = 1``, ``x.reshape(-1)[2] = v``, ``x.T.reshape(-1)[1] = 9`` of C and Fortran arrays."""

    def inputs() -> list[Any]:
        return [np.asfortranarray(fresh()) if fortran else fresh()]

    r, (x,) = record(*inputs())
    r.call("setitem", r.call("transpose", x), 0, 1.0)
    r.call("setitem", r.call("reshape", x, (-1,)), 2, 7.0)
    r.call("setitem", r.call("reshape", r.call("transpose", x), (-1,)), 1, 9.0)
    assert_same(r.output(r.call("sum", x)), inputs)


def test_advanced_indices_and_masks_are_written() -> None:
    r, (x, m) = record(fresh(), fresh() % 3 == 0)
    r.call("setitem", x, (np.array([0, 2]), 1), 5.0)
    r.call("setitem", r.call("transpose", x), r.call("transpose", m), -1.0)
    r.call("setitem", x, np.array([[0, 0]]), fresh(4))
    assert_same(r.output(r.call("sum", x)), lambda: [fresh(), fresh() % 3 == 0])


def test_other_writes_run_on_copies() -> None:
    r, (x, y) = record(fresh(6)[::-1], fresh(6, int))
    r.call(METHODS.sort, r.call("getitem", x, slice(1, 5)))
    r.call(METHODS.fill, r.call("getitem", y, slice(0, 2)), 7)
    r.call("copyto", x, 3.0, where=r.call("getitem", x, slice(None, None, -1)).meta.dtype.type(1) > 0)
    r.call(METHODS.cumsum, x, out=x)
    r.call("exp", r.call("getitem", x, slice(0, 3)), out=r.call("getitem", x, slice(3, 6)))
    assert_same(r.output(x), lambda: [fresh(6)[::-1], fresh(6, int)])


def test_two_outputs_given_at_once() -> None:
    """``np.divmod(x, 3, out=(a, b))`` gives a and b themselves."""

    def inputs() -> list[Any]:
        return [fresh(4, int), fresh(4, int), fresh((4, 2), int)]

    r, (x, a, c) = record(*inputs())
    b = r.call("getitem", c, (ALL, 0))
    first, second = r.call(METHODS.divmod, x, 3, out=(a, b))
    assert_same(r.output(first, second, a), inputs)


def test_a_call_may_write_and_give_several_results() -> None:
    """As a loop that is kept as a loop does."""

    def loop(table: Any, row: Any) -> tuple[float, Any]:
        table[1:] += table[:-1]
        row[:] = table[0]
        return float(table.sum()), table.max(axis=0)

    r, (x, y) = record(fresh(), fresh(4))
    made = METHODS.copy
    row = type(made)("loop", loop, made.meta, writes=(0, 1))
    call = r.graph.call(row, (r.call("flip", x), y), {}, None)
    total = r.graph.item(call, 0, PyMeta(float))
    most = r.graph.item(call, 1, y.meta)
    compiled = assert_same(r.output(total, most, r.call("sum", y)), lambda: [fresh(), fresh(4)])
    assert_pure(compiled.pure_graph)


def test_where_keeps_the_unselected_elements() -> None:
    r, (x, m) = record(fresh(), fresh() > 5)
    r.call("add", x, 1.0, out=x, where=m)
    assert_same(r.output(), lambda: [fresh(), fresh() > 5])


def test_out_of_another_dtype_is_cast() -> None:
    r, (x, y) = record(fresh(5, np.float32), fresh(5))
    r.call("multiply", x, y, out=x)
    compiled = assert_same(r.output(x), lambda: [fresh(5, np.float32), fresh(5) + 0.1])
    assert [n.op.name for n in compiled.pure_graph.calls() if n.op] == ["multiply", "update"]


def test_an_error_of_the_program_leaves_the_arguments_as_they_were() -> None:
    """Row A04, the compiled side: everything that may fail comes before the first write."""
    r, (x, i) = record(fresh(5), 2)
    r.call("add", x, 1.0, out=x)
    graph = r.output(r.call("getitem", x, i))
    compiled = compile_inference(graph, [fresh(5), 2], aot_eager)
    values = fresh(5)
    with pytest.raises(IndexError):
        compiled.run([values, 99])
    assert values.tolist() == [0, 1, 2, 3, 4]


def test_a_lost_view_with_a_bad_index_still_fails_before_the_write() -> None:
    """The view is an output: it is made before anything is written."""
    r, (x, i) = record(fresh(), 2)
    r.call("add", x, 1.0, out=x)
    compiled = compile_inference(r.output(r.call("getitem", x, i)), [fresh(), 2], aot_eager)
    values = fresh()
    with pytest.raises(IndexError):
        compiled.run([values, 99])
    assert values[0, 1] == 1.0


def test_outputs_that_are_views_of_inputs_are_made_from_the_callers_array() -> None:
    """Row A11: ``x[1:].T``, and read-only views stay read-only."""
    r, (x,) = record(fresh())
    v = r.call("transpose", r.call("getitem", x, slice(1, None)))
    wide = r.call("broadcast_to", x, (2, 3, 4))
    compiled = assert_same(r.output(v, wide, r.call("diagonal", x)), lambda: [fresh()])
    values = fresh()
    got, read_only, _ = compiled.run([values])
    assert got.base is values
    assert not read_only.flags.writeable
    assert str(compiled.plan).splitlines()[0] == "out0: view of x0: .getitem(1:).transpose()"


def test_an_output_that_is_an_input_is_the_same_object() -> None:
    """Row A12: also after ``x += 1``; a full slice is a new view."""
    r, (x,) = record(fresh())
    r.call("add", x, 1.0, out=x)
    same = r.call("squeeze", x)
    graph = r.output(x, same, r.call("real", x), r.call("getitem", x, Ellipsis), r.call("reshape", x, (-1,)))
    compiled = assert_same(graph, lambda: [fresh()])
    values = fresh()
    first, second, third, fourth, fifth = compiled.run([values])
    assert first is second is third is values
    assert fourth is not values
    assert fifth.base is values


def test_views_of_an_intermediate_share_it_and_it_is_returned_once() -> None:
    """Rows A13 and A14: ``y = x*2; return y, y[0], y.T``, and ``(x*2).reshape(-1)`` alone."""
    r, (x,) = record(fresh())
    y = r.call("multiply", x, 2.0)
    graph = r.output(y, r.call("getitem", y, 0), r.call("transpose", y))
    compiled = assert_same(graph, lambda: [fresh()])
    assert len(compiled.pure_graph.outputs) == 1
    r, (x,) = record(fresh())
    compiled = assert_same(r.output(r.call("reshape", r.call("multiply", x, 2.0), (-1,))), lambda: [fresh()])
    assert compiled.run([fresh()])[0].base.shape == (3, 4)


def test_one_array_twice_is_one_object_and_equal_arrays_stay_separate() -> None:
    """Row A15: ``return y, y`` and ``return x + 1, x + 1``."""
    r, (x,) = record(fresh())
    a, b = r.call("add", x, 1.0), r.call("add", x, 1.0)
    compiled = assert_same(r.output(a, a, b), lambda: [fresh()])
    first, again, other = compiled.run([fresh()])
    assert first is again
    assert not np.shares_memory(first, other)


def test_an_array_filled_from_another_stays_separate() -> None:
    """Found by the random programs: the new value of ``y`` is no name for the value that is copied into it."""
    r, (x,) = record(fresh())
    y = r.call(METHODS.copy, x)
    r.call("copyto", y, r.call("transpose", r.call("transpose", x)))
    assert_same(r.output(y), lambda: [fresh()])


def test_views_and_bases_that_cse_could_merge_stay_separate() -> None:
    r, (x,) = record(fresh())
    a, b = r.call("add", x, 1.0), r.call("add", x, 1.0)
    assert_same(r.output(r.call("getitem", a, 0), r.call("getitem", b, 0), r.call("transpose", b)), lambda: [fresh()])


def test_a_backend_with_another_memory_layout_still_gives_views() -> None:
    """Row A17."""

    def fortran(graph: Any, examples: Any) -> Any:
        run = aot_eager(graph)
        return lambda arguments: [np.asfortranarray(v) for v in run(arguments)]

    r, (x,) = record(fresh())
    y = r.call("multiply", x, 2.0)
    flat = r.call("reshape", y, (-1,))
    r.call("setitem", flat, 3, -1.0)
    assert_same(r.output(y, flat), lambda: [fresh()], fortran)


def test_a_returned_view_can_be_written_later() -> None:
    """Row A18: ``y = f(x); y[0] = 5`` changes x."""
    r, (x,) = record(fresh())
    compiled = assert_same(r.output(r.call("getitem", x, 1)), lambda: [fresh()])
    values = fresh()
    compiled.run([values])[0][0] = 5.0
    assert values[1, 0] == 5.0


def test_writes_kept_in_the_graph_are_final_copies() -> None:
    """Row A10: same results, and the graph ends in a copy into x."""
    r, (x, y) = record(fresh(), fresh())
    r.call("add", x, y, out=x)
    graph = r.output(r.call("exp", x), x)
    compiled = assert_same(graph, lambda: [fresh(), fresh()], keep_input_mutations=True)
    last = compiled.pure_graph.nodes[-1]
    assert last.op is not None
    assert last.op.name == "copy_into"
    assert compiled.plan.copy_backs == ()
    assert compiled.plan.donated == (0,)
    assert "x0: written, in the graph, may be computed in place" in str(compiled.plan)


def test_an_input_whose_old_value_is_read_later_is_not_donated() -> None:
    r, (x,) = record(fresh())
    old = r.call("transpose", x)
    kept = r.call(METHODS.copy, old)
    r.call("add", x, 1.0, out=x)
    graph = r.output(r.call("add", kept, 1.0))
    assert assert_same(graph, lambda: [fresh()], keep_input_mutations=True).plan.donated == (0,)
    r, (x,) = record(fresh())
    new = r.call("add", x, 1.0)
    later = r.call("sum", x)
    r.call("setitem", x, Ellipsis, new)
    assert_same(r.output(later), lambda: [fresh()], keep_input_mutations=True)


def test_arguments_die_as_soon_as_the_program_is_done_with_them() -> None:
    """Row A40: the list is emptied, and a popped argument dies in mid-run."""
    alive: list[bool] = []
    r, (x, y) = record(fresh(), fresh())
    z = r.call("add", x, y)
    ask = METHODS.__dict__["copy"]

    def watch(array: Any) -> Any:
        alive.append(watched() is not None)
        return array.copy()

    probe = type(ask)("probe", watch, ask.meta)
    node = r.graph.call(probe, (z,), {}, z.meta)
    compiled = compile_inference(r.output(node), [fresh(), fresh()], aot_eager)

    class Watched(np.ndarray[Any, Any]):
        """An array that weak references can point at."""

    arguments: list[Any] = [fresh().view(Watched), fresh()]
    watched = weakref.ref(arguments[0])
    compiled.run(arguments)
    assert arguments == []
    assert alive == [False]


def test_a_plain_program_is_boxed_and_a_boxed_one_is_left_alone() -> None:
    """Row A40."""
    r, (x,) = record(fresh())
    graph = r.output(r.call("add", x, 1.0))
    plain = assert_same(graph, lambda: [fresh()], lambda g, e: lambda arguments: [arguments[0] + 1.0])
    assert plain.program is not None
    assert getattr(plain.program, "boxed", False)
    boxed = aot_eager(graph)
    assert compile_inference(graph, [fresh()], lambda g, e: boxed).program is boxed


def test_a_wrong_number_of_results_or_arguments_is_an_error() -> None:
    """Row A41."""
    r, (x,) = record(fresh())
    r.call("add", x, 1.0, out=x)
    graph = r.output(r.call("exp", x))
    compiled = compile_inference(graph, [fresh()], lambda g, e: lambda arguments: [arguments[0]])
    with pytest.raises(UserError, match="gave 1 results where the graph has 2 outputs"):
        compiled.run([fresh()])
    with pytest.raises(InternalError, match="takes 1 arguments, got 2"):
        compiled.run([fresh(), fresh()])


def test_a_write_into_a_constant_of_the_code_is_refused() -> None:
    r, (x,) = record(fresh())
    held = r.graph.constant(fresh(), None)
    node_meta = x.meta
    r.graph.nodes[-1].meta = node_meta
    r.call("add", held, x, out=held)
    with pytest.raises(Unsupported, match="store: writing into an array held by the code"):
        compile_inference(r.output(held), [fresh()], aot_eager)


@pytest.mark.filterwarnings("ignore:future versions will not create:FutureWarning")  # looking at the flag warns
def test_entries_of_a_tuple_are_views_of_the_right_operands() -> None:
    """``array_split`` gives views of one operand, ``broadcast_arrays`` of one operand each, or the operand itself."""

    def inputs() -> list[Any]:
        return [fresh(), fresh(4), fresh()]

    r, (x, y, z) = record(*inputs())
    first, second = r.call("array_split", x, 2, 1)
    r.call("add", first, 1.0, out=first)
    bx, by = r.call("broadcast_arrays", z, y)
    r.call("setitem", y, 0, 9.0)
    total = r.call("add", by, second[0] if isinstance(second, tuple) else bx)
    assert_same(r.output(first, second, bx, by, total), inputs)


def test_zero_sizes_and_zero_dimensions() -> None:
    def inputs() -> list[Any]:
        return [np.zeros((0, 3)), np.array(2.0)]

    r, (x, s) = record(*inputs())
    r.call("add", x, s, out=x)
    r.call("multiply", s, 3.0, out=s)
    graph = r.output(r.call("getitem", x, (ALL, 1)), s, r.call("getitem", s, Ellipsis), r.call("sum", x))
    assert_same(graph, inputs)


def test_scalars_are_read_when_they_are_read() -> None:
    r, (x,) = record(fresh(4))
    before = r.call("getitem", x, 1)
    r.call("setitem", x, 1, 50.0)
    after = r.call("getitem", x, 1)
    assert_same(r.output(before, after), lambda: [fresh(4)])


@pytest.mark.parametrize("layout", ["reversed", "strided", "column", "transposed"])
def test_values_after_a_write_are_read_in_the_layout_of_the_array(layout: str) -> None:
    """NumPy's exp and sum depend on strides in their last bits; an updated value keeps those of its original."""

    def inputs() -> list[Any]:
        data = np.linspace(-3, 3, 4096)
        table = data.reshape(64, 64).copy()
        return [{"reversed": data[::-1], "strided": data[::3], "column": table[:, 3], "transposed": table.T}[layout]]

    r, (x,) = record(*inputs())
    r.call("multiply", x, 1.1, out=x)
    assert_same(r.output(r.call("exp", x), r.call("sum", x), r.call(METHODS.cumsum, x)), inputs)


def test_what_only_numpys_order_of_reading_and_writing_could_tell_is_refused() -> None:
    """An ``out=`` that overlaps an operand of a function that gives no promise, or two outputs in one array."""
    r, (x,) = record(fresh((3, 3)))
    part = r.call("getitem", x, 0)
    r.call(METHODS.take, x, np.array([1]), axis=0, out=r.call("getitem", x, slice(0, 1)))
    with pytest.raises(Unsupported, match="take_ with an operand in its output"):
        compile_inference(r.output(part), [fresh((3, 3))], aot_eager)
    r, (x,) = record(fresh((2, 3), int))
    r.call(METHODS.divmod, 7, 2, out=(r.call("getitem", x, 0), r.call("getitem", x, 1)))
    with pytest.raises(Unsupported, match="divmod_ with outputs in one array"):
        compile_inference(r.output(), [fresh((2, 3), int)], aot_eager)

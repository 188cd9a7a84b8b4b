"""Events are filed by function, and what repeats is folded."""

from __future__ import annotations

from dataclasses import replace

from jitmagic.errors import Span
from jitmagic.report.story import distinct_breaks, fold_recompiles, gather
from tests.report.scenes import (
    CELL,
    blurred,
    broken,
    compiled,
    eventful_cell,
    quiet_cell,
    recompiled,
)


def test_each_owner_has_its_story_in_order_of_appearance() -> None:
    assert [s.function for s in gather(eventful_cell())] == ["smooth", "blur", "Model.forward"]


def test_two_functions_with_one_name_are_kept_apart() -> None:
    assert len(gather([compiled(), replace(compiled(), owner=9)])) == 2


def test_resumed_pieces_belong_to_their_function() -> None:
    (story,) = gather([compiled(resume=7, lines=((7, "k1"),)), compiled()])
    assert [p.resume for p in story.pieces] == [0, 7]
    assert story.marks == {3: "k0", 4: "k0", 5: "k0", 7: "k1"}


def test_a_later_compile_replaces_the_earlier_one_of_the_same_piece() -> None:
    (story,) = gather([compiled(), compiled(entry=1, lines=((3, "extern"),))])
    assert [p.entry for p in story.pieces] == [1]
    assert len(story.compiles) == 2


def test_a_break_marks_its_line() -> None:
    (story,) = gather([compiled(lines=((6, "python"),)), *broken()])
    assert story.marks[6] == "break"


def test_a_break_in_another_file_marks_no_line() -> None:
    elsewhere = replace(broken()[0], span=Span("library.py", 6))
    (story,) = gather([compiled(), elsewhere])
    assert 6 not in story.marks


def test_only_what_teaches_something_needs_attention() -> None:
    assert not gather(quiet_cell())[0].needs_attention
    assert not gather([blurred()])[0].needs_attention
    for event in (broken()[0], recompiled()):
        assert gather([event])[0].needs_attention
    assert [s.needs_attention for s in gather(eventful_cell())] == [True, False, True]


def test_the_same_break_twice_is_one_with_a_count() -> None:
    other = replace(broken()[0], span=Span(CELL, 5))
    assert [n for _, n in distinct_breaks([*broken(2), other])] == [2, 1]


def test_identical_recompiles_fold_with_their_cost_added() -> None:
    (cause,) = fold_recompiles([recompiled(call=n) for n in (2, 4, 6)])
    assert (cause.count, cause.calls, cause.cost_ns) == (3, (2, 4, 6), 1_230_000_000)
    assert (cause.then, cause.now) == ("float64", "float32")
    assert len(cause.callers) == 1


def test_a_few_different_values_are_listed_one_by_one() -> None:
    events = [recompiled(str(n), str(n + 1), n, "n") for n in range(3)]
    assert [c.now for c in fold_recompiles(events)] == ["1", "2", "3"]


def test_a_guard_that_keeps_changing_becomes_one_cause_with_its_values() -> None:
    events = [recompiled(str(n), str(n + 1), n, "n") for n in range(9)]
    (cause,) = fold_recompiles(events)
    assert (cause.count, cause.then) == (9, "0")
    assert cause.now == "1, 2, 3, ... 9 (9 values)"


def test_causes_come_in_the_order_of_their_calls() -> None:
    events = [recompiled(call=2), recompiled(call=3, guard="x.ndim"), recompiled("a", "b", 4)]
    assert [c.calls for c in fold_recompiles(events)] == [(2,), (3,), (4,)]

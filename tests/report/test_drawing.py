"""A drawing refuses nonsense and folds by group."""

from __future__ import annotations

from itertools import pairwise

import pytest

from jitmagic.report.drawing import FOLD_LIMIT, Box, Drawing


def chain(count: int, group: str = "k0") -> Drawing:
    """One input, ``count`` operations of one group, one output."""
    names = ["x", *(f"v{i}" for i in range(count)), "out"]
    middle = (Box(n, "add", "f64[8]", "op", group) for n in names[1:-1])
    boxes = [Box("x", "x", role="input"), *middle, Box("out", "return", role="output")]
    return Drawing.of(boxes, pairwise(names))


def test_an_unknown_role_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'opp' is not one of input, constant"):
        Box("a", "a", role="opp")


def test_two_boxes_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="two boxes share the id 'a'"):
        Drawing.of([Box("a", "a"), Box("a", "b")])


def test_an_arrow_into_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no box at one of its ends"):
        Drawing.of([Box("a", "a")], [("a", "b")])


def test_a_drawing_up_to_the_limit_is_left_alone() -> None:
    drawing = chain(FOLD_LIMIT - 2)
    assert drawing.fitting() is drawing


def test_a_large_drawing_folds_to_one_box_for_each_group() -> None:
    folded = chain(FOLD_LIMIT).fitting()
    assert [(b.label, b.sub) for b in folded.nodes] == [
        ("x", ""),
        ("k0", "60 operations"),
        ("return", ""),
    ]
    assert folded.edges == (("x", "group k0"), ("group k0", "out"))
    assert folded.note == "folded: 62 nodes drawn as 3 boxes"


def test_operations_without_group_fold_into_one_box() -> None:
    folded = chain(100, group="").folded()
    assert [b.label for b in folded.nodes] == ["x", "100 operations", "return"]


def test_breaks_are_never_folded_away() -> None:
    boxes = [Box(f"b{i}", "print", role="break", group="k0") for i in range(70)]
    assert Drawing.of(boxes).fitting().nodes == tuple(boxes)


def test_a_crowd_of_inputs_becomes_one_box() -> None:
    inputs = [Box(f"x{i}", f"x{i}", role="input") for i in range(40)]
    work = [Box(f"v{i}", "add", group="k0") for i in range(40)]
    folded = Drawing.of([*inputs, *work], [(f"x{i}", f"v{i}") for i in range(40)]).fitting()
    assert [b.label for b in folded.nodes] == ["40 inputs", "k0"]
    assert len(folded.edges) == 1


def test_constants_fold_away_with_the_work_that_reads_them() -> None:
    boxes = [Box("c", "2.0", role="constant"), Box("v", "add"), Box("w", "sum", role="reduction")]
    assert [b.label for b in Drawing.of(boxes).folded().nodes] == ["2 operations"]


def test_a_picture_is_described_in_words() -> None:
    assert chain(3).describe() == "5 boxes (1 input, 3 operations, 1 output)"

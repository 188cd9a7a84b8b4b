"""Boxes never overlap, arrows keep out of boxes, small graphs have no needless crossings."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitmagic.report.layout import Placement, place

Sizes = dict[str, tuple[float, float]]
Edges = list[tuple[str, str]]

ROUNDING = 1e-6


@st.composite
def graphs(draw: st.DrawFn, acyclic: bool = True) -> tuple[Sizes, Edges]:
    """Up to 24 boxes of any sensible size with random arrows."""
    count = draw(st.integers(1, 24))
    side = st.floats(10, 240, allow_nan=False)
    sizes = {f"n{i}": (draw(side), draw(side)) for i in range(count)}
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = draw(st.lists(pair, max_size=3 * count))
    if acyclic:
        pairs = [(min(p), max(p)) for p in pairs if p[0] != p[1]]
    return sizes, [(f"n{a}", f"n{b}") for a, b in pairs]


def random_dag(count: int, seed: int) -> tuple[Sizes, Edges]:
    rng = random.Random(seed)
    sizes = {f"n{i}": (rng.uniform(40, 160), rng.choice([26.0, 36.0])) for i in range(count)}
    edges = [(f"n{rng.randrange(max(0, i - 40), i)}", f"n{i}") for i in range(1, count) for _ in range(2)]
    return sizes, edges


def assert_apart(sizes: Sizes, placed: Placement) -> None:
    """No two boxes touch."""
    for a, b in combinations(sizes, 2):
        (ax, ay), (bx, by) = placed.centres[a], placed.centres[b]
        clear_x = abs(ax - bx) - (sizes[a][0] + sizes[b][0]) / 2
        clear_y = abs(ay - by) - (sizes[a][1] + sizes[b][1]) / 2
        assert clear_x > 1 or clear_y > 1, (a, b)


def assert_inside(sizes: Sizes, placed: Placement) -> None:
    """Every box lies within the picture."""
    for name, (width, height) in sizes.items():
        x, y = placed.centres[name]
        assert x - width / 2 >= -1e-6
        assert x + width / 2 <= placed.width + 1e-6
        assert y - height / 2 >= -1e-6
        assert y + height / 2 <= placed.height + 1e-6


def assert_routes_clear(sizes: Sizes, placed: Placement) -> None:
    """Arrows start and end at their boxes, and straight pieces keep out of all other boxes."""
    for (start, end), points in placed.routes.items():
        assert len(points) % 2 == 0
        assert points[0][0] == pytest.approx(placed.centres[start][0])
        assert points[-1][0] == pytest.approx(placed.centres[end][0])
        for (x, y), (_, y2) in zip(points[::2], points[1::2], strict=True):
            for name, (width, height) in sizes.items():
                if name in (start, end):
                    continue
                cx, cy = placed.centres[name]
                beside = abs(x - cx) >= width / 2 - ROUNDING
                above = max(y, y2) <= cy - height / 2 + ROUNDING
                assert beside or above or min(y, y2) >= cy + height / 2 - ROUNDING


@settings(max_examples=60)
@given(graphs())
def test_random_graphs_are_drawn_without_overlap(graph: tuple[Sizes, Edges]) -> None:
    sizes, edges = graph
    placed = place(sizes, edges)
    assert set(placed.centres) == set(sizes)
    assert set(placed.routes) == set(edges)
    assert_apart(sizes, placed)
    assert_inside(sizes, placed)
    assert_routes_clear(sizes, placed)


@settings(max_examples=40)
@given(graphs())
def test_arrows_of_an_acyclic_graph_point_down(graph: tuple[Sizes, Edges]) -> None:
    placed = place(*graph)
    for points in placed.routes.values():
        heights = [round(y, 6) for _, y in points]
        assert heights == sorted(heights)


@settings(max_examples=40)
@given(graphs(acyclic=False))
def test_cycles_are_drawn_and_loops_left_out(graph: tuple[Sizes, Edges]) -> None:
    sizes, edges = graph
    placed = place(sizes, edges)
    assert set(placed.routes) == {e for e in edges if e[0] != e[1]}
    assert_apart(sizes, placed)
    assert_routes_clear(sizes, placed)


SQUARE = (40.0, 26.0)


@pytest.mark.parametrize(
    ("edges", "crossings"),
    [
        (["ac", "ad", "bc", "bd"], 1),  # K2,2 cannot do with fewer
        (["ad", "bc"], 0),
        (["ax", "bx", "cx", "xd", "xe"], 0),
        (["ae", "bd", "cf", "dg", "eg", "fg"], 0),
        (["ab", "bc", "cd", "ad", "ac"], 0),
        (["ad", "ae", "af", "bd", "be", "bf", "cd", "ce", "cf"], 9),  # K3,3
    ],
)
def test_small_graphs_have_the_fewest_crossings(edges: list[str], crossings: int) -> None:
    names = sorted(set("".join(edges)))
    assert place(dict.fromkeys(names, SQUARE), [(e[0], e[1]) for e in edges]).crossings == crossings


def crossings_by_pairs(placed: Placement) -> int:
    """Crossings counted one pair of curves at a time."""
    curves = [(points[i], points[i + 1]) for points in placed.routes.values() for i in range(1, len(points) - 1, 2)]
    return sum(
        (a[0] - c[0]) * (b[0] - d[0]) < -1e-9
        for (a, b), (c, d) in combinations(curves, 2)
        if a[1] == c[1] and b[1] == d[1]
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_crossing_count_is_what_the_picture_shows(seed: int) -> None:
    placed = place(*random_dag(14, seed))
    assert placed.crossings == crossings_by_pairs(placed)


def test_an_input_stands_just_above_its_first_use() -> None:
    sizes = dict.fromkeys("abcdz", SQUARE)
    placed = place(sizes, [("a", "b"), ("b", "c"), ("c", "d"), ("z", "d")])
    assert placed.centres["z"][1] == placed.centres["c"][1]


def test_a_chain_is_straight_whatever_hangs_below_it() -> None:
    edges = ["xa", "ya", "ab", "bc", "cd", "dp", "dq", "dr", "ds", "dt", "pt"]
    placed = place(dict.fromkeys("xyabcdpqrst", SQUARE), [(e[0], e[1]) for e in edges])
    across = [placed.centres[n][0] for n in "abcd"]
    assert max(across) - min(across) < 3


@pytest.mark.parametrize("count", [200, 500])
def test_large_graphs_are_laid_out(count: int) -> None:
    sizes, edges = random_dag(count, 1)
    placed = place(sizes, edges)
    assert len(placed.centres) == count
    assert_apart(sizes, placed)


def test_the_same_graph_gives_the_same_picture() -> None:
    assert place(*random_dag(60, 3)) == place(*random_dag(60, 3))


def test_unconnected_parts_stand_side_by_side_and_go_on_below() -> None:
    sizes = dict.fromkeys((f"n{i}" for i in range(60)), SQUARE)
    placed = place(sizes, [("n0", "n1"), ("n1", "n2")])
    assert_apart(sizes, placed)
    assert_inside(sizes, placed)
    assert placed.width <= 1000
    assert placed.centres["n3"][0] - placed.centres["n0"][0] < 100


def test_nothing_to_draw_is_an_empty_picture() -> None:
    assert place({}, []).width == 0

"""Rows B73 to B83: dynamic sizes."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.errors import UserError
from tests.conformance.programs import explained, load, same_everywhere

TWICE = "def f(x): return x * 2 + x.shape[0]"


def sizes(*shapes: tuple[int, ...]) -> list[str]:
    return [f"f(np.ones({s}))" for s in shapes]


def test_b73_an_axis_that_changes_becomes_a_symbol() -> None:
    same_everywhere(TWICE, sizes((4, 5), (6, 5), (8, 5), (8, 7), (9, 11)), [1, 2, 2, 3, 3])


def test_b74_zero_and_one_are_special_on_every_axis() -> None:
    same_everywhere(TWICE, sizes((5,), (6,), (1,), (0,), (9,)), [1, 2, 3, 4, 4])
    same_everywhere("def f(x): return x.max() + x", sizes((5,), (6,), (0,), (9,), (0,), (1,)))


def test_b75_another_rank_makes_every_axis_dynamic() -> None:
    same_everywhere(TWICE, sizes((2, 3), (2, 3, 4), (5, 6, 7), (7, 8), (9, 4)), [1, 2, 2, 3, 3])


def test_b76_a_name_that_was_an_int_starts_dynamic_as_an_array() -> None:
    same_everywhere("def f(x): return np.ones(2).sum() + x", ["f(5)", *sizes((3, 4), (5, 6))], [1, 2, 2])


def compiles_of(text: str, arrays: list[np.ndarray], **options: object) -> list[int]:
    plain = load(text)["f"]
    f = jm.compile(load(text)["f"], **options)
    counts = []
    for x in arrays:
        assert np.array_equal(f(x), plain(x))
        counts.append(f.jit.compiles)
    return counts


def marked(mark: object, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    arrays = [np.ones(s) for s in shapes]
    for x in arrays:
        mark(x, 0)
    return arrays


def test_b77_a_marked_axis_is_a_symbol_at_once() -> None:
    assert compiles_of(TWICE, marked(jm.mark_dynamic, (5,), (6,), (7,))) == [1, 1, 1]


def test_b77_a_broken_promise_names_axis_source_and_line() -> None:
    f = jm.compile(load("def f(x):\n    y = x + 1\n    if x.shape[0] == 5:\n        return y\n    return y * 2")["f"])
    (x,) = marked(jm.mark_dynamic, (5,))
    with pytest.raises(UserError, match=r"axis 0 of x .*line 3"):
        f(x)


@pytest.mark.parametrize(
    "statement", ["y + np.ones(5)", "np.stack([y, np.ones(5)])", "y.reshape(5, 1)", "y @ np.ones(5)"]
)
def test_b77_a_promise_that_an_operation_breaks_is_the_same_error(statement: str) -> None:
    """No exception of the function's own, which it could catch."""
    text = f"def f(x):\n    y = x * 2\n    try:\n        return {statement}\n    except Exception:\n        return y"
    f = jm.compile(load(text)["f"])
    (x,) = marked(jm.mark_dynamic, (5,))
    with pytest.raises(UserError, match=r"axis 0 of x .*line 4"):
        f(x)


@pytest.mark.parametrize("size", [0, 1])
def test_b77_an_axis_of_size_zero_or_one_cannot_be_marked(size: int) -> None:
    f = jm.compile(load(TWICE)["f"])
    (x,) = marked(jm.mark_dynamic, (size,))
    with pytest.raises(UserError, match=rf"axis 0 of x .* size is {size}"):
        f(x)


def test_b78_weak_and_static_marks() -> None:
    assert compiles_of(TWICE, marked(jm.maybe_mark_dynamic, (5,), (6,), (7,))) == [1, 1, 1]
    assert compiles_of(TWICE, marked(jm.mark_static, (5,), (6,), (7,))) == [1, 2, 3]
    both = marked(jm.mark_static, (5,), (6,), (7,))
    for x in both:
        jm.mark_dynamic(x, 0)
    assert compiles_of(TWICE, both) == [1, 1, 1]
    branch = "def f(x): return x * 2 if x.shape[0] == 5 else x"
    assert compiles_of(branch, marked(jm.maybe_mark_dynamic, (5,), (6,), (7,)))[-1] >= 2


def test_b79_an_automatic_axis_may_be_fixed_by_the_function() -> None:
    branch = "def f(x):\n    if x.shape[0] == 7:\n        return x * 3\n    return x * 2"
    found = same_everywhere(branch, sizes((5,), (6,), (7,), (8,)), [1, 2, 3, 3])
    assert [(why.guard, why.now) for why in jm.recompiles(found.f)][1:] == [
        ("x.shape[0] != 7", "false: x has the shape (7,)")
    ]
    with jm.configure(allow_ignore_mark_dynamic=True):
        assert compiles_of(branch, marked(jm.mark_dynamic, (7,), (8,), (9,)))[-1] >= 2


def test_b80_options_for_sizes() -> None:
    with jm.configure(automatic_dynamic_shapes=False):
        same_everywhere(TWICE, sizes((5,), (6,), (7,)), [1, 2, 3])
    with jm.configure(assume_static_by_default=False):
        same_everywhere(TWICE, sizes((4, 4), (5, 6), (7, 7)))
        found = compiles_of(TWICE, [np.ones(s) for s in ((4, 4), (5, 6), (7, 7))])
        assert found == [1, 2, 2]
    assert compiles_of(TWICE, [np.ones(n) for n in (5, 6, 7)], dynamic=True) == [1, 1, 1]
    assert compiles_of(TWICE, [np.ones(n) for n in (5, 6, 7)], dynamic=False) == [1, 2, 3]


@pytest.mark.parametrize(
    "option",
    [{"automatic_dynamic_shapes": False}, {"assume_static_by_default": False}, {"automatic_dynamic_shapes": True}],
)
@pytest.mark.parametrize(
    "body",
    ["(x, y): return x.sum() + y * 2, x.shape, x.shape == y.shape", "(x, y): return x + y",
     "(x, y): return np.concatenate([x.ravel(), y.ravel()]), x.reshape(-1)[:2]"],
)  # fmt: skip
def test_b80_whatever_the_options_say_of_sizes_the_answer_is_numpys(option: dict[str, bool], body: str) -> None:
    shapes = [(4, 4), (5, 5), (5, 6), (7, 7), (1, 7), (0, 0), (2, 1), ((3, 4), 4), ((3, 3), 3), ((3, 4), 3)]
    with jm.configure(**option):
        same_everywhere(f"def f{body}", [f"f(np.ones({a}), np.ones({b}))" for a, b in shapes])


def test_b80_sizes_that_are_symbols_at_once_share_one_where_they_are_equal() -> None:
    shapes = ((4, 4), (5, 6), (7, 7), (8, 3), (1, 1), (1, 5), (0, 4))
    with jm.configure(assume_static_by_default=False):
        assert compiles_of(TWICE, [np.ones(s) for s in shapes]) == [1, 2, 2, 2, 3, 4, 5]
        assert compiles_of(TWICE, [np.ones(s) for s in ((4, 6), (5, 6), (6, 4), (7, 7), (3, 9))]) == [1, 1, 1, 1, 1]
    with jm.configure(automatic_dynamic_shapes=False):
        assert compiles_of(TWICE, [np.ones(s) for s in shapes]) == [1, 2, 3, 4, 5, 6, 7]


def test_b83_no_size_guard_for_a_scalar_and_symbols_bound_where_they_come_from() -> None:
    text = "def f(x, s): return x * s + x.shape[0]"
    found = explained(text, "f(np.ones(3), np.float64(2))")
    assert not any("shape" in g.source for g in found.guards if g.source.startswith("s"))
    same_everywhere(text, [f"f(np.ones({n}), np.float64({n}))" for n in (3, 4, 5)], [1, 2, 2])
    pair = "def f(x, y): return x[:y.shape[0]] * 2, y.shape"
    same_everywhere(pair, [f"f(np.ones(9), np.ones({n}))" for n in (3, 4, 5, 9, 12)])


def test_b82_sizes_of_weights_are_static() -> None:
    text = (
        "from jitmagic import nn\nclass M(nn.Module):\n    def __init__(s):\n        super().__init__()\n"
        "        s.w = nn.Parameter(np.ones(3))\n"
        "    def forward(s, x): return x * s.w.sum() + s.w.shape[0]\n"
        "m = M()\nx = np.ones(4)\ndef f(x): return m(x)"
    )
    swap = "m.w = nn.Parameter(np.ones({}))"
    calls = ["f(x)", swap.format(5), "f(x)", swap.format(7), "f(x)", "f(np.ones(6))", "f(np.ones(8))"]
    same_everywhere(text, calls, [1, 2, 3, 4, 4])

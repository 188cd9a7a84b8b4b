"""Bits and texts of numbers: what is made of them again has the exact gradient, or refuses to have one; never 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.autograd.slopes import differences, gradient

X = np.array([1.25, 2.0, 3.5])


def aot(f: Callable[[Any], Any], x: Any) -> Any:
    leaf = jm.Tensor(np.array(x), requires_grad=True)
    jm.aot.aot_function(f, jm.aot.aot_eager)(leaf).backward()
    return leaf.grad.numpy()


WAYS = {"tape": gradient, "grad": lambda f, x: jm.grad(f)(x)}


def there_and_back(x):
    return (x.view("i8").view("f8") ** 2).sum()


def with_another_shape(x):
    return (x.reshape(3, 1).view("i8").view("f8")[::-1, 0] * np.arange(3.0)).sum()


def through_bytes(x):
    return (x.view(np.uint8).view("f8") * x).sum()


def through_flags(x):
    return (x.view(bool).view("f8") * x).sum()


def in_a_loop(x):
    total = 0.0
    for k in range(3):
        total += x[k : k + 1].view("i8").view("f8")[0] ** 2
    return total


def written_later(x):
    y = x * 1
    bits = y.view("i8")
    y *= 3
    return (bits.view("f8") ** 2).sum()


def written_through_both(x):
    y = x * 1
    again = y.view("i8").view("f8")
    again *= 3
    return (y**2).sum() + (again**3).sum()


def as_conditions(x):
    bits = x.view("i8")
    return np.where((bits >> 50) & 1 == 0, x * 2, x * 3).sum() + (bits > 0).sum() * x.sum()


def as_an_order(x):
    return (x[np.argsort(x.view("i8"))] * np.arange(3)).sum()


EXACT = [
    there_and_back,
    with_another_shape,
    through_bytes,
    through_flags,
    in_a_loop,
    written_later,
    written_through_both,
    as_conditions,
    as_an_order,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", EXACT, ids=lambda f: f.__name__)
def test_a_view_of_bits_and_back_is_the_identity(f: Any, way: str) -> None:
    x = X + 0.07  # no flag changes nearby
    np.testing.assert_allclose(WAYS[way](f, x), differences(f, x), rtol=1e-5)


def fast_inverse_root(x):
    guess = (0x5FE6EB50C7B537A9 - (x.view("i8") >> 1)).view("f8")
    return (guess * (1.5 - 0.5 * x * guess * guess)).sum()


def rounded_by_a_mask(x):
    y = x * 2
    bits = y.view("i8")
    bits &= -1 << 40
    return y.sum()


def rounded_into(x):
    y = x * 1
    np.bitwise_and(y.view("i8"), -1 << 40, out=y.view("i8"))
    return y.sum()


def an_item_of_bits(x):
    y = x * 1
    y.view("i8")[0] = 1 << 60
    return y.sum()


def a_part(x):
    return (x.view("i8")[::-1].view("f8") * np.arange(3)).sum()


def as_other_numbers(x):
    return x.view("i8").astype(float).sum()


def written_as_numbers(x):
    found = np.zeros(3)
    found[:] = x.view("i8")
    return found.sum()


def numbers_times_bits(x):
    return x.view("u4")[1::2].sum() * x[0]


def a_field(x):
    return x.getfield("i4", 4).astype(float).sum() + x.sum()


def as_texts(x):
    return (x.astype(str).astype(float) ** 2).sum()


def as_bytes(x):
    return x.astype("S32").astype(float).sum()


def as_formatted_texts(x):
    return np.char.mod("%.3f", x).astype(float).sum()


REFUSED = [
    fast_inverse_root,
    rounded_by_a_mask,
    rounded_into,
    an_item_of_bits,
    a_part,
    as_other_numbers,
    written_as_numbers,
    numbers_times_bits,
    a_field,
    as_texts,
    as_bytes,
    as_formatted_texts,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_is_computed_of_bits_or_texts_refuses_a_gradient(f: Any, way: str) -> None:
    with pytest.raises(jm.GradientError, match=r"no gradient here: the bits or the text|became a plain array"):
        WAYS[way](f, X)


@pytest.mark.parametrize("f", [there_and_back, *(f for f in REFUSED if f is not as_texts)], ids=lambda f: f.__name__)
def test_no_graph_has_a_derivative_of_bits(f: Any) -> None:
    with pytest.raises(jm.UserError, match=r"line \d+: the derivative of a number made of the bits or the text"):
        aot(f, X)


def test_a_buffer_of_bytes_that_numbers_are_written_into_refuses() -> None:
    def through_a_buffer(x):
        buffer = np.zeros(24, np.uint8)
        buffer.view("f8")[:] = x * 2
        return buffer.view("f8").sum()

    assert jm.compile(through_a_buffer)(X) == through_a_buffer(X)
    for way in WAYS.values():
        with pytest.raises(jm.GradientError, match="became a plain array"):
            way(through_a_buffer, X)
    with pytest.raises(jm.UserError, match="made of the bits"):
        aot(through_a_buffer, X)


TEXTS: dict[str, Callable[[Any], Any]] = {
    "str": lambda x: x.sum() * float(str(x[0])),
    "repr": lambda x: x.sum() * float(repr(float(x[0]))),
    "format": lambda x: x.sum() * float(f"{x[0]:.17g}"),
    "format of NumPy": lambda x: x.sum() * np.float64(format(x[0], ".3f")),
    "complex": lambda x: (x.sum() * complex(str(x[0]))).real,
    "list": lambda x: np.array([str(v) for v in x]).astype(float).sum() + x.sum(),
    "bytes": lambda x: np.frombuffer(x.tobytes()).sum() + x.sum(),
    "many texts": lambda x: sum([float(str(x[i % 3] + i)) for i in range(2000)]) + x.sum(),
}


@pytest.mark.parametrize("f", TEXTS.values(), ids=TEXTS)
def test_numbers_are_not_read_from_their_texts(f: Any) -> None:
    with pytest.raises(jm.GradientError, match="reads a text or bytes that were made of a number"):
        jm.grad(f)(X)


def test_texts_may_be_shown_and_other_texts_read() -> None:
    shown = []

    def f(x):
        shown.append(f"{x[0]:.2f} {x[1]} {x!r}")
        shown.append(str(x[0]))
        return (x * float("1.25") * np.float64("2")).sum() + np.frombuffer(b"\0" * 8).sum()

    assert jm.grad(f)(X).tolist() == [2.5] * 3
    assert shown == ["1.25 2.0 array([1.25, 2.  , 3.5 ])", "1.25"]
    assert [type(text) for text in shown] == [str, str]


def test_what_has_no_rule_is_named() -> None:
    with pytest.raises(jm.GradientError, match=r"memory \(x.data\)"):
        jm.grad(lambda x: x.data[0] * x[1])(X)
    with pytest.raises(AttributeError, match=r"as_integer_ratio .*jm.detach\(x\).as_integer_ratio"):
        jm.grad(lambda x: x[0].as_integer_ratio()[0] * x[1])(X)
    assert jm.grad(lambda x: x[0] * x[1].is_integer() + jm.detach(x).data[0] * x[1])(X).tolist() == [1, 1.25, 0]


def test_bits_stay_what_they_are() -> None:
    """Within the function they look as in a plain run."""

    def f(x):
        bits = x.view("i8")
        assert isinstance(bits, np.ndarray)
        assert bits.dtype == np.int64
        assert bits.tolist() == X.view("i8").tolist()
        assert bits[0].item() == X.view("i8")[0]
        assert int(bits[1]) == X.view("i8")[1]
        assert [int(b) for b in bits] == X.view("i8").tolist()
        return x.sum()

    for way in WAYS.values():
        if way is not gradient:
            assert way(f, X).tolist() == [1, 1, 1]

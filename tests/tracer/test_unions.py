"""``int | float`` in a traced function: a value like any other, and what ``isinstance`` takes."""

from __future__ import annotations

import pytest

from tests.conformance.programs import same_everywhere

VALUES = ["2", "2.5", "'a'", "None", "True", "x", "[1]"]


UNIONS = [
    "int | float",
    "int | None",
    "None | str",
    "list | tuple | np.ndarray",
    "Known",
    "Known | str",
    "(Known, str)",
]


@pytest.mark.parametrize("union", [*UNIONS, "(Known, str)"])
def test_isinstance_takes_a_union(union: str) -> None:
    text = f"""
Known = int | float
x = np.ones(2)
def f(x, v):
    if isinstance(v, {union}):
        return x * 2, issubclass(type(v), {union})
    return x + 1
"""
    found = same_everywhere(text, [f"f(x, {value})" for value in VALUES])
    assert not found.names["f"].jit.breaks()


def test_another_union_under_the_name_is_noticed() -> None:
    text = "Known = int | float\nx = np.ones(2)\ndef f(x, v): return x * isinstance(v, Known)"
    same_everywhere(text, ["f(x, 2)", "Known = str | None", "f(x, 2)", "Known = int | str", "f(x, 2)"], [1, 2, 3])


def test_unions_are_values() -> None:
    values = "x * 2, (int | str) == (str | int), {int | str: 3}[str | int], str(int | None)"
    text = f"x = np.ones(2)\ndef f(x): return {values}"
    same_everywhere(text, ["f(x)", "f(x)"])


@pytest.mark.parametrize("union", ["int | 3", "Own | int", "int | list[int]"])
def test_what_is_no_union_of_classes_is_left_to_python(union: str) -> None:
    text = f"""
class Meta(type):
    def __or__(cls, other): return (cls, other)
class Own(metaclass=Meta): pass
x = np.ones(2)
def f(x, v): return x * 2, isinstance(v, {union})
"""
    same_everywhere(text, ["f(x, 2)", "f(x, Own())", "f(x, 'a')"])

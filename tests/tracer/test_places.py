"""Places of what a trace has learnt: one per node and per code, whichever of equal codes is asked."""

from __future__ import annotations

import ast
from types import CodeType

from jitmagic.tracer.output import Policy

TEXT = "def f(x):\n    return x + 1\n"
NODE = ast.parse(TEXT).body[0].body[0]


def _code(text: str = TEXT) -> CodeType:
    names: dict[str, object] = {}
    exec(compile(text, "<places>", "exec"), names)
    return names["f"].__code__


def test_equal_codes_have_the_same_place():
    policy, one, other = Policy(), _code(), _code()
    assert one is not other
    assert policy.place(one, NODE) == policy.place(other, NODE) == policy.place(one, NODE)


def test_codes_that_differ_have_places_of_their_own():
    policy = Policy()
    assert policy.place(_code(), NODE) != policy.place(_code(TEXT.replace("1", "2")), NODE)


def test_the_place_of_a_code_outlives_it():
    """The number of a code that died is not given to another that lies at its address."""
    policy = Policy()
    places = [policy.place(_code(TEXT.replace("1", str(n))), NODE) for n in range(50)]
    assert len(set(places)) == 50

"""What hangs on a compiled function for jitmagic is not seen among the attributes that the user gave it."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.runtime.attributes import Attributes, Hidden, hang, hung


def plain(x: Any) -> Any:
    return x + 1


@pytest.fixture
def f() -> Any:
    compiled = jm.compile(plain)
    compiled(np.ones(2))
    compiled.tag = "t"
    return compiled


@pytest.mark.parametrize(
    "asked",
    [
        lambda f: vars(f) == {"tag": "t"},
        lambda f: vars(f) != {},
        lambda f: dict(vars(f)) == {**vars(f)} == {"tag": "t"},
        lambda f: [*vars(f)] == [*reversed(vars(f))] == list(vars(f).keys()) == ["tag"],
        lambda f: [*vars(f).values()] == ["t"] and [*vars(f).items()] == [("tag", "t")],
        lambda f: len(vars(f)) == 1 and "jit" not in vars(f) and vars(f).get("jit") is None,
        lambda f: vars(f) | {"a": 1} == {"a": 1} | vars(f) == {"tag": "t", "a": 1},
        lambda f: repr(vars(f)) == "{'tag': 't'}" and json.dumps(vars(f)) == '{"tag": "t"}',
        lambda f: copy.copy(vars(f)) == copy.deepcopy(vars(f)) == vars(f).copy() == {"tag": "t"},
        lambda f: set(dir(f)) - set(dir(plain)) == {"tag"},
        lambda f: vars(f).pop("jit", 5) == 5 and vars(f).popitem() == ("tag", "t") and not vars(f),
    ],
)
def test_the_handle_is_not_seen(asked: Any, f: Any) -> None:
    assert asked(f)
    assert f.jit.calls == 1


def test_what_is_not_seen_cannot_be_taken_away(f: Any) -> None:
    for take in (lambda: vars(f)["jit"], lambda: vars(f).pop("jit"), lambda: vars(f).__delitem__("jit")):
        with pytest.raises(KeyError, match="jit"):
            take()
    vars(f).clear()
    assert vars(f) == {}
    with pytest.raises(KeyError, match="empty"):
        vars(f).popitem()
    assert f.jit.calls == 1


def test_writing_goes_on_as_before(f: Any) -> None:
    f.a = 1
    vars(f)["b"] = vars(f).setdefault("c", 2)
    vars(f).update(d=4)
    del f.tag
    assert vars(f) == {"a": 1, "c": 2, "b": 2, "d": 4}


def test_a_value_of_the_users_own_is_seen() -> None:
    def g() -> None: ...

    hang(g, Hidden())
    assert isinstance(hung(g), Hidden)
    assert type(vars(g)) is Attributes
    g.jit = 5  # type: ignore[attr-defined]  # as a user may
    assert vars(g) == {"jit": 5}


def test_wrappers_have_no_handle_but_are_found(f: Any) -> None:
    @functools.wraps(f)
    def wrapper(*args: Any) -> Any:
        return f(*args)

    cached = functools.lru_cache(f)
    for outside in (wrapper, cached, functools.wraps(wrapper)(lambda x: wrapper(x))):
        assert "jit" not in vars(outside)
        assert not hasattr(outside, "jit")
        assert jm.recompiles(outside) == []


def test_a_wrapper_around_itself_is_not_compiled() -> None:
    def g() -> None: ...

    g.__wrapped__ = g  # type: ignore[attr-defined]  # as careless code may
    with pytest.raises(jm.UserError, match="not compiled"):
        jm.recompiles(g)

"""Fields in which the values of a call are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic_widgets.arguments import ArgumentError, ArgumentFields


def call(z: Any, *rest: Any, k: float = 2.0, **more: Any) -> None: ...


def filled(**texts: str) -> dict[str, Any]:
    fields = ArgumentFields(call, {"np": np, "x": 5, "_hidden": 1, "f": call})  # type: ignore[arg-type]  # a function
    for name, text in texts.items():
        fields.fields[name].value = text
    return fields.values()


def test_variables_and_expressions_are_values() -> None:
    assert filled(z="x") == {"z": 5, "rest": (), "k": 2.0, "more": {}}
    assert filled(z="x + 1", rest="[1, 2]", k="x / 2", more="{'a': x}") == {
        "z": 6,
        "rest": (1, 2),
        "k": 2.5,
        "more": {"a": 5},
    }


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({}, "z has no value: choose a variable or type an expression"),
        ({"z": "y"}, "z = y: NameError: name 'y' is not defined"),
        ({"z": "1 +"}, "z = 1 +: SyntaxError"),
        ({"z": "x", "rest": "x"}, "rest takes a tuple here"),
        ({"z": "x", "more": "[]"}, "more takes a dict here"),
    ],
)
def test_what_has_no_value_is_said(texts: dict[str, str], says: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        filled(**texts)
    assert says in str(caught.value)


def test_the_data_of_the_notebook_is_offered() -> None:
    """No modules, functions and hidden names; what comes later is offered when asked again."""
    namespace: dict[str, Any] = {"np": np, "x": 5, "_hidden": 1, "f": call}
    fields = ArgumentFields(call, namespace)  # type: ignore[arg-type]  # a function
    assert fields.fields["z"].options == ("x",)
    namespace["y"] = 1
    fields.offer()
    assert fields.fields["k"].options == ("x", "y")


def test_an_expression_does_not_change_the_notebook() -> None:
    namespace: dict[str, Any] = {"x": 5}
    fields = ArgumentFields(call, namespace)  # type: ignore[arg-type]  # a function
    fields.fields["z"].value = "[x for _ in range(2)]"
    assert fields.values()["z"] == [5, 5]
    assert namespace.keys() - {"__builtins__"} == {"x"}

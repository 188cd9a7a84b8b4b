"""Random programs: whatever a caller can see is the same compiled and plain."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings

from jitmagic.aot import aot_eager, compile_inference
from jitmagic.errors import Unsupported
from jitmagic.graph import interpret
from tests.aot.programs import Program, program
from tests.aot.recorder import assert_same, facts

seen: Counter[str] = Counter()


@settings(max_examples=300)
@given(program())
def test_compiled_and_plain_agree(drawn: Program) -> None:
    check(drawn)


@settings(max_examples=100)
@given(program())
def test_they_agree_with_writes_kept_in_the_graph(drawn: Program) -> None:
    check(drawn, keep_input_mutations=True)


def check(drawn: Program, **options: Any) -> None:
    """Refusals are counted by their code: running everything plainly must not pass."""
    try:
        if error := plain_error(drawn):
            outcome = "fails as the plain run does"
            assert_fails_unchanged(drawn, error, **options)
        else:
            outcome = "compiled"
            assert_same(drawn.graph, drawn.arguments, aot_eager, **options)
    except Unsupported as refusal:
        outcome = refusal.code
    seen[outcome] += 1
    event(outcome)


def plain_error(drawn: Program) -> type[Exception] | None:
    try:
        with np.errstate(all="ignore"):
            interpret(drawn.graph, drawn.arguments())
    except (ValueError, TypeError, IndexError) as error:
        return type(error)
    return None


def assert_fails_unchanged(drawn: Program, error: type[Exception], **options: Any) -> None:
    """Nothing was written yet, so that the plain run can do what it does up to the error."""
    compiled = compile_inference(drawn.graph, drawn.arguments(), aot_eager, **options)
    arguments = drawn.arguments()
    with np.errstate(all="ignore"), pytest.raises(error):
        compiled.run(list(arguments))
    assert list(map(facts, arguments)) == list(map(facts, drawn.arguments()))


def test_most_programs_were_compiled() -> None:
    assert seen["compiled"] >= 4 * (seen.total() - seen["compiled"]), seen

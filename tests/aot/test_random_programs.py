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


@pytest.mark.parametrize("keep_writes", [False, True])
def test_compiled_and_plain_agree(keep_writes: bool) -> None:
    """Outcomes are counted: running everything plainly must not pass."""
    seen: Counter[str] = Counter()

    @settings(max_examples=120)
    @given(program())
    def compare(drawn: Program) -> None:
        outcome = check(drawn, keep_input_mutations=keep_writes)
        seen[outcome] += 1
        event(outcome)

    compare()
    assert seen["compiled"] > 0.75 * seen.total(), seen


def check(drawn: Program, **options: Any) -> str:
    """What became of the program, in a word."""
    try:
        if error := plain_error(drawn):
            assert_fails_unchanged(drawn, error, **options)
            return "fails as the plain run does"
        assert_same(drawn.graph, drawn.arguments, aot_eager, **options)
    except Unsupported as refusal:
        return refusal.code
    return "compiled"


def plain_error(drawn: Program) -> type[Exception] | None:
    try:
        with np.errstate(all="ignore"):
            interpret(drawn.graph, drawn.arguments())
    except (ValueError, TypeError, IndexError, Warning) as error:
        return type(error)
    return None


def assert_fails_unchanged(drawn: Program, error: type[Exception], **options: Any) -> None:
    """Nothing was written yet, so that the plain run can do what it does up to the error."""
    compiled = compile_inference(drawn.graph, drawn.arguments(), aot_eager, **options)
    arguments = drawn.arguments()
    with np.errstate(all="ignore"), pytest.raises(error):
        compiled.run(list(arguments))
    assert list(map(facts, arguments)) == list(map(facts, drawn.arguments()))

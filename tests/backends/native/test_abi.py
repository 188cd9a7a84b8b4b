"""Forms and results are taken apart as the docstring of ``abi`` says."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitmagic.backends.native import Address, FloatFlag, Status, block_words, parse_form, split_result
from jitmagic.errors import InternalError

OPERANDS = st.sampled_from(["a0", "a1", "a2", "a10", "a64", "i", "u", "d", "c"])


@given(st.lists(OPERANDS, max_size=20))
def test_operands_lie_one_after_the_other(kinds: list[str]) -> None:
    form = "".join(kinds)
    operands = parse_form(form)
    assert len(operands) == len(kinds)
    place = 0
    for operand, kind in zip(operands, kinds, strict=True):
        assert operand.kind == kind[0]
        assert operand.first == place
        assert operand.words == (1 + 2 * operand.ndim if kind[0] == "a" else 1 + (kind == "c"))
        place += operand.words
    assert block_words(form) == place


@pytest.mark.parametrize("form", ["x", "a", "1", "ii x", "a1 "])
def test_what_is_not_understood_is_quoted(form: str) -> None:
    with pytest.raises(InternalError, match="is not understood at"):
        parse_form(form)


@given(st.sampled_from(list(Status)), st.integers(0, 15))
def test_a_result_is_a_status_and_flags(status: Status, flags: int) -> None:
    assert split_result(int(status) | flags << 8) == (status, FloatFlag(flags))


def test_status_numbers_are_settled() -> None:
    """They are in stored object code."""
    assert [int(status) for status in Status] == list(range(len(Status)))


def test_an_address_is_a_number_that_keeps_its_target() -> None:
    target = object()
    address = Address(2**63 + 5, target)
    assert address == 2**63 + 5
    assert address.target is target
    with pytest.raises(TypeError):
        pickle.dumps(address)

"""The compiled code of native entries comes from the store, and gets there without stalling anybody."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.native import load_kernel
from jitmagic.config import configure
from jitmagic.runtime.native import code
from jitmagic.runtime.native.entry_text import REGISTERS, Check, Head, Record
from jitmagic.runtime.native.layout import has_dict_tags, is_known
from jitmagic.runtime.native.steps_text import MADE
from jitmagic.runtime.native.words import Words


def test_another_process_fills_the_store_that_is_in_force(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "is_ready", lambda: False)
    with configure(cache_dir=tmp_path):
        assert code.load_kernel(code.DOOR_TEXT, "another name") is None
        process = code.compile_apart.__wrapped__()
        assert process is not None
        assert process.wait(timeout=120) == 0
    assert len(list((tmp_path / "kernels").iterdir())) == len(code._TEXTS)


def test_without_background_it_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(code, "is_ready", lambda: False)
    monkeypatch.setattr(code, "prepare", lambda: asked.append(1))
    with configure(background=False):
        assert code.compile_apart.__wrapped__() is None
    assert asked == [1]


def test_this_build_is_known() -> None:
    assert is_known()
    assert has_dict_tags()
    assert MADE < REGISTERS
    assert all(load_kernel(text, name) is not None for name, text in code._TEXTS)


class Table:
    """A table of one record, whose outcome is a string."""

    def __init__(self, count: int) -> None:
        self.words = Words()
        code.write_head(self.words, self.slow, self.bailed, [0] * count)
        self.counter = np.zeros(1, np.int64)
        self.place = self.words.add(0, self.counter.ctypes.data, self.words.keep(self.go), 0)
        assert self.place == self.words.place - Record.CHECKS * 8
        self.words.words[Head.FIRST] = self.place

    def slow(self, *values):
        return "slow"

    def bailed(self, *values):
        return "bailed"

    def go(self, *values):
        if values and values[0] == "bail":
            raise Bail
        if values and values[0] == "error":
            raise ZeroDivisionError
        return "go"

    def run(self, *values):
        self.words.add(Check.DONE)
        return code.make_builtin("entry", (self.words.block(), self.words.kept))(*values)


def test_a_record_without_checks_matches_every_call() -> None:
    assert Table(2).run(1, 2) == "go"
    assert Table(0).run() == "go"


def test_other_numbers_of_arguments_take_the_slow_way() -> None:
    assert Table(2).run(1) == "slow"
    assert Table(1).run(1, 2, 3) == "slow"


def test_what_gives_up_is_run_plainly_and_errors_pass() -> None:
    assert Table(1).run("bail") == "bailed"
    with pytest.raises(ZeroDivisionError):
        Table(1).run("error")


def test_hits_are_counted() -> None:
    table = Table(1)
    table.words.add(Check.DONE)
    run = code.make_builtin("entry", (table.words.block(), table.words.kept))
    for _ in range(5):
        run(1)
    assert table.counter[0] == 5


X = np.arange(4.0)
SAME_OBJECT = object()


def f(a, b=1):
    return a


def words_of(words: Words, *values):
    return [value if isinstance(value, int) and not isinstance(value, bool) else words.keep(value) for value in values]


# check, its words after the number (objects are replaced by their addresses), a value that fits, values that do not
ROWS = [
    (Check.TYPE, (0, int, 0), 5, ["5", True, 5.0, None]),
    (Check.IS, (0, SAME_OBJECT, 0), SAME_OBJECT, [object(), None]),
    (Check.EQUALS, (0, str, "word"), "wor" + "d"[:1], ["other", b"word", 5, None]),
    (Check.BITS, (0, float, 0x3FF8000000000000), 1.5, [1.25, -1.5, 1, np.float64(1.5), None]),
    (Check.BITS, (0, float, 0), 0.0, [-0.0, 0, False]),
    (Check.NAN, (0,), -float("nan"), [1.0, None, np.float64("nan")]),
    (Check.LENGTH, (0, list, 2), [1, 2], [[1], (1, 2), {1: 1, 2: 2}, None]),
    (Check.LENGTH, (0, dict, 1), {1: 2}, [{}, [1]]),
    (Check.INT64, (0,), 2**63 - 1, [2**63, -(2**63) - 1, 1.0, True, None]),
    (Check.FUNCTION, (0, f.__code__, f.__globals__), f, [len, test_hits_are_counted, None]),
    (Check.DEFAULTS, (0, 1), f, [test_hits_are_counted, len, 5]),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].name)
def test_a_check_lets_through_what_fits_and_nothing_else(row) -> None:
    check, operands, fits, others = row
    for value, expected in ((fits, "go"), *((other, "slow") for other in others)):
        table = Table(1)
        table.words.add(check, *words_of(table.words, *operands))
        assert table.run(value) == expected, value


def test_no_error_is_left_behind_by_a_check_that_fails() -> None:
    table = Table(1)
    table.words.add(Check.INT64, 0)
    assert table.run(2**100) == "slow"
    table = Table(1)
    table.words.add(Check.FROM_OWN_DICT, 1, 0, table.words.keep("name"))
    assert table.run(5) == "slow"  # an int has no __dict__

"""Names that NumPy's modules make when they are asked for: submodules, and what is deprecated."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

LATE = {
    "char": "np.char.upper(s), np.char.add(s, 'x'), x.sum()",
    "strings": "np.strings.str_len(s) + x",
    "fft": "np.fft.fftfreq(x.size) + x",
    "polynomial": "np.polynomial.polynomial.polyval(2.0, x)",
}


@pytest.mark.parametrize("body", LATE.values(), ids=LATE)
def test_late_names_break_nothing(body: str) -> None:
    text = f"s = np.array(['a', 'bc'])\nx = np.arange(2.0)\ndef f(s, x):\n    return {body}\n"
    same_everywhere(text, ["f(s, x)", "f(s[::-1], x + 1)"])
    assert explained(text, "f(s, x)").breaks == []


def test_a_replaced_late_name_is_noticed() -> None:
    data = "s = np.array(['a'])\nx = np.arange(2.0)\nold = np.char.upper\n"
    text = data + "def f(s, x):\n    return np.char.upper(s), x + 1\n"
    same_everywhere(text, ["f(s, x)", "np.char.upper = np.char.lower", "f(s, x)", "np.char.upper = old", "f(s, x)"])


def test_names_that_warn_do_so_at_their_line() -> None:
    text = "x = np.arange(2.0)\ndef f(x):\n    y = x + 1\n    return y, np.char.array, hasattr(np, 'no_such_name')\n"
    same_everywhere(text, ["f(x)[0]", "f(x)[0]"])

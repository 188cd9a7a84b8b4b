"""``globals()``, points in time, texts in arrays, and rows put into arrays: what notebooks do on the way."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

BEFORE = """
x = np.array([1.5, -2.25, 3.0]); scale = 3.0
names = np.array(["ab", "c", "ab", "d"]); raw = np.array([b"ab", b"c"])
def h(v): return v * 2
def use(g): return g["scale"]
def f(x):
"""
CALLS = ("f(x)", "f(np.arange(5.0))", "scale = 9", "f(np.arange(4))", "x", "scale")
CAPTURED = {
    "a global by its name": "return x * globals()['scale'], globals() is globals(), 'scale' in globals()",
    "a global that is set": "globals()['scale'] = x.sum()\nreturn scale * 2, globals()['scale']",
    "a new global": "globals()['fresh'] = x * 2\nreturn fresh + 1",
    "a function by its name": "return globals()['h'](x)",
    "globals as an argument": "return use(globals()) * x",
    "days": "t = np.datetime64('2024-01-01') + np.arange(len(x)).astype('m8[D]')\nreturn t, t[1:] - t[:-1]",
    "spans": "d = np.arange('2024-01-01', '2024-01-04', dtype='M8[D]')\nreturn (d - d[0]) / np.timedelta64(1, 'h'), x",
    "days compared": "d = np.array(['2024-01-01', '2024-06-01'], 'M8[D]')\nreturn d > np.datetime64('2024-03-01'), x",
    "a day that is none": "try:\n    return np.datetime64('2024-99-01')\nexcept ValueError:\n    return x * 2",
    "texts compared": "return names == 'ab', names != 'c', 'ab' == names, names[names == 'ab'], raw == b'c'",
    "texts counted": "return np.count_nonzero(names == 'ab'), np.where(names == 'c', 1, 2), np.unique(names), x + 1",
    "texts joined": "return names + '_x', 'p' + names, np.strings.upper(names), np.strings.str_len(names), x + 1",
    "rows put in": "return np.insert(x, 1, 5), np.insert(x, [0, 2], 7), np.insert(x, 1, [8, 9]), np.insert(x, -1, 3)",
    "rows taken out": "return np.delete(x, 1), np.delete(x, [0, 1]), np.delete(x, -1)",
    "edges": "e = np.insert(np.cumsum(x), 0, 0)\nreturn e[1:] - e[:-1], len(e)",
    "frequencies": "s = np.fft.rfft(x)\ns[np.fft.rfftfreq(len(x), 0.1) > 2] = 0\nreturn np.fft.irfft(s, len(x))",
}
SPLIT = {
    "the clock": "return (np.datetime64('today') - np.datetime64('today')).astype(int) * x",
    "a global that is absent": "return 'nothing' in globals(), x + 1",
    "a key that is absent": "return globals()['abs'] * x",
    "numbers compared with texts": "return x == 'a', x != 'a'",
    "numbers and texts added": "return x + 'a'",
    "bytes compared with texts": "return raw == 'ab', x",
    "a row beyond the end": "return np.insert(x, 50, 5)",
    "rows by a mask": "return np.delete(x, x > 2), np.insert(x, np.array([0, 1]), 5).sum()",
}


def program(body: str) -> str:
    return BEFORE + "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("body", CAPTURED.values(), ids=CAPTURED)
def test_it_is_no_break(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0


@pytest.mark.parametrize("body", SPLIT.values(), ids=SPLIT)
def test_what_is_left_to_plain_python_is_right(body: str) -> None:
    same_everywhere(program(body), [*CALLS, "nothing = 1", "f(x)"])

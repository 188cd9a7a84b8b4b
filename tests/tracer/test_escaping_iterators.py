"""An iterator that is only partly used when the trace ends: what it goes over may change before it is asked again, and
others may read on from the same one.
"""

from __future__ import annotations

import pytest

from tests.conformance.programs import same_everywhere

HEAD = """
import itertools
x = np.ones(2)
log = []
def noted(v): log.append(v); return v
def f(x):
    l = [x, x * 2, x * 3, 4]
    it = iter(l)
    a = next(it)
"""
LEFT = {
    "list that grows": ("", "l.append(5)", "list(it)"),
    "list whose items change": ("", "l[1] = 5; l[2] = 6", "list(it)"),
    "tuple": ("it = iter((1, x, 3)); next(it)", "", "list(it)"),
    "used up": ("list(it)", "l.append(5)", "list(it)"),
    "zip": ("z = zip(range(9), it); next(z)", "", "(next(z), next(it), list(z))"),
    "zip of one list": ("z = zip(l, l); next(z)", "l.append(9)", "list(z)"),
    "zip, strict": ("z = zip([1, 2], it, strict=True); next(z)", "", "(next(it), next(z))"),
    "enumerate": ("z = enumerate(it, 5); next(z)", "", "(next(z), next(it), list(z))"),
    "map": ("z = map(noted, it); next(z)", "l.append(7)", "(len(log), next(z), next(it), len(log), list(z))"),
    "filter": (
        "z = filter(lambda v: noted(v) is not None, it); next(z)",
        "",
        "(len(log), next(z), next(it), len(log))",
    ),
    "chain": ("z = itertools.chain(it, [8]); next(z)", "", "(next(z), next(it), list(z))"),
    "rows": ("it = iter(np.arange(3.0))", "", "(next(it), list(it))"),
    "changed array": ("b = np.arange(3.0); it = iter(b); next(it)", "b[1] = 9", "list(it)"),
    "dict": ("d = {'a': 1, 'b': 2}; it = iter(d.items()); next(it)", "d['b'] = 7", "list(it)"),
    "dict that grows": ("d = {'a': 1, 'b': 2}; it = iter(d); next(it)", "d['c'] = 7", "list(it)"),
    "range": ("it = iter(range(4)); next(it)", "", "list(it)"),
}


@pytest.mark.parametrize("way", LEFT)
def test_an_iterator_that_is_used_over_a_break_goes_on(way: str) -> None:
    before, change, after = LEFT[way]
    lines = [before, "jm.graph_break()", change, f"return a, x + 1, {after}"]
    same_everywhere(HEAD + "".join(f"    {line}\n" for line in lines if line), ["f(x)", "f(x * 2)"])


@pytest.mark.parametrize("way", LEFT)
def test_an_iterator_that_leaves_the_function_goes_on(way: str) -> None:
    before, change, after = LEFT[way]
    inner = "".join(f"        {line}\n" for line in (change, f"return {after}") if line)
    program = f"{HEAD}    {before or 'pass'}\n    def later():\n{inner}    return x + 1, later\n"
    same_everywhere(program, ["f(x)[0]", "f(x)[1]()", "f(x * 2)[1]()"])


@pytest.mark.parametrize(
    "body",
    [
        "for v in reversed(l):\n        l[0] = 9; s = s * v",
        "for v in reversed(l):\n        s = s * v\n        if len(l) > 1: l.pop(0)",
        "for v in reversed(l):\n        s = s * v; l.append(7)",
        "it = reversed(l); next(it); l.clear(); s = s + next(it, 50); l.extend([1, 2, 3, 4]); s = s + next(it, 60)",
        "for k in reversed(d):\n        d[k] = 9; s = s * d[k]",
        "for k in reversed(d):\n        d['new'] = 9; s = s * d[k]",
        "s = s + sum(reversed(list(d.values())))",
    ],
)
def test_reversed_reads_what_is_there_when_it_is_asked(body: str) -> None:
    program = f"x = np.ones(2)\ndef f(x, l, d):\n    s = x\n    {body}\n    return s, l, d\n"
    same_everywhere(program, ["f(x, [2, 3, 4], {'a': 1, 'b': 2})", "f(x, [2, 3], {'b': 3})", "f(x, [], {})"])


@pytest.mark.parametrize("change", ["l[0] = 9", "l.pop()", "l.append(4)"])
def test_reversed_goes_on_over_a_break(change: str) -> None:
    lines = ["l = [1, 2, 3]", "it = reversed(l)", "next(it)", "jm.graph_break()", change, "return x + 1, list(it)"]
    body = "".join(f"    {line}\n" for line in lines)
    same_everywhere(f"x = np.ones(2)\ndef f(x):\n{body}", ["f(x)", "f(x)"])

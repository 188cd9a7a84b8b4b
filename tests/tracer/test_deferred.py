"""Texts of run-time values, lists of their numbers, numbers taken out of arrays: made after the graph, in order."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

BEFORE = """
import collections, dataclasses, math
x = np.array([1.5, -2.25, 3.0]); log = []; msg = ""
class O: pass
o = O()
Pair = collections.namedtuple("Pair", "total n")
@dataclasses.dataclass
class Record:
    total: float
    n: int
class Own:
    def __init__(self, v): self.v = v
    def __str__(self): return f"<{self.v:.2f}>"
    def __repr__(self): return "Own(%s)" % self.v
    def __format__(self, spec): return format(str(self), spec)
def label(v, mark="#"):
    return f"{mark} {v.sum():.2f}"
def f(x):
    global msg
"""
CALLS = ("f(x)", "f(x.astype('f4'))", "f(np.array([1, 2, 3]))", "f(np.arange(70.0))", "x")
CAPTURED = {
    "an argument that is written later": "s = str(x)\nx[0] = 100\nreturn s, f'{x}', x",
    "an array that is written later": "y = x * 2\ns = f'{y} {y.sum():.2f}'\ny += 1\nreturn s, y",
    "percent": "return '%.3f and %s of %d' % (x.sum(), x[0], len(x)), '%r' % x.max(), '%5.1e%%' % x.mean(), '%s' % x",
    "format": "return '{:.2f} {} {m!r:>12}'.format(x.sum(), len(x), m=x[0]), '{0}-{0}'.format(x.max())",
    "a bad format that is caught": "try:\n    return f'{x.sum():Q}'\nexcept ValueError as e:\n    return str(e), x + 1",
    "join": "return '; '.join([f'{v:.1f}' for v in x[:3]]), ','.join(map(str, x.tolist()))",
    "concatenation": "s = 'mean ' + str(x.mean())\ns += ' max ' + repr(x.max())\nreturn s + '!', '<' + s, s * 2",
    "methods of texts": "s = f'{x.sum():.1f}'\nreturn s.upper(), s.replace('.', ','), s.ljust(9) + '|', s.strip('-')",
    "in containers": "return {'a': f'{x.sum():.2f}', 'l': [str(v) for v in x[:3]], 't': (repr(x),)}",
    "in attributes and globals": "o.label = msg = f'n={x.sum()}'\nlog.append(str(x.max()))\nreturn o.label",
    "of containers": "return str([x.sum(), x, {'k': x.max(), 1: (x.min(),)}]), repr((len(x), x.shape)), str({'a': x})",
    "of a dataclass": "r = Record(x.sum(), len(x))\nprint(r)\nreturn repr(r), f'{r}', r",
    "of a named tuple": "r = Pair(x.sum(), len(x))\nprint(r)\nreturn repr(r), f'{r}', r",
    "of an object with methods": "v = Own(x.sum())\nprint(str(v), v, f'{v:>10}')\nreturn str(v), repr(v), [v].copy()",
    "chosen by the data": "s = 'pos' if x.sum() > 0 else 'neg'\nreturn f'{s} {x.sum():+.2f}', s",
    "conversions": "return f'{x.sum()!r} {x.max()!s:>8} {x[0]!a} {x.shape} {x.dtype} {x.size=}'",
    "specs that are computed": "w = 10\nreturn f'{x.sum():{w}.{2}f}|{x.max():<{w}}|'",
    "of NumPy's functions": "return np.array_str(x / 3), np.array2string(x, precision=2), np.array_repr(x)",
    "in a loop": "for k in range(3):\n    x = x * 0.5\n    print(f'step {k}: max={x.max():8.4f}')\nreturn x",
    "print with parts": "print(*x[:2], sep=',', end=f'<{x.max()}>')\nreturn label(x), label(x, '>')",
    "whole numbers": "n = int(x.sum())\nreturn n + 1, n * x, n // 2, n % 3, -n, n / 2, abs(n), max(n, 3), float(n)",
    "rounding": "s = float(x.sum())\nreturn round(s, 1), round(x.sum(), 2), round(s), round(x.mean()), round(3.7)",
    "truth": "b = bool(np.any(x > 2))\nreturn b, not b, [b], int(b) + int(x[0] > 0)",
    "counting": "k = int((x > 0).sum())\nreturn {'k': k, 'frac': k / len(x), 'pct': f'{100 * k / len(x):.1f}%'}",
    "items": "return x.max().item(), x.argmax().item(), (x > 0).any().item(), x[0:1].item(), x.astype(int)[0].item()",
    "arithmetic": "s, m = float(x.sum()), float(x.mean())\nreturn s - m, s * 2 + 1, max(s, m), min(s, 2.0), [s]",
    "math": "s = float(np.abs(x).sum())\nreturn math.sqrt(s), math.floor(s), math.ceil(s), math.isnan(s)",
    "a list of numbers": "l = x.tolist()\nx[0] = 99\nreturn l, l is l, len(l), x",
    "a changed list": "l = x[:3].tolist()\nm = l\nm.append(5)\nreturn l, m is l, sum(l), l[::-1], [a * 2 for a in l]",
    "two lists": "return x.tolist() is x.tolist(), [x.tolist(), x.tolist()], np.outer(x, x).tolist()",
    "no elements": "return x[:0].tolist(), str(x[:0]), x[:0].sum().item()",
}
SPLIT = {
    "percent d of a float": "return '%d items' % x.sum()",
    "a comparison": "s = f'{x.sum():.1f}'\nif s == '2.2':\n    return x\nreturn x * 2, s",
    "a key": "d = {}\nd[f'{x[0]:.0f}'] = x\nreturn d",
    "a length": "return len(f'{x.sum():.1f}'), x + 1",
    "a list of lists that is changed": "l = np.outer(x, x).tolist()\nr = l[0]\nr.append(1)\nreturn l, r",
    "an error in the middle": "log.append(1)\nn = int(x.sum() / (x[0] - x[0]))\nlog.append(2)\nreturn n",
}


def program(body: str) -> str:
    return BEFORE + "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("body", CAPTURED.values(), ids=CAPTURED)
def test_it_is_no_break(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0


@pytest.mark.parametrize("body", SPLIT.values(), ids=SPLIT)
def test_what_only_the_run_knows_is_right_all_the_same(body: str) -> None:
    same_everywhere(program(body), CALLS)


@pytest.mark.parametrize("value", ["np.nan", "np.inf", "1e300", "-0.0"])
def test_numbers_that_have_no_whole_number(value: str) -> None:
    for body in ("return int(x[0])", "return round(float(x[0]))", "return round(x[0])", "return math.floor(x[0])"):
        same_everywhere(program(f"print('before')\nlog.append(1)\n{body}"), ["f(x)", f"f(x * 0 + {value})", "log"])

"""Rows: functions of the standard library that array programs use."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "partial",
        """
from functools import partial
def scale(x, k, b=0.0):
    return x * k + b
half = partial(scale, k=0.5)
def f(x):
    g = partial(scale, x, b=1.0)
    h = partial(half, b=3.0)
    return g(2.0), half(x), h(x), g.func is scale, h.keywords["k"]
""",
        ["A(4)"],
    ),
    Program(
        "reduce",
        """
from functools import reduce
import operator
def f(xs):
    return reduce(operator.add, xs), reduce(lambda a, b: a * b, xs, 2.0), reduce(operator.mul, [2, 3], 1)
""",
        ["[A(4), A(4), A(4)]"],
    ),
    Program(
        "products of sizes and of lists",
        """
import math
def f(x, values):
    try: product = math.prod(values)
    except TypeError as error: product = str(error)
    return x.reshape(math.prod(x.shape)) * 2, product, math.prod((2, 3), start=4), math.prod([])
""",
        [
            "A(4, 5), [1.5, 2, True]",
            "A(6, 5), [2, 'ab']",
            "A(7, 5), [A(7, 5), 2]",
            "A(8, 5), 3",
            "A(2, 3), [10**20] * 2",
        ],
    ),
    Program(
        "lru_cache",
        """
from functools import lru_cache, cache
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
@cache
def coefficient(k):
    return k * 2.0
def f(x):
    return x * fib(10) + coefficient(3)
""",
        ["A(4)"],
        breaks=2,
    ),
    Program(
        "singledispatch",
        """
from functools import singledispatch
@singledispatch
def size(v):
    return 1.0
@size.register
def _(v: list):
    return float(len(v))
@size.register(np.ndarray)
def _(v):
    return v.sum()
def f(x):
    return size(x), size([1, 2, 3]), size(5)
""",
        ["A(4)"],
    ),
    Program(
        "itertools",
        """
import itertools as it
def f(xs):
    out = [a * b for a, b in it.product(xs, [1.0, 2.0])]
    out += [a + b for a, b in it.combinations(xs, 2)]
    out += [a - b for a, b in it.permutations(xs, 2)]
    out += list(it.accumulate(xs))
    out += [b - a for a, b in it.pairwise(xs)]
    return out
""",
        ["[A(4), A(4), A(4)]"],
    ),
    Program(
        "more itertools",
        """
import itertools as it
def f(x):
    a = list(it.chain([1], (2, 3))), list(it.chain.from_iterable([[1], [2]]))
    b = list(it.islice(it.count(5, 2), 3)), list(it.islice("abcdef", 1, 5, 2)), list(it.repeat(7, 2))
    c = list(it.takewhile(lambda v: v < 3, range(6))), list(it.dropwhile(lambda v: v < 3, range(6)))
    d = list(it.starmap(pow, [(2, 3), (3, 2)])), list(it.zip_longest([1, 2], [3], fillvalue=0))
    e = list(it.compress("abc", [1, 0, 1])), list(it.filterfalse(None, [0])), [v for v, _ in zip(it.cycle("ab"), "abc")]
    g = [(k, list(v)) for k, v in it.groupby([1, 1, 2, 3, 3], key=lambda v: v % 2)]
    h = list(it.accumulate([1, 2, 3], lambda a, b: a * b, initial=2))
    i = list(it.combinations_with_replacement("ab", 2))
    p, q = it.tee([1, 2])
    return x + len(a), b, c, d, e, g, h, i, list(p), list(q)
""",
        ["A(4)"],
    ),
    Program(
        "math",
        """
import math
def f(x, n):
    k = math.sqrt(n) + math.pi * math.floor(2.7) + math.factorial(5) + math.gcd(12, 18) + math.log2(8.0)
    return x * k, math.prod([1, 2, 3]), math.isclose(1.0, 1.0 + 1e-12), math.inf, math.ceil(2.1), math.hypot(3.0, 4.0)
""",
        ["A(4), 16", "A(4), 2.0", "A(4), 3.0"],
    ),
    Program(
        "operator",
        """
import operator
from operator import itemgetter, attrgetter, methodcaller
class P:
    def __init__(self, a):
        self.a = a
        self.q = self
def f(x):
    p = P(x)
    rows = [("b", 2), ("a", 3)]
    y = operator.add(x, 1.0) * operator.getitem([5.0, 6.0], 1)
    return (y, sorted(rows, key=itemgetter(0)), itemgetter(1, 0)("xy"), attrgetter("q.a")(p), operator.neg(x),
            methodcaller("upper")("k"), attrgetter("a", "q.q.a")(p)[0], operator.truediv(x, 2),
            operator.contains([1], 1))
""",
        ["A(4)"],
    ),
    Program(
        "deque",
        """
from collections import deque
def f(x, d):
    q = deque([1, 2, 3], maxlen=3)
    q.append(4)
    q.appendleft(0)
    q.rotate(1)
    d.append(x * 2)
    d.popleft()
    return x + q.pop() + len(q), list(q), q.maxlen, d[-1] + 1, [v for v in reversed(q)], q
""",
        ["A(4), deque([1, A(4)])", "A(4), deque([1, A(4)], maxlen=2)"],
    ),
    Program(
        "Counter",
        """
from collections import Counter
def f(x, words):
    c = Counter(words)
    c["new"] += 2
    c.update("aab")
    total = sum(c.values())
    return x * total, c.most_common(1), c["absent"], c, Counter(a=3) - Counter(a=1, b=2)
""",
        ["A(4), ['a', 'b', 'a']"],
    ),
    Program(
        "defaultdict and OrderedDict",
        """
from collections import OrderedDict, defaultdict
def f(xs):
    groups = defaultdict(list)
    for x in xs:
        groups[len(x)].append(x + 1)
    counts = defaultdict(int)
    for x in xs:
        counts[x.ndim] += 1
    order = OrderedDict(a=1, b=2)
    order.move_to_end("a")
    return groups, dict(counts), list(order), order.popitem(last=False), groups[4][0] * 2
""",
        ["[A(4), A(3), A(4)]"],
    ),
    Program(
        "ChainMap",
        """
from collections import ChainMap
defaults = {"k": 2.0, "b": 1.0}
def f(x, **options):
    settings = ChainMap(options, defaults)
    return x * settings["k"] + settings["b"]
""",
        ["A(4)", "A(4), k=5.0"],
    ),
    Program(
        "sorted with keys",
        """
def f(xs, names):
    by_size = sorted(xs, key=len)
    order = sorted(range(3), key=lambda i: -i), sorted(names, key=str.lower, reverse=True)
    names.sort()
    return [x * 2 for x in by_size], order, names, sorted({3: 1, 1: 2}), sorted([(1, "b"), (1, "a")])
""",
        ["[A(4), A(2), A(3)], ['b', 'A', 'c']"],
    ),
    Program(
        "min, max, sum, any, all",
        """
def f(xs):
    biggest = max(xs, key=len)
    k = min(3, 1, 2) + max([4, 5], default=0) + sum([1, 2], 10) + max((), default=7)
    return biggest * k, any([]), all([]), any(v > 2 for v in (1, 3)), min("ba", "ab"), sum([[1], [2]], [])
""",
        ["[A(4), A(2)]"],
    ),
    Program(
        "round, abs, divmod, pow, bin",
        """
def f(x, n):
    return (x + round(2.567, 2), abs(-3), divmod(17, 5), pow(2, 5), pow(3, 4, 5), bin(n), hex(255), ord("a"), chr(98),
            round(2.5), int("12"), float("1e3"), complex("1+2j"), bool(""), repr("a"), round(-7.5), int(3.9), oct(8))
""",
        ["A(4), 5"],
    ),
    Program(
        "numbers mixed",
        """
def f(x, n, b):
    k = 7 // 2 + 7 % 3 - 2 ** 3 + (5 & 3) + (4 | 1) + (6 ^ 2) + (1 << 4) + (-9 >> 1) + (~4)
    c = 2j * (1 + 1j) + True
    return x * k + b, c, n / 2, n // 2, -n % 3, 1e308 * 10, 0.1 + 0.2, 3 == 3.0 == True, n.bit_length()
""",
        ["A(4), 7, True", "A(4), 8, False"],
    ),
    Program(
        "copy",
        """
import copy
def f(x, d):
    e = copy.copy(d)
    e["new"] = x
    l = d["l"][:]
    l.append(1)
    return e, l, d["l"].copy() + [2], dict(d), list(d["l"]), x * 2
""",
        ["A(4), {'l': [1, 2]}"],
    ),
    Program(
        "string methods",
        """
def f(x, name):
    parts = name.split("_")
    label = "-".join(p.capitalize() for p in parts)
    ok = name.startswith("w") and name.endswith(("b", "x")) and "_" in name
    return (x * len(label), label, ok, name.replace("_", ""), name.upper()[::-1], name.find("q"),
            "%s=%05.2f" % ("k", 2.5),
            "{:>6}|{n!r}".format("a", n=3), name.partition("_"), "a,b".split(","), name.strip("w"), name.encode(),
            [c for c in "ab"], "ab" * 2, "b" > "a", name.isidentifier(), "x".join([]))
""",
        ["A(4), 'w_bias_b'", "A(4), 'q'"],
    ),
    Program(
        "f-strings",
        """
def f(x, n):
    w = 8
    return x + 1, f"{n=} {n:>{w}} {n!r:^5} {3.14159:.2f} {x.shape} {n + 1 = :03d} {{}} {'a' 'b'} {x.dtype} {[1, n]}"
""",
        ["A(4), 5"],
    ),
)

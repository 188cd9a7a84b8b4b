"""Rows: whole programs of notebooks around objects and texts: tables, games, graphs, parsers, accounts."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "word counts table",
        """
from collections import Counter
def f(text, top):
    words = [w.strip(".,;!").lower() for w in text.split()]
    counts = Counter(words)
    rows = counts.most_common(top)
    width = max(len(w) for w, _ in rows)
    freq = np.array([c for _, c in rows]) / len(words)
    for (w, c), p in zip(rows, freq):
        print(f"{w:<{width}} {c:>4d} {p:7.2%}")
    return freq
""",
        ["'the cat and the dog and the bird, the end.', 3", "'a b c a b a. A!', 2"],
    ),
    Program(
        "dijkstra with heap",
        """
import heapq
def f(weights, source):
    n = weights.shape[0]
    dist = np.full(n, np.inf)
    dist[source] = 0
    heap = [(0.0, source)]
    seen = set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in seen:
            continue
        seen.add(u)
        for v in range(n):
            w = weights[u, v]
            if w > 0 and d + w < dist[v]:
                dist[v] = d + w
                heapq.heappush(heap, (dist[v], v))
    return dist
""",
        ["np.random.default_rng(0).integers(0, 9, (6, 6)).astype(float), 0"],
        breaks=1,
    ),
    Program(
        "context manager timers",
        """
import time
from contextlib import contextmanager
@contextmanager
def section(name, log):
    log.append(f"enter {name}")
    try:
        yield log
    except ZeroDivisionError as e:
        log.append(f"error {e}")
    finally:
        log.append(f"leave {name}")
def f(x, d):
    log = []
    with section("a", log) as l:
        y = x * 2
        l.append(y.sum())
    with section("b", log):
        z = 1 // d
        y = y + z
    return y, log
""",
        ["np.arange(4.0), 1", "np.arange(4.0), 0"],
    ),
    Program(
        "tokenizer and calculator",
        """
def tokens(text):
    num = ""
    for ch in text:
        if ch.isdigit() or ch == ".":
            num += ch
        else:
            if num:
                yield float(num)
                num = ""
            if ch != " ":
                yield ch
    if num:
        yield float(num)
def f(text, xs):
    out, stack = [], []
    prec = {"+": 1, "-": 1, "*": 2, "/": 2}
    for t in tokens(text):
        if isinstance(t, float):
            out.append(t)
        elif t == "x":
            out.append(xs)
        else:
            while stack and prec[stack[-1]] >= prec[t]:
                out.append(stack.pop())
            stack.append(t)
    out += reversed(stack)
    work = []
    ops = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}
    for t in out:
        if isinstance(t, str):
            b, a = work.pop(), work.pop()
            work.append(ops[t](a, b))
        else:
            work.append(t)
    return work.pop()
""",
        ["'2 * x + 3.5 - x / 4', np.arange(4.0)", "'x*x', np.arange(4.0)"],
    ),
    Program(
        "fibonacci memo",
        """
def f(n, x):
    memo = {}
    def fib(k):
        if k < 2:
            return k
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]
    weights = np.array([fib(i) for i in range(n)], dtype=float)
    return (weights * x[:n]).sum(), memo
""",
        ["10, np.arange(20.0)", "12, np.arange(20.0)"],
    ),
    Program(
        "group by",
        """
from collections import defaultdict
def f(keys, values):
    groups = defaultdict(list)
    for k, v in zip(keys, values):
        groups[k].append(v)
    table = {k: np.mean(v) for k, v in sorted(groups.items())}
    biggest = max(groups, key=lambda k: len(groups[k]))
    print("\\n".join(f"{k}: {m:.2f}" for k, m in table.items()))
    return table, biggest
""",
        ["['a', 'b', 'a', 'c'], np.array([1.0, 2.0, 3.0, 4.0])", "['z', 'y'], [1.5, 2.5]"],
    ),
    Program(
        "isinstance unions",
        """
def norm(v):
    if isinstance(v, tuple | list):
        return [norm(i) for i in v]
    if isinstance(v, (int, float)):
        return np.float64(v)
    return v / np.linalg.norm(v)
def f(v):
    return norm(v)
""",
        ["[1, 2.5, np.array([3.0, 4.0]), (1, np.ones(4))]"],
    ),
    Program(
        "enum state machine",
        """
from enum import Enum, auto
class State(Enum):
    IDLE = auto()
    UP = auto()
    DOWN = auto()
def f(signal, hi, lo):
    state, events = State.IDLE, []
    for i, v in enumerate(signal):
        match state:
            case State.IDLE | State.DOWN if v > hi:
                state = State.UP
                events.append((i, state.name))
            case State.UP if v < lo:
                state = State.DOWN
                events.append((i, state.name))
    return events, state
""",
        ["np.sin(np.linspace(0, 12, 40)), 0.5, -0.5", "[0.0, 1.0, -1.0, 1.0], 0.5, -0.5"],
        breaks=1,
    ),
    Program(
        "tic tac toe winner",
        """
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
def winner(board):
    for a, b, c in LINES:
        if board[a] != 0 and board[a] == board[b] == board[c]:
            return board[a]
    return 0
def minimax(board, player):
    w = winner(board)
    if w or all(board):
        return w * player, None
    best = (-2, None)
    for i, v in enumerate(board):
        if v == 0:
            board[i] = player
            score = -minimax(board, -player)[0]
            board[i] = 0
            if score > best[0]:
                best = (score, i)
    return best
def f(board, player):
    return minimax(board, player)
""",
        ["[1, -1, 1, -1, 1, -1, 0, 0, 0], 1", "[1, -1, 1, -1, -1, 1, 0, 1, 0], -1"],
        nodes=False,
    ),
    Program(
        "bank account errors",
        """
class Insufficient(Exception):
    def __init__(self, need, have):
        super().__init__(f"need {need}, have {have}")
        self.need = need
class Account:
    rate = 0.02
    def __init__(self, balance):
        self.balance = balance
        self.log = []
    def withdraw(self, amount):
        if amount > self.balance:
            raise Insufficient(amount, self.balance)
        self.balance -= amount
        self.log.append(-amount)
    def grow(self, years):
        self.balance *= (1 + self.rate) ** years
def f(start, amounts):
    acc = Account(start)
    failed = []
    for a in amounts:
        try:
            acc.withdraw(a)
        except Insufficient as e:
            failed.append((a, str(e)))
        else:
            acc.grow(1)
        finally:
            acc.log.append("x")
    return acc.balance, failed, acc.log
""",
        ["100.0, [10, 200, 30]", "50.0, [10, 20, 30.5]"],
        nodes=False,
    ),
    Program(
        "linked list",
        """
class Node:
    __slots__ = ("value", "next")
    def __init__(self, value, next=None):
        self.value, self.next = value, next
class Chain:
    def __init__(self, items=()):
        self.head = None
        for i in items:
            self.push(i)
    def push(self, v):
        self.head = Node(v, self.head)
    def __iter__(self):
        n = self.head
        while n is not None:
            yield n.value
            n = n.next
    def __len__(self):
        return sum(1 for _ in self)
def f(arrays):
    c = Chain(arrays)
    total = sum(a.sum() for a in c)
    return total, len(c), [a[0] for a in c]
""",
        ["[np.arange(3.0), np.ones(2), np.zeros(4)]"],
    ),
    Program(
        "roman numerals",
        """
ROMAN = {"M": 1000, "CM": 900, "D": 500, "CD": 400,
    "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}
def roman(n):
    out = ""
    for s, v in ROMAN.items():
        k, n = divmod(n, v)
        out += s * k
    return out
def f(values):
    return [roman(int(v)) for v in values], np.sum(values)
""",
        ["[4, 9, 1994]", "(2024, 3)"],
    ),
    Program(
        "nested parameters dict",
        """
def merge(base, new):
    out = dict(base)
    for k, v in new.items():
        out[k] = merge(out[k], v) if isinstance(v, dict) and k in out else v
    return out
DEFAULTS = {"model": {"depth": 2, "width": 4}, "lr": 0.1}
def f(x, overrides):
    cfg = merge(DEFAULTS, overrides)
    for i in range(cfg["model"]["depth"]):
        w = np.ones((x.shape[-1], cfg["model"]["width"])) * (i + 1)
        x = np.tanh(x @ w * cfg["lr"])
    return x, cfg
""",
        ["np.ones((2, 4)), {'model': {'depth': 3}}", "np.ones((2, 4)), {'lr': 0.5}"],
    ),
    Program(
        "string table of results",
        """
def f(results):
    names = sorted(results, key=lambda n: results[n]["loss"])
    rows = []
    for rank, name in enumerate(names, 1):
        r = results[name]
        rows.append("|".join([str(rank), name.ljust(6), f"{r['loss']:.3f}", "yes" if r.get("best") else "no"]))
    return "\\n".join(rows), np.mean([r["loss"] for r in results.values()])
""",
        ["{'b': {'loss': 0.5}, 'a': {'loss': 0.25, 'best': True}}"],
    ),
    Program(
        "namedtuple vectors",
        """
from typing import NamedTuple
class Vec(NamedTuple):
    x: float
    y: float
    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)
    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)
    @property
    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5
def f(n, dt):
    pos, vel = Vec(0.0, 0.0), Vec(1.0, 2.0)
    path = []
    for _ in range(n):
        vel = vel + Vec(0.0, -9.81) * dt
        pos = pos + vel * dt
        path.append(pos)
        if pos.y < 0:
            break
    return np.array(path), max(p.y for p in path), pos.norm
""",
        ["50, 0.02", "5, 0.01"],
    ),
    Program(
        "save and restore state",
        """
import contextlib
@contextlib.contextmanager
def temporarily(obj, **values):
    old = {k: getattr(obj, k) for k in values}
    for k, v in values.items():
        setattr(obj, k, v)
    try:
        yield obj
    finally:
        for k, v in old.items():
            setattr(obj, k, v)
class Model:
    scale, bias = 1.0, 0.0
    def __call__(self, x):
        return x * self.scale + self.bias
m = Model()
def f(x, fail):
    try:
        with temporarily(m, scale=3.0, bias=1.0) as t:
            y = t(x)
            if fail:
                raise KeyError("stop")
    except KeyError as e:
        y = x * 0
    return y, m(x), vars(m)
""",
        ["np.arange(3.0), False", "np.arange(3.0), True"],
    ),
    Program(
        "nearest neighbour vote",
        """
from collections import Counter
def f(X, y, q, k):
    out = []
    for p in q:
        d = ((X - p) ** 2).sum(axis=1)
        near = np.argsort(d)[:k]
        votes = Counter(y[i] for i in near)
        out.append(votes.most_common(1)[0][0])
    return out
""",
        ["np.array([[0.0, 0], [1, 1], [5, 5], [6, 5]]), ['a', 'a', 'b', 'b'], np.array([[0.5, 0.5], [5.5, 5.0]]), 3"],
        breaks=1,
    ),
)

"""Rows B33 to B44: containers."""

from __future__ import annotations

import gc
import weakref

import pytest

import jitmagic as jm
from tests.conformance.programs import explained, load, same_everywhere


def test_b33_a_list_is_changed_in_place_and_guarded_by_length() -> None:
    text = "x = np.ones(3); l = [x]\ndef f(x, l):\n    l.append(x * len(l))\n    l[0] = l[0] + 1\n    return l"
    same_everywhere(text, ["f(x, l)", "f(x, [x])", "f(x, l)", "f(x, [x, x])"], [1, 1, 2, 3])


@pytest.mark.parametrize("made", ["[]", "[1.0, 2.0]", "collections.deque([1.0, 2.0], maxlen=4)", "collections.deque()"])
@pytest.mark.parametrize("change", ["l.append(float(x.sum()))", "l.extend([1.5, x * 2])"])
def test_b33_a_list_that_only_grows_may_have_any_length(made: str, change: str) -> None:
    text = f"import collections\nx = np.ones(3); l = {made}\ndef f(x, l):\n    {change}\n    return x * 2"
    calls = ["f(x, l)", "l", "f(x, l)", "l.append(7)", "f(x, l)", "l", "same = l", "f(x, l)", "same is l", "l"]
    same_everywhere(text, calls, [1, 1, 1, 1])


def test_b33_a_list_that_grows_is_still_a_list() -> None:
    text = """
class Log(list):
    def append(self, v): super().append(v * 2)
x = np.ones(3); l = []
def f(x, l):
    l.append(1.0)
    return x * 2
"""
    same_everywhere(text, ["f(x, l)", "l = Log()", "f(x, l)", "l", "f(x, ())", "l = []", "f(x, l)", "l"])


def test_b33_a_list_that_grows_under_two_names_grows_in_order() -> None:
    text = "x = np.ones(3); l = []\ndef f(x, a, b):\n    a.append(1.0); b.append(2.0); a.append(3.0)\n    return x"
    same_everywhere(text, ["f(x, [], l)", "l", "f(x, l, l)", "l", "f(x, l, [])", "l"], [1, 2, 2])


@pytest.mark.parametrize(
    "read", ["len(l)", "l[-1]", "sum(l)", "1.5 in l", "bool(l)", "l[0]", "l.count(1.5)", "l == [1.5]"]
)
def test_b33_what_is_read_after_growing_is_that_of_the_grown_list(read: str) -> None:
    for made in ("[2.5]", "collections.deque([2.5, 3.5], maxlen=2)"):
        text = (
            f"import collections\nx = np.ones(3); l = {made}\ndef f(x, l):\n    l.append(1.5)\n    return x * ({read})"
        )
        same_everywhere(text, ["f(x, l)", "l", "f(x, l)", "l.append(4.5)", "f(x, l)", "l"])


@pytest.mark.parametrize(
    "change",
    ["l.extend([x, 2])", "l.insert(1, x)", "l.pop()", "l.remove(2)", "l.clear()", "l.reverse()", "l.sort(reverse=True)",
     "l[1:] = [7, 8, 9]", "del l[0]", "l += [x]", "l *= 2"],
)  # fmt: skip
def test_b33_every_change_of_a_list_is_seen_by_its_owner(change: str) -> None:
    text = f"x = np.ones(3); l = [1, 2, 3]; same = l\ndef f(x, l):\n    {change}\n    return x * len(l)"
    same_everywhere(text, ["f(x, l)", "l[:] = [1, 2, 3]", "f(x, l)"])


def test_b34_list_like_containers_go_in_and_come_out() -> None:
    text = """
import collections
Point = collections.namedtuple("Point", "x y")
t = (np.ones(2), 3); p = Point(np.ones(2), 5); q = collections.deque([1.0, 2.0], maxlen=2)
d = {"a": np.ones(2), "b": np.zeros(2)}
def f(t, p, q, v):
    a, n = t
    q.append(7.0)
    total = a * n + p.x * p.y
    for each in v:
        total = total + each
    return total, t, p, p._replace(y=6), q, Point(total, 1), (total,)
"""
    same_everywhere(text, ["f(t, p, q, d.values())", "f(t, p, q, d.values())", "f((t[1] + t[0], 4), p, q, d.values())"])


def test_b34_a_list_that_is_an_index_is_no_array() -> None:
    text = "x = np.arange(12).reshape(3, 4)\ndef f(x, i): return x[i], x[tuple(i)], x[[i, i]]"
    same_everywhere(text, ["f(x, [0, 1])", "f(x, [2, 3])", "f(x, [0, 1])"])


def test_b35_a_list_that_contains_itself_breaks_with_that_reason() -> None:
    text = "l = [1]; l.append(l); x = np.ones(2)\ndef f(x, l):\n    y = x + 1\n    return y * l[0], l"
    same_everywhere(text, ["f(x, l)", "f(x, l)"])
    text = "l = [1]; l.append(l); x = np.ones(2)\ndef f(x, l):\n    y = x + 1\n    return np.array(l, object), y"
    same_everywhere(text, ["f(x, l)"])
    found = explained(text, "f(x, l)")
    assert ["contains itself" in b.reason for b in found.breaks] == [True]


def test_b35_cycles_through_other_containers_end() -> None:
    text = """
l = [2.0]; d = {"l": l, "n": 3}; l.append(d); d["d"] = d; x = np.ones(2)
def f(x, l):
    l[1]["n"] += 1
    l[1]["d"]["l"][0] *= 2
    return x * l[0] * d["n"], l, [l, d]
"""
    same_everywhere(text, ["f(x, l)", "f(x, l)"])


def test_b36_the_iterator_of_the_caller_advances() -> None:
    text = """
it = iter((3, 5, 7)); next(it); x = np.ones(2)
def f(it, x):
    for v in it:
        x = x * v
    return x
"""
    same_everywhere(text, ["f(it, x)", "f(it, x)", "f(iter([1, 2]), x)", "list(it)"])
    longer = ["f(iter((3, 5)), x)", "f(iter((3, 5, 7)), x)", "it = iter((3, 3, 5)); next(it)", "f(it, x)", "list(it)"]
    same_everywhere(text, longer)
    text = "it = iter([1, 2, 3, 4]); x = np.ones(2)\ndef f(it, x): return x * next(it) + next(it)"
    same_everywhere(text, ["f(it, x)", "list(it)", "f(it, x)"])
    kinds = "x = np.ones(2)\ndef f(it, x): return [x * v for v in it], list(it)"
    sources = (
        "zip([1, 2])",
        "map(abs, [-1])",
        "enumerate([5])",
        "iter({1: 2})",
        "reversed([1, 2])",
        "(i for i in [1])",
    )
    calls = [f"f(({source}), x)" for source in sources[:1]] + [f"f({source}, x)" for source in sources[1:]]
    same_everywhere(kinds.replace("x * v", "(x, v)"), calls)


def test_b37_slices_and_ranges_are_guarded_by_their_bounds() -> None:
    text = "x = np.arange(9.0)\ndef f(x, s): return x[s] * 2, s.start, s.stop, s.step"
    same_everywhere(text, [f"f(x, slice(1, {n}))" for n in (3, 4, 5)], [1, 2, 2])
    text = "x = np.ones(2)\ndef f(x, r): return x * r.stop"
    same_everywhere(text, [f"f(x, range(0, {stop}, 3))" for stop in (10, 12, 10)], [1, 2, 2])
    text = "x = np.ones(2)\ndef f(x, r): return [x * i for i in r], len(r), r"
    same_everywhere(text, ["f(x, range(3))", "f(x, range(4))", "f(x, range(5, 0, -2))"])


def test_b38_dicts_of_every_class_are_guarded_by_their_keys() -> None:
    text = """
import collections, enum
class E(enum.Enum):
    A = 1
    B = 2
x = np.ones(2)
def f(x, d):
    total = x * 0
    for k in d:
        total = total * 2 + d[k]
    d["n"] = total
    return total, d, type(d).__name__
"""
    same_everywhere(
        text,
        ["f(x, {'a': 1, 'b': 2})", "f(x, {'a': 1, 'b': 3})", "f(x, {'a': 1, 'c': 2})",
         "f(x, collections.OrderedDict(a=1, b=2))", "f(x, collections.defaultdict(list, a=1, b=2))",
         "f(x, {(1, 2): 5, (0, 'a'): x})", "f(x, {E.A: 1, E.B: x})", "f(x, {})", "f(x, {np.int64(3): 1})"],
    )  # fmt: skip


def test_b38_a_new_key_is_a_compile_and_a_value_follows_its_own_rule() -> None:
    text = "x = np.ones(2)\ndef f(x, d): return x * d['a'] + d['b']"
    calls = [f"f(x, {{'a': 1, 'b': {b}}})" for b in (2, 3, 4)]
    same_everywhere(text, [*calls, "f(x, {'a': 1, 'b': 4, 'c': 1})"], [1, 2, 2, 3])
    same_everywhere(text, [f"f(x, {{'a': x, 'b': x * {b}}})" for b in (2, 3)], [1, 1])
    tuples = "x = np.ones(2)\ndef f(x, d): return x * d[1, 2] + d[0, 'a']"
    same_everywhere(tuples, ["f(x, {(1, 2): x, (0, 'a'): x})", "f(x, {(1, 2): x, (0, 'b'): x})"])


def test_b38_keys_are_named_as_the_program_writes_them() -> None:
    text = """
import enum
class E(enum.Enum):
    A = 1
x = np.ones(2); d = {(1, "a"): x + 1, E.A: x + 2, (E.A,): x + 3}
def f(x, d): return x * d[1, "a"] + d[E.A] + d[E.A,]
"""
    same_everywhere(text, ["f(x, d)", "f(x * 2, d)", "f(x, {**d, E.A: x})"])
    sources = {g.source for g in explained(text, "f(x, d)").guards if g.kind == "ARRAY_MATCH"}
    assert sources == {"x", "d[(1, 'a')]", "d[E.A]", "d[(E.A,)]"}


def test_b38_equal_keys_of_other_classes_are_other_keys() -> None:
    text = "x = np.ones(2)\ndef f(x, d): return [x * k for k in d], list(d), list(d.items()), d.copy()"
    same_everywhere(text, ["f(x, {1: 2})", "f(x, {True: 2})", "f(x, {1.0: 2})", "f(x, {1: 2})", "f(x, {1 + 0j: 2})"])
    text = "x = np.ones(2)\ndef f(x, d): return [x, list(d)]"
    calls = ["f(x, {0.0: 2})", "f(x, {-0.0: 2})", "f(x, {(1, 2): 3})", "f(x, {(True, 2.0): 3})"]
    same_everywhere(text, calls)


def test_b39_a_missing_key_is_inserted_by_the_factory() -> None:
    text = """
import collections
x = np.ones(2); d = collections.defaultdict(float); e = collections.defaultdict(list)
def f(x, d, e):
    d["new"] += x
    e["xs"].append(1)
    return d["new"], len(e)
"""
    same_everywhere(text, ["f(x, d, e)", "f(x, d, e)", "f(x, d, e)"])
    text = """
import collections
d = collections.defaultdict(lambda: 5.0); x = np.ones(2)
def f(x, d): return x * d["k"], d.get("q")
"""
    same_everywhere(text, ["f(x, d)", "d.clear(); d.default_factory = lambda: 7.0", "f(x, d)"])


def test_b40_order_is_guarded_where_it_was_read() -> None:
    text = "x = np.ones(2)\ndef f(x, d):\n    for v in d.values():\n        x = x * 10 + v\n    return x"
    same_everywhere(text, ["f(x, {'a': 1, 'b': 2})", "f(x, {'b': 2, 'a': 1})"], [1, 2])
    text = "x = np.ones(2)\ndef f(x, d): return x * d['a'] + d['b']"
    same_everywhere(text, ["f(x, {'a': 1, 'b': 2})", "f(x, {'b': 2, 'a': 1})"], [1, 1])
    for use in ("list(d)", "next(iter(d))", "d.popitem()", "str(d)", "{**d}", "dict(d)", "[*d]", "tuple(d.items())",
                "d | {'c': 1}", "sorted(d)", "max(d)", "d", "d == {'a': 1, 'b': 2}", "' '.join(d)",
                "(lambda **k: list(k))(**d)",
                "d.copy()", "list(reversed(d))", "dict(zip(d, d.values()))"):  # fmt: skip
        text = f"x = np.ones(2)\ndef f(x, d): return x, {use}"
        same_everywhere(text, ["f(x, {'a': 1, 'b': 2})", "f(x, {'b': 2, 'a': 1})"])
    keywords = "x = np.ones(2)\ndef f(x, **k): return [x * v for v in k.values()], list(k)"
    same_everywhere(keywords, ["f(x, a=1, b=2)", "f(x, b=2, a=1)"])


def test_b41_an_empty_table_is_told_from_none() -> None:
    text = """
class M: pass
m = M(); m.hooks = {}; x = np.ones(2)
def f(x):
    for hook in (m.hooks.values() if m.hooks else ()):
        x = hook(x)
    return x * 2 + len(m.hooks.get("k", ""))
"""
    same_everywhere(
        text, ["f(x)", "m.hooks[1] = lambda x: x + 5", "f(x)", "m.hooks = None", "f(x)", "m.hooks = {}", "f(x)"]
    )


def test_b42_the_state_of_a_step_is_found_by_its_object() -> None:
    text = """
class P:
    def __init__(self, v): self.v = v
class Opt: pass
p = P(np.ones(2)); opt = Opt(); opt.state = {p: {"m": np.zeros(2)}}
def f(opt, p):
    s = opt.state[p]
    s["m"] = 0.9 * s["m"] + p.v
    p.v = p.v - 0.1 * s["m"]
    return p.v
"""
    same_everywhere(text, ["f(opt, p)", "f(opt, p)", "f(opt, p)"])


STATE_OF_PARAMETERS = """
from jitmagic import nn
class Opt: pass
a = np.ones(2); p, q = nn.Parameter(a), nn.Parameter(np.zeros(2))
opt = Opt(); opt.state = {p: {"m": np.zeros(2)}, q: {"m": np.ones(2)}}
def f(opt, p):
    s = opt.state[p]
    s["m"] = 0.9 * s["m"] + 1
    return s["m"] * 2
"""


def test_b42_a_parameter_finds_its_state_and_can_be_freed() -> None:
    calls = ["f(opt, p)", "f(opt, p)", "f(opt, q)", "f(opt, p)", "[s['m'] for s in opt.state.values()]"]
    found = same_everywhere(STATE_OF_PARAMETERS, calls)
    assert found.compiles[1] == 1, found.compiles
    names = load(STATE_OF_PARAMETERS)
    f = jm.compile(names["f"])
    f(names["opt"], names["p"])
    gone = [weakref.ref(names[name]) for name in ("a", "opt")]  # p holds a
    names.clear()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert f.jit.compiles == 1


def test_b44_sets_are_guarded_by_their_members() -> None:
    text = "S = {1, 2}; F = frozenset(['a']); x = np.ones(2)\ndef f(x): return x * (3 in S) + ('b' in F)"
    calls = ["f(x)", "S.add(3)", "f(x)", "S.discard(3)", "f(x)", "F = frozenset(['b'])", "f(x)"]
    same_everywhere(text, calls, [1, 2, 2, 3])
    text = "s = {1, 2}; x = np.ones(2)\ndef f(x, s):\n    s.add(5)\n    s.discard(1)\n    return x * len(s), s"
    same_everywhere(text, ["f(x, s)", "f(x, s)", "f(x, {1, 2})"])


def test_b44_equal_members_of_other_classes_are_other_members() -> None:
    text = "x = np.ones(2)\ndef f(x, s): return [x * v for v in s], list(s), s"
    same_everywhere(
        text, ["f(x, {1})", "f(x, {True})", "f(x, {1.0})", "f(x, frozenset([1]))", "f(x, {-0.0})", "f(x, {0})"]
    )
    text = "x = np.ones(2)\ndef f(x, s): return x, list(s)"
    same_everywhere(text, ["f(x, {8, 0})", "f(x, {0, 8})"])


@pytest.mark.parametrize(
    "body",
    ["for k in d: d[k + 'x'] = 1", "for v in d.values():\n        d['b'] = 9\n        out.append(v)",
     "for k, v in d.items():\n        out.append(v)\n        d.pop('b', None)", "for k in list(d): del d[k]",
     "for v in s: s.add(v + 10)", "for v in s: s.discard(v)", "for v in q: q.append(v)", "for v in q: q.rotate(1)",
     "for v in l: (l.append(v) if len(l) < 5 else None)", "for v in l: l.remove(v)",
     "it = iter(l)\n    out += [*it]\n    l.append(5)\n    out += [*it]",
     "for k in d: d[k] = 7", "it = iter(d)\n    next(it)\n    d['z'] = 1\n    next(it)"],
)  # fmt: skip
def test_a_container_that_changes_while_it_is_looped_over(body: str) -> None:
    text = f"""
import collections
d = {{"a": 1, "b": 2}}; s = {{1}}; q = collections.deque([1, 2]); l = [1, 2, 3]; x = np.ones(2)
def f(x):
    out = []
    {body}
    return x * 2, out, l
"""
    same_everywhere(text, ["f(x)", "f(x)"])

"""Whatever is changed in a tree of modules, the next call follows; what nothing read costs no compile."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from jitmagic.nn import dynamic
from jitmagic.runtime import covering
from jitmagic.runtime.native import code

X = np.arange(6.0).reshape(2, 3)


class Base(nn.Module):
    shift = 1.0
    unread = 1.0

    def bend(self, x: Any) -> Any:
        return x + self.shift


class Leaf(Base):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.array([1.0, 2.0, 3.0]))
        self.register_buffer("mean", np.array([0.5, 0.25, 0.125]))
        self.scale = 3.0
        self.powers = [1.0, 2.0]
        self.table = {"a": 2.0, "b": [4.0]}
        self.pair = (1.5, 2.5)
        self.unused = 1.0

    @property
    def factor(self) -> float:
        return self.scale * 2.0

    def forward(self, x: Any) -> Any:
        y = self.bend(x) * self.weight - self.mean
        y = y * self.factor + self.powers[1] + self.table["a"] + self.table["b"][0] + self.pair[0]
        return y * 2.0 if self.training else y


class Tree(Base):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Sequential(Leaf(), nn.Sequential(Leaf(), nn.Identity()))
        self.named = nn.ModuleDict({"p": Leaf(), "q": Leaf()})
        self.named["q"].weight[...] = [0.5, -1.0, 0.25]

    def forward(self, x: Any) -> Any:
        x = self.rows(x)
        for name, layer in self.named.items():
            x = layer(x) - len(name)
        for parameter in self.parameters():
            x = x * 0.5 + parameter
        return x


def deep(tree: Any) -> Any:
    """A leaf three levels down."""
    return tree.rows[1][0]


def reorder(table: dict[str, Any]) -> None:
    key = next(iter(table))
    table[key] = table.pop(key)


class Other(Leaf):
    def bend(self, x: Any) -> Any:
        return x - 7.0


class Reader:
    """A non-data descriptor, put on a class later."""

    def __get__(self, owner: Any, cls: type) -> float:
        return 11.0


GETATTR = nn.Module.__getattr__


def seven(self: Any, name: str) -> Any:
    return 7.0 if name == "scale" else object.__getattribute__(self, name)


def nothing(self: Any, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[Any]:
    yield from ()


OLD: list[Any] = []  # dicts that modules had before
MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "assignment": lambda t: setattr(deep(t), "scale", 5.0),
    "assignment above": lambda t: setattr(t.rows, "training", False),
    "evaluation": lambda t: t.eval(),
    "delattr uncovers the class": lambda t: (setattr(deep(t), "shift", 9.0), delattr(deep(t), "shift")),
    "shadowing by the instance": lambda t: setattr(deep(t), "shift", 9.0),
    "write to __dict__": lambda t: deep(t).__dict__.__setitem__("scale", 5.0),
    "update of __dict__": lambda t: deep(t).__dict__.update(scale=5.0),
    "vars": lambda t: vars(deep(t)).update(scale=5.0),
    "object.__setattr__": lambda t: object.__setattr__(deep(t), "scale", 5.0),
    "object.__delattr__": lambda t: object.__delattr__(deep(t), "scale"),
    "dict.__setitem__": lambda t: dict.__setitem__(deep(t).__dict__, "scale", 5.0),
    "dict.update": lambda t: dict.update(deep(t).__dict__, scale=5.0),
    "another __dict__": lambda t: setattr(deep(t), "__dict__", {**deep(t).__dict__, "scale": 5.0}),
    "another class": lambda t: setattr(deep(t), "__class__", Other),
    "another __dict__ by object.__setattr__": lambda t: object.__setattr__(
        deep(t), "__dict__", {**deep(t).__dict__, "scale": 5.0}
    ),
    "another class by object.__setattr__": lambda t: object.__setattr__(deep(t), "__class__", Other),
    "another __dict__ while the old one lives": lambda t: OLD.append(
        (vars(deep(t)), object.__setattr__(deep(t), "__dict__", {**vars(deep(t)), "scale": 5.0}))
    ),
    "parameter replaced": lambda t: setattr(deep(t), "weight", np.ones(3)),
    "parameter replaced by a Parameter": lambda t: setattr(deep(t), "weight", nn.Parameter(np.ones(3))),
    "parameter table": lambda t: deep(t)._parameters.__setitem__("weight", np.ones(3)),
    "a Parameter in the table": lambda t: deep(t)._parameters.__setitem__("weight", nn.Parameter(np.ones(3))),
    "register_parameter": lambda t: deep(t).register_parameter("weight", np.ones(3)),
    "parameter deleted": lambda t: delattr(deep(t), "weight"),
    "parameter hidden by the instance": lambda t: deep(t).__dict__.__setitem__("weight", 2.0),
    "parameter of another dtype": lambda t: setattr(deep(t), "weight", np.ones(3, np.float32)),
    "parameter written": lambda t: deep(t).weight.__setitem__(1, 9.0),
    "parameter reshaped in place": lambda t: deep(t).weight.resize((1, 3), refcheck=False),
    "another parameter added": lambda t: setattr(deep(t), "more", nn.Parameter(np.full(3, 4.0))),
    "parameters reordered": lambda t: (
        setattr(t.rows[0], "more", nn.Parameter(np.ones(3))),
        reorder(t.rows[0]._parameters),
    ),
    "tied": lambda t: setattr(t.named["p"], "weight", t.named["q"].weight),
    "buffer replaced": lambda t: setattr(deep(t), "mean", np.ones(3)),
    "buffer table": lambda t: deep(t)._buffers.__setitem__("mean", np.ones(3)),
    "register_buffer": lambda t: deep(t).register_buffer("mean", np.ones(3)),
    "whole table replaced": lambda t: deep(t).__dict__.__setitem__("_buffers", {"mean": np.ones(3)}),
    "child replaced": lambda t: setattr(t.rows[1], "0", Other()),
    "child in the table": lambda t: t.rows[1]._modules.__setitem__("0", Other()),
    "child appended": lambda t: t.rows[1].append(Leaf()),
    "child removed": lambda t: t.named.pop("p"),
    "children reordered": lambda t: reorder(t.named._modules),
    "hook": lambda t: deep(t).register_forward_hook(lambda m, a, r: r * 3.0),
    "hook table": lambda t: deep(t)._forward_pre_hooks.__setitem__(0, (lambda m, a: (a[0] + 1.0,), False)),
    "global hook": lambda t: nn.register_module_forward_hook(lambda m, a, r: r + 1.0),
    "class attribute": lambda t: setattr(Leaf, "shift", 4.0),
    "base class attribute": lambda t: setattr(Base, "shift", 4.0),
    "method of the class": lambda t: setattr(Leaf, "bend", lambda self, x: x * 4.0),
    "method of a base": lambda t: setattr(Base, "bend", lambda self, x: x * 4.0),
    "method's code": lambda t: setattr(Base.bend, "__code__", (lambda self, x: x * 4.0).__code__),
    "method of Module": lambda t: setattr(nn.Identity, "forward", lambda self, input: input * 4.0),
    "call of every module": lambda t: setattr(nn.Module, "_call_impl", lambda self, x: self.forward(x) + 1.0),
    "__call__ of every module": lambda t: setattr(nn.Module, "__call__", lambda self, x: self.forward(x) + 1.0),
    "code of a call": lambda t: setattr(
        nn.Module._call_impl, "__code__", (lambda self, x: self.forward(x) + 1).__code__
    ),
    "missing attributes of every module": lambda t: setattr(
        nn.Module, "__getattr__", lambda self, name: 7.0 if name == "weight" else GETATTR(self, name)
    ),
    "attributes of every module": lambda t: setattr(nn.Module, "__getattribute__", seven),
    "attributes of a class": lambda t: setattr(Leaf, "__getattribute__", seven),
    "attributes of a base": lambda t: setattr(Base, "__getattribute__", seven),
    "walk of every module": lambda t: setattr(nn.Module, "parameters", lambda self: iter([np.ones(3)])),
    "walk below the walk": lambda t: setattr(nn.Module, "named_parameters", lambda *a: iter([("k", np.ones(3))])),
    "walk of the members": lambda t: setattr(nn.Module, "_named_members", lambda *a: iter([("k", np.ones(3))])),
    "walk of the modules": lambda t: setattr(nn.Module, "named_modules", lambda self, *a: iter([("k", self)])),
    "walk of a class below": lambda t: setattr(Leaf, "named_modules", lambda self, *a: iter([])),
    "code of a walk": lambda t: setattr(nn.Module.named_modules, "__code__", nothing.__code__),
    "property": lambda t: setattr(Leaf, "factor", property(lambda self: 4.0)),
    "class attribute over a parameter": lambda t: setattr(Leaf, "weight", 4.0),
    "descriptor on the class": lambda t: setattr(Leaf, "shift", Reader()),
    "bases": lambda t: setattr(Leaf, "__bases__", (Sideways,)),
    "forward of one instance": lambda t: setattr(deep(t), "forward", lambda x: x * 4.0),
    "list element": lambda t: deep(t).powers.__setitem__(1, 9.0),
    "list replaced": lambda t: setattr(deep(t), "powers", [1.0, 9.0]),
    "dict element": lambda t: deep(t).table.__setitem__("a", 9.0),
    "dict replaced": lambda t: setattr(deep(t), "table", {"a": 9.0, "b": [4.0]}),
    "list in a dict": lambda t: deep(t).table["b"].__setitem__(0, 9.0),
    "tuple replaced": lambda t: setattr(deep(t), "pair", (9.0, 2.5)),
    "load_state_dict": lambda t: t.load_state_dict({k: v + 1.0 for k, v in t.state_dict().items()}),
    "load_state_dict by assignment": lambda t: t.load_state_dict(
        {k: v + 1.0 for k, v in t.state_dict().items()}, assign=True
    ),
    "cast": lambda t: t.float(),
}
# Mutations after which the answer is the same, as it happens.
HARMLESS = frozenset({"assignment above", "cast", "delattr uncovers the class", "parameter reshaped in place"})
# Mutations after which a part stays plain Python.
OPAQUE = frozenset(
    name
    for name in MUTATIONS
    if name.startswith(("attributes of", "walk below", "walk of the", "walk of a", "code of a"))
)
INERT: dict[str, Callable[[Any], Any]] = {
    "attribute that nothing read": lambda t: setattr(deep(t), "unused", 5.0),
    "new attribute": lambda t: setattr(deep(t), "fresh", 5.0),
    "class attribute that nothing read": lambda t: setattr(Leaf, "unread", 5.0),
    "an equal value": lambda t: setattr(deep(t), "scale", float("3.0")),
    "an equal table": lambda t: deep(t).__dict__.__setitem__("_buffers", dict(deep(t)._buffers)),
    "a hook that comes and goes": lambda t: deep(t).register_forward_hook(lambda m, a, r: r).remove(),
    "a list grown and shrunk": lambda t: (deep(t).powers.append(1.0), deep(t).powers.pop()),
}


class Sideways(nn.Module):
    shift = 20.0

    def bend(self, x: Any) -> Any:
        return x * self.shift


FORMS = ("read by read", "one comparison", "one comparison in compiled code")


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """How guards are checked; the classes are put back afterwards."""
    monkeypatch.setattr(covering, "is_worth_it", lambda covered: bool(covered) and request.param != FORMS[0])
    monkeypatch.setattr(code, "is_ready", code.prepare if request.param == FORMS[2] else lambda: False)
    monkeypatch.setattr("jitmagic.runtime.native.table.is_ready", code.prepare if request.param == FORMS[2] else bool)
    before = {cls: dict(vars(cls)) for cls in (Base, Leaf, Other, nn.Identity, nn.Module)}
    functions = [Base.bend, nn.Module._call_impl, nn.Module.named_modules]
    codes, bases = [f.__code__ for f in functions], Leaf.__bases__
    monkeypatch.setattr(dynamic, "_marked", weakref.WeakSet())
    with jm.configure(demote=False):
        yield request.param
    for function, before_code in zip(functions, codes, strict=True):
        function.__code__ = before_code  # type: ignore[attr-defined] # they are functions
    Leaf.__bases__ = bases
    for cls, entries in before.items():
        for name in set(vars(cls)) - set(entries):
            delattr(cls, name)
        for name, value in entries.items():
            if vars(cls)[name] is not value:
                setattr(cls, name, value)
    nn.hooks.AFTER_ANY.clear()


def outcome(function: Callable[[], Any]) -> Any:
    try:
        found = function()
    except Exception as error:
        return type(error), str(error)
    return found.dtype, found.shape, found.tobytes()


def compiled(tree: Any, *, fullgraph: bool = True) -> Any:
    def f(x: Any) -> Any:
        return tree(x)

    return jm.compile(f, backend="eager", fullgraph=fullgraph)


def assert_form(function: Any, form: str) -> None:
    entry = function.jit.frame.entries[0]
    assert (len(entry.checked) < len(entry.guards)) == (form != FORMS[0])
    assert (function.jit.frame.native is not None) == (form == FORMS[2])


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_noticed_by_the_next_call(name: str, form: str) -> None:
    tree = Tree()
    function = compiled(tree, fullgraph=name not in OPAQUE)
    for _ in range(3):
        assert outcome(lambda: function(X)) == outcome(lambda: tree(X))
    assert function.jit.compiles == 1
    assert_form(function, form)
    before = outcome(lambda: tree(X))
    MUTATIONS[name](tree)
    for _ in range(3):
        assert outcome(lambda: function(X)) == outcome(lambda: tree(X))
    if name not in HARMLESS:
        assert outcome(lambda: tree(X)) != before, "the mutation changes nothing"


@pytest.mark.parametrize("name", INERT)
def test_what_nothing_read_costs_no_compile(name: str, form: str) -> None:
    tree = Tree()
    function = compiled(tree)
    function(X)
    for _ in range(2):
        INERT[name](tree)
        assert outcome(lambda: function(X)) == outcome(lambda: tree(X))
    assert function.jit.compiles == 1


def test_changes_are_noticed_after_inert_ones(form: str) -> None:
    """The state that passed a test becomes the one to compare with, also for dicts that came later."""
    tree = Tree()
    function = compiled(tree)
    for _, inert in INERT.items():
        function(X)
        inert(tree)
        function(X)
    deep(tree)._buffers["mean"] = np.zeros(3)
    assert outcome(lambda: function(X)) == outcome(lambda: tree(X))
    assert function.jit.compiles == 2


def test_going_back_and_forth_reuses_both_entries(form: str) -> None:
    tree = Tree()
    function = compiled(tree)
    for k in range(6):
        tree.train(k % 2 == 0)
        assert outcome(lambda: function(X)) == outcome(lambda: tree(X))
    assert function.jit.compiles == 2


class Modal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mode = "a"
        self.k = 2.0

    def forward(self, x: Any) -> Any:
        return x * self.k if self.mode == "a" else x + self.k


class Changing(dict[str, Any]):
    """Tells nobody of its changes."""


def reached(root: Any) -> Any:
    return root[0][0]


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "attribute": lambda m, v: setattr(m, "k", v),
    "__dict__": lambda m, v: vars(m).__setitem__("k", v),
    "another dict": lambda m, v: setattr(m, "__dict__", {**vars(m), "k": v}),
    "a dict of another class": lambda m, v: (
        vars(m).__setitem__("k", v) if type(vars(m)) is Changing else setattr(m, "__dict__", Changing(vars(m), k=v))
    ),
}


@pytest.mark.parametrize("limit", [1, 2, 32])
@pytest.mark.parametrize("name", CHANGES)
def test_changes_in_a_row_are_each_noticed(name: str, limit: int, form: str) -> None:
    """Also where no entry is added any more, so that an old one is asked again after each of them."""
    root = nn.Sequential(nn.Sequential(Modal()))
    with jm.configure(entry_limit=limit):
        function = compiled(root)
        for value in (2.0, 3.0, 4.0, 2.0, 5.0, 5.0, 2.0, 6.0):
            CHANGES[name](reached(root), value)
            for _ in range(4):
                assert outcome(lambda: function(X)) == outcome(lambda: root(X)), value
    assert function.jit.compiles <= limit


@pytest.mark.parametrize("limit", [1, 32])
def test_a_table_that_is_set_right_again_is_noticed(limit: int, form: str) -> None:
    """The guards fail first in a dict that nobody watched; the entry serves again when that one is right."""
    root = nn.Sequential(nn.Sequential(Leaf()))
    good = reached(root)._buffers["mean"]
    with jm.configure(entry_limit=limit):
        function = compiled(root)
        function(X)
        reached(root).__dict__["_buffers"] = {"mean": np.ones(3)}
        for mean in (np.zeros(3), good, np.ones(3), good):
            for _ in range(3):
                assert outcome(lambda: function(X)) == outcome(lambda: root(X))
            reached(root)._buffers["mean"] = mean
        compiles, hits = function.jit.compiles, function.jit.hits
        assert outcome(lambda: function(X)) == outcome(lambda: root(X))
        assert (function.jit.compiles, function.jit.hits) == (compiles, hits + 1)


def test_threads_never_take_a_state_that_is_not_tested_for_a_good_one(form: str) -> None:
    """Each thread changes the module and calls under one lock of its own; others only call all the time."""
    root = nn.Sequential(nn.Sequential(Modal()))
    function = compiled(root)
    wrong: list[float] = []
    changing = threading.Lock()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(value: float) -> None:
        for _ in range(150):
            function(X)
            with changing:
                reached(root).k = value
                found = function(X)
                if not np.array_equal(found, X * value):
                    wrong.append(value)

    try:
        with jm.configure(entry_limit=2):
            threads = [threading.Thread(target=work, args=(float(k),)) for k in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_an_entry_goes_with_its_module(form: str) -> None:
    def f(m: Any, x: Any) -> Any:
        return m(x)

    function = jm.compile(f, backend="eager")
    trees = [Tree() for _ in range(2)]
    weights = [weakref.ref(deep(tree).weight) for tree in trees]
    for tree in trees:
        function(tree, X)
    del tree, trees
    gc.collect()
    assert len(function.jit.frame.entries) <= 1
    assert [w() for w in weights] == [None, None]


def test_a_report_names_what_changed_in_a_module(form: str) -> None:
    tree = Tree()
    function = compiled(tree)
    function(X)
    deep(tree).scale = 5.0
    function(X)
    assert jm.recompiles(function)[0].source == "tree.rows[1][0].scale"


def test_a_process_with_watched_modules_ends_quietly() -> None:
    """Dicts die after compiled code is gone; nobody may tell of that any more."""
    program = """
import linecache, numpy as np, jitmagic as jm
from jitmagic import nn
text = "def f(x): return m(x)"
linecache.cache["<f>"] = (len(text), None, [text], "<f>")
class Ring: pass
for backend in ("eager", "numba"):
    m = nn.Sequential(*[nn.Linear(3, 3) for _ in range(9)])
    names = {"m": m}
    exec(compile(text, "<f>", "exec"), names)
    names["f"] = jm.compile(names["f"], backend=backend)
    names["f"](np.ones((2, 3)))
    entry = names["f"].jit.frame.entries[0]
    print(len(entry.checked) < len(entry.guards))
    kept = Ring()
    kept.me, kept.names, m.ring = kept, names, kept
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\nTrue\n"), done.stderr

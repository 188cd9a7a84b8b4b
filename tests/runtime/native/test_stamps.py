"""Every way to change a dict changes its stamp; nothing else does."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from jitmagic.errors import InternalError
from jitmagic.runtime.native import stamps
from jitmagic.runtime.native.layout import dict_tag
from jitmagic.runtime.native.stamps import DictStamp, can_watch


class Module:
    """As the modules to come: the instance owns a plain dict."""

    scale = 1.0

    def __new__(cls):
        self = object.__new__(cls)
        self.__dict__ = {}
        return self

    def __init__(self):
        self._parameters = {"w": np.ones(2)}
        self._buffers = {"mean": np.zeros(2)}
        self._modules = {}
        self._hooks = {}
        self.k = 1.0
        self.training = True


def dicts_of(module: Module) -> list[dict]:
    own = module.__dict__
    tables = [own[name] for name in ("_parameters", "_buffers", "_modules", "_hooks")]
    return [own, *tables, *(d for child in own["_modules"].values() for d in dicts_of(child))]


def tree() -> Module:
    root = Module()
    root._modules["a"], root._modules["b"] = Module(), Module()
    root._modules["a"]._modules["deep"] = Module()
    return root


def deep(m: Module) -> Module:
    return m._modules["a"]._modules["deep"]


def reorder(table: dict) -> None:
    table["a"] = table.pop("a")


CHANGES = {
    "assignment": lambda m: setattr(m, "k", 2.0),
    "assignment by statement": lambda m: exec("m.k = 3.0", {"m": m}),
    "assignment below": lambda m: exec("m.k = 3.0", {"m": deep(m)}),
    "new attribute": lambda m: setattr(deep(m), "fresh", 1),
    "delattr": lambda m: delattr(deep(m), "k"),
    "object.__setattr__": lambda m: object.__setattr__(deep(m), "k", 5.0),
    "object.__delattr__": lambda m: object.__delattr__(deep(m), "k"),
    "write to __dict__": lambda m: deep(m).__dict__.__setitem__("k", 6.0),
    "update of __dict__": lambda m: deep(m).__dict__.update(k=7.0),
    "dict.update": lambda m: dict.update(deep(m).__dict__, k=8.0),
    "dict.__setitem__": lambda m: dict.__setitem__(deep(m).__dict__, "k", 9.0),
    "in-place union": lambda m: deep(m).__dict__.__ior__({"k": 10.0}),
    "setdefault": lambda m: deep(m).__dict__.setdefault("other", 1),
    "pop": lambda m: deep(m).__dict__.pop("k"),
    "popitem": lambda m: deep(m).__dict__.popitem(),
    "clear": lambda m: deep(m)._hooks.update(x=1) or deep(m)._hooks.clear(),
    "parameter table": lambda m: deep(m)._parameters.__setitem__("w", np.zeros(2)),
    "buffer table": lambda m: deep(m)._buffers.__setitem__("mean", np.ones(2)),
    "module table": lambda m: m._modules.__setitem__("c", Module()),
    "hook": lambda m: deep(m)._hooks.__setitem__(1, len),
    "reordering": lambda m: reorder(m._modules),
    "vars": lambda m: vars(deep(m)).update(training=False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_seen(name) -> None:
    module = tree()
    stamp = DictStamp(dicts_of(module))
    before = stamp.value
    CHANGES[name](module)
    assert stamp.value != before


def test_a_change_in_a_loop_that_python_specialised_is_seen() -> None:
    module = Module()
    stamp = DictStamp([module.__dict__])

    def put(value):
        module.k = value

    for value in range(500):
        before = stamp.value
        put(value * 1000)
        assert stamp.value != before


def test_reading_and_changes_elsewhere_are_no_change() -> None:
    module, other = tree(), tree()
    stamp, stranger = DictStamp(dicts_of(module)), DictStamp(dicts_of(other))
    before = stamp.value
    module.k, deep(module).__dict__.get("k"), list(module._modules), len(module._parameters)
    other.k = 5.0
    deep(other).k = 6.0
    module._parameters["w"][0] = 7.0  # what a value holds is the business of others
    Module.scale = 2.0
    assert stamp.value == before
    assert stranger.value != 0 or not can_watch()


def test_one_dict_in_two_stamps_changes_both() -> None:
    module = tree()
    first, second = DictStamp(dicts_of(module)), DictStamp(dicts_of(deep(module)))
    values = first.value, second.value
    deep(module).k = 2.0
    assert first.value != values[0]
    assert second.value != values[1]
    del second
    gc.collect()
    before = first.value
    deep(module).k = 3.0
    assert first.value != before


def test_stamps_come_and_go() -> None:
    stamps = []
    modules = [tree() for _ in range(40)]
    for module in modules:
        stamps.append(DictStamp(dicts_of(module)))
    del stamps[::2]
    gc.collect()
    for kept, module in zip(stamps, modules[1::2], strict=True):
        before = kept.value
        deep(module).k = -1.0
        assert kept.value != before
    for module in modules:  # also those whose stamp is gone
        deep(module).k = -2.0


@pytest.mark.parametrize("dies", [True, False])
def test_the_death_of_a_watched_dict_is_a_change(dies) -> None:
    module = Module()
    table = module._hooks
    stamp = DictStamp([module.__dict__, table])
    before = stamp.value
    if dies:
        module.__dict__ = {}
        del table
    assert (stamp.value != before) == (dies and can_watch())


def test_a_stamp_keeps_no_dict_alive_where_it_watches() -> None:
    module = tree()
    count = sys.getrefcount(module.__dict__)
    stamp = DictStamp(dicts_of(module))
    more = sys.getrefcount(module.__dict__) - count
    assert more == (0 if can_watch() else 1)
    assert (stamp.address is None) == (not can_watch())


def test_watchers_are_there_from_python_3_12_on() -> None:
    assert can_watch() == (sys.version_info >= (3, 12))


def test_only_exact_dicts_have_stamps() -> None:
    class Sub(dict):
        pass

    with pytest.raises(InternalError, match="exact dicts"):
        DictStamp([Sub()])


def test_threads_change_watched_dicts_at_once() -> None:
    modules = [tree() for _ in range(4)]
    stamps = [DictStamp(dicts_of(m)) for m in modules]
    values = [s.value for s in stamps]

    def work(module):
        for k in range(500):
            deep(module).k = k
            DictStamp([module.__dict__])

    threads = [threading.Thread(target=work, args=(m,)) for m in modules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(s.value != v for s, v in zip(stamps, values, strict=True))


def test_tags_of_dicts_differ_between_dicts() -> None:
    assert dict_tag({"a": 1}) != dict_tag({"a": 1})


@pytest.mark.skipif(not can_watch(), reason="before Python 3.12 stamps have no words of their own")
def test_a_stamp_may_die_while_another_is_written(monkeypatch) -> None:
    """A collection comes anywhere: what the callback still knows has to stay."""
    watcher = stamps._watcher()
    assert watcher is not None
    dying = [DictStamp([{}])]
    word = weakref.ref(dying[0]._word)
    address, bind = dying[0].address, stamps._Watcher._bind

    def disturbed(self: stamps._Watcher, table: stamps.Words) -> None:
        dying.clear()
        bind(self, table)

    monkeypatch.setattr(stamps._Watcher, "_bind", disturbed)
    living = DictStamp([{}])
    known = {int(a) for listed in watcher.kept.values() for a in listed[1:]}
    assert living.address in known
    assert address in known
    assert word() is not None
    monkeypatch.undo()
    later = DictStamp([{}])
    known = {int(a) for listed in watcher.kept.values() for a in listed[1:]}
    assert later.address in known
    assert address not in known
    assert word() is None

"""Rows N19 to N36: containers, attribute reads, what Python's order of lookup gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic import nn
from tests.nn.running import same


def test_n19_a_module_dict_keeps_the_order_of_insertion() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.ModuleDict({'a':nn.Linear(3,3),'b':nn.ReLU()})
def f(x):
    for k,v in m.items(): x=v(x)*len(k)
    return x,list(m.keys()),len(m), len(list(m.values()))
"""
    same(text, ["f(x)", "m['a']=m.pop('a')", "f(x)"], [1, 2])


def test_n20_in_asks_the_right_table_and_is_guarded() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
d=nn.ParameterDict({'w':np.ones(3)})
def f(x): return 'w' in d, x+1
"""
    same(text, ["f(x)", "del d['w']", "f(x)"], [1, 2])


LISTS = """
x = np.arange(6.0).reshape(2, 3)
ml = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)]); seq = nn.Sequential(*ml)
pl = nn.ParameterList([np.ones(3) * i for i in range(4)])
"""


def test_n21_items_by_position_are_specialised_by_value() -> None:
    text = LISTS + "def f(x, n): return ml[n](x) + seq[n](x) + pl[n], ml[-1](x)"
    same(text, ["f(x,2)", "f(x,3)", "f(x,2)", "f(x,3)", "f(x,-2)"], [1, 2, 2, 2, 3])


def test_n21_other_keys_raise_what_python_raises() -> None:
    text = LISTS + "def f(x, n): return ml[n](x)"
    same(text, ["f(x,9)", "f(x,1.5)", "f(x,'0')", "f(x,None)", "f(x,x)", "f(x,np.int64(1))"], breaks=None)
    caught = (
        LISTS
        + """
d = nn.ModuleDict({"a": nn.ReLU()})
def f(x, n):
    try: return d[n](x)
    except (KeyError, TypeError) as error: return str(error), x + 1
"""
    )
    same(caught, ["f(x,'a')", "f(x,'b')", "f(x,2.5)", "f(x,(1, 2))", "f(x,[1])"], breaks=None)


def test_n21_a_getitem_of_the_user_is_traced() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class C(nn.ModuleList):
    def __getitem__(s,k): return super().__getitem__(-1 if k=='last' else k)
ml=C([nn.Linear(3,3) for _ in range(4)])
def f(x): return ml['last'](x), ml[1](x)
"""
    same(text, ["f(x)"], [1])


def test_n22_slices_keep_class_and_members() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
ml=nn.ModuleList([nn.Linear(3,3) for _ in range(4)]); seq=nn.Sequential(*ml)
def f(x): return type(ml[1:]) is nn.ModuleList, ml[1:][0] is ml[1], seq[:2](x)
"""
    same(text, ["f(x)", "seq[:2][0].weight[...]=1", "f(x)"], [1, 1])


def test_n23_rows_iterate_over_their_members() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
ml=nn.ModuleList([nn.Linear(3,3) for _ in range(2)]); pl=nn.ParameterList([np.ones(3),x])
def f(x):
    for m in ml: x=m(x)
    for p in pl: x=x+p
    return x
"""
    same(text, ["f(x)"], [1])


def test_n23_dicts_iterate_over_their_keys() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
row, d = nn.Sequential(nn.ReLU(), nn.Tanh()), nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
p = nn.ParameterDict({"w": np.ones(3)})
def f(x):
    for m in row: x = m(x)
    return x, [k for k in d], [k for k in p]
"""
    same(text, ["f(x)", "d['b'] = d.pop('b')", "f(x)"], [1, 2])


NO_ITEMS = """
import builtins
class Bare: pass
values = [nn.Linear(3, 3), Bare(), 1.5, None, True, 7, np.float64(2.0), np.array(1.0), (1,), "ab", {1: 2}]
def one(value, how):
    try: return HOW
    except (TypeError, ValueError, IndexError, KeyError) as error: return type(error).__name__, str(error)
def f(v): return one(v, 0)
"""
WAYS = (
    *(
        "[n for n in value]",
        "[*value]",
        "(*value,)",
        "{*value}",
        "{**value}",
        "list(value)",
        "dict(value)",
        "len(value)",
    ),
    *("value[0]", "1 in value", "print(*value)", "(lambda a, b: a)(*value)", "(lambda *a: a)(*value)"),
)


@pytest.mark.parametrize("way", WAYS)
def test_n23_what_does_not_iterate_says_so_as_in_python(way: str) -> None:
    text = NO_ITEMS.replace("HOW", way)
    same(text, [f"f(values[{i}])" for i in range(11)], breaks=None)


@pytest.mark.parametrize(
    "statement", ["a, b = value", "for n in value: pass", "value[0] = 1", "del value[0]", "a, *b = value"]
)
def test_n23_nor_do_statements_take_it(statement: str) -> None:
    text = f"""
class Bare: pass
values = [nn.Linear(3, 3), Bare(), 1.5, None, 7, np.float64(2.0), np.array(1.0), (1,)]
def f(x, value):
    try:
        {statement}
    except (TypeError, ValueError) as error: return str(error), x + 1
    return x
"""
    same(text, [f"f(np.ones(3), values[{i}])" for i in range(8)], breaks=None)


def test_n23_iterating_over_a_layer_is_no_break() -> None:
    text = """
x, m = np.ones(3), nn.Linear(3, 3)
def f(x):
    try:
        for p in m: x = x + 1
    except TypeError as error: return str(error), x + 1
"""
    same(text, ["f(x)"], [1])


def test_n24_a_failed_check_of_shapes_raises_the_same() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.LayerNorm(3)
def f(x): return m(x)
"""
    same(text, ["f(x)", "f(x.T)"], breaks=None)


LAYERS = """
layers = [
    nn.LayerNorm(3), nn.GroupNorm(2, 4), nn.RMSNorm(3), nn.BatchNorm1d(3), nn.Conv1d(2, 4, 3, padding=1),
    nn.Conv2d(2, 3, 3, stride=2), nn.ConvTranspose1d(2, 3, 3, stride=2), nn.ConvTranspose2d(2, 3, 3, stride=2),
]
shapes = [(2, 3), (2, 4, 3), (2, 3), (4, 3), (2, 2, 7), (2, 2, 8, 8), (2, 2, 5), (2, 2, 4, 4)]
inputs = [np.sin(np.arange(float(np.prod(s)))).reshape(s) for s in shapes]
def f(m, x): return m(x)
"""


@pytest.mark.parametrize("place", range(8))
def test_n24_helpers_of_layers_are_traced(place: int) -> None:
    same(LAYERS, [f"f(layers[{place}], inputs[{place}])"] * 2, [1, 1])


@pytest.mark.parametrize("place", range(8))
def test_n24_a_wrong_rank_raises_the_same(place: int) -> None:
    for shape in ("(1, 1, 1, 1, 1)", "(3,)", "()"):
        same(LAYERS, [f"f(layers[{place}], inputs[{place}])", f"f(layers[{place}], np.ones({shape}))"], breaks=None)


def test_n24_transposed_convolutions_take_an_output_size() -> None:
    text = LAYERS.replace("f(m, x): return m(x)", "f(m, x, size): return m(x, output_size=size)")
    same(text, ["f(layers[6], inputs[6], [12])", "f(layers[7], inputs[7], [10, 9])"], [1, 2])
    same(text, ["f(layers[6], inputs[6], [99])"], breaks=None)


def test_n25_effects_of_methods_happen_at_every_call() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.calls=0
    def double(s,x):
        s.calls+=1
        return x*2
m=A()
def f(x): return m.double(x)
"""
    same(text, ["f(x)", "f(x)", "f(x)", "f(x)", "f(x)", "m.calls"])


def test_n26_reads_follow_the_order_of_python() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.w=nn.Parameter(np.ones(3))
    @property
    def p(s): return 7.0
m=A(); m.__dict__['p']=3.0
def f(x): return x*m.p+m.w
"""
    same(text, ["f(x)", "A.w=5", "f(x)", "del A.w", "f(x)"], [1, 2, 2])


def test_n28_plain_values_of_the_instance_hide_those_of_the_class() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.a=3
    def b(s): pass
class B(A):
    def __init__(s):
        super().__init__(); s.a=5; s.b=7
    def forward(s,x): return x*s.a*s.b
m=B()
def f(x): return m(x)
"""
    same(text, ["f(x)"], [1])


def test_n30_a_property_replaced_on_the_class_is_noticed() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    @property
    def scale(s): return 2.0
    def forward(s,x): return x*s.scale
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "A.scale=property(lambda s: 3.0)", "f(x)"], [1, 2])


def test_n31_static_and_class_methods_bind_as_in_python() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    @staticmethod
    def s(x): return x+1
    @classmethod
    def c(cls,x): return x*cls.k
    k=2.0
    def i(self,x): return x-1
    def forward(self,x): return self.s(x)+self.c(x)+A.c(x)+self.i(x)
class B(A):
    k=5.0
    @classmethod
    def c(cls,x): return super().c(x)*3
    def forward(self,x): return super().forward(x)
m=B()
def f(x): return m(x)
"""
    same(text, ["f(x)"], [1])


def test_n32_other_class_attributes_break_by_name() -> None:
    text = """
x = np.ones(3)
class A(nn.Module):
    log = open(__import__("os").devnull, "w")
    def forward(self, x):
        self.log.write("a")
        return x * 2
m = A()
def f(x): return m(x)
"""
    found = same(text, ["f(x)", "A.log.close()"], breaks=None)
    assert "A.log (a TextIOWrapper)" in found.breaks[0].reason


def test_n32_class_attributes_are_guarded() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    k=3.0
    def forward(s,x): return x*s.k
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "A.k=4.0", "f(x)"], [1, 2])


def test_n33_the_dict_of_a_module_sees_pending_changes() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def forward(s,x):
        s.flag=1
        a='flag' in s.__dict__
        del s.flag
        return a,'flag' in s.__dict__,s.__class__ is type(s),x+1
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "f(x)"], [1, 1])


def test_n34_a_getattr_of_the_user_is_traced() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class W(nn.Module):
    def __init__(s,i):
        super().__init__(); s.inner=i
    def __getattr__(s,n):
        try: return super().__getattr__(n)
        except AttributeError: return getattr(s.inner,n)
m=W(nn.Linear(3,4))
def f(x): return m.inner(x)+m.bias+m.in_features
"""
    same(text, ["f(x)"], [1])


def test_n35_a_getattribute_of_the_user_is_left_to_python() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
n=[0]
class W(nn.Module):
    def __getattribute__(s,k):
        n[0]+=1
        return super().__getattribute__(k)
    def forward(s,x): return x+1
m=W()
def f(x): return m(x)
"""
    same(text, ["f(x)", "n", "f(x)", "n"], breaks=None)


def test_n36_a_missing_attribute_raises_inside_the_trace() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def forward(s,x):
        try: b=s.bias2
        except AttributeError: b=0
        return x+b+getattr(s,'q',5)
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "m.bias2=3", "f(x)"], [1, 2])


def test_n27_a_child_under_the_name_of_a_method_is_registered_but_hidden() -> None:
    text = """
import warnings
x = np.arange(9.0).reshape(3, 3)
class Parent(nn.Module):
    def linear(self, x): return x + 1
class Child(Parent):
    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.linear = nn.Linear(11, 11)
    def forward(self, x): return self.linear(x)
m = Child()
def f(x): return m(x), "linear" in m._modules
"""
    same(text, ["f(x)", "f(x)"], [1, 1])


def test_n27_the_assignment_warns_once() -> None:
    class Parent(nn.Module):
        def linear(self, x: object) -> object:
            return x

    parent = Parent()
    with pytest.warns(UserWarning, match="'linear'") as seen:
        parent.linear = nn.Linear(2, 2)
    assert len(seen) == 1
    assert list(parent._modules) == ["linear"]


@pytest.mark.parametrize("make", [lambda: nn.Parameter(np.ones(2)), lambda: np.ones(2)], ids=["parameter", "buffer"])
def test_n29_registering_under_a_taken_name_raises(make: Any) -> None:
    class Parent(nn.Module):
        def param(self) -> None:
            pass

    value = make()
    parent = Parent()
    register = setattr if isinstance(value, nn.Parameter) else nn.Module.register_buffer
    with pytest.raises(KeyError, match="'param'"):
        register(parent, "param", value)


def test_n29_also_when_compiled() -> None:
    text = """
x = np.ones(2)
class A(nn.Module):
    def param(self): pass
m = A()
def f(x):
    m.param = nn.Parameter(x)
    return x + 1
"""
    same(text, ["f(x)", "f(x)"], breaks=None)

"""Rows N01 to N18: specialised modules, calls, walks."""

from __future__ import annotations

import pytest

from jitmagic import nn
from jitmagic.errors import InternalError
from jitmagic.tracer.variables.modules import NNModuleTracker
from tests.nn.running import explained, same


def test_n01_each_specialised_instance_has_an_entry_of_its_own() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m = nn.Linear(3, 4); m2 = nn.Linear(3, 4)
def f(m, x): return m(x)
"""
    same(text, ["f(m,x)", "f(m2,x)", "f(m,x)"], [1, 2, 2])


def test_n02_writing_into_a_parameter_is_seen_without_a_compile() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m = nn.Linear(3, 4); m2 = nn.Linear(3, 4)
def f(m, x): return m(x)
"""
    same(
        text,
        [
            "f(m,x)",
            "m.weight[...]=0",
            "f(m,x)",
            "m.load_state_dict({k:v*2 for k,v in m.state_dict().items()})",
            "f(m,x)",
        ],
        [1, 1, 1],
    )


def test_n03_a_parameter_replaced_in_the_table_is_noticed() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m = nn.Linear(3, 4); m2 = nn.Linear(3, 4)
def f(m, x): return m(x)
"""
    same(text, ["f(m,x)", "m._parameters['weight']=nn.Parameter(np.zeros((4,3)))", "f(m,x)"], [1, 2])


def test_n03_every_way_of_replacing_is_noticed() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.act = nn.ReLU()
        self.k = 2.0
        self.register_buffer('buf', np.ones(3))
    def forward(self, x):
        return self.act(self.lin(x)) * self.k + self.buf
m = Block()
def f(x): return m(x)
"""
    same(
        text,
        [
            "f(x)",
            "m.k=3.0",
            "f(x)",
            "setattr(m,'k',4.0)",
            "f(x)",
            "m.__dict__['k']=5.0",
            "f(x)",
            "m.__dict__.update(k=6.0)",
            "f(x)",
            "object.__setattr__(m,'k',7.0)",
            "f(x)",
            "dict.__setitem__(m.__dict__,'k',8.0)",
            "f(x)",
            "m.lin=nn.Linear(3,3)",
            "f(x)",
            "m.lin.register_parameter('weight', nn.Parameter(np.ones((3, 3))))",
            "f(x)",
            "m._buffers['buf']=np.zeros(3)",
            "f(x)",
            "m.register_buffer('buf',np.ones(3)*5)",
            "f(x)",
            "del m.buf",
            "f(x)",
        ],
    )


def test_n07_hooks_of_a_builtin_layer_fire_until_removed() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Linear(3,4)
h=m.register_forward_hook(lambda m,a,r: r*2)
def f(x): return m(x)
"""
    same(text, ["f(x)", "h.remove()", "f(x)"], [1, 2])


def test_n08_a_member_listed_twice_runs_twice() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
l=nn.Linear(3,3)
m=nn.Sequential(l,l)
def f(x): return m(x)
"""
    same(text, ["f(x)"], [1])


def test_n08_a_sequential_takes_one_argument() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
l=nn.Linear(3,3)
m=nn.Sequential(l,l)
def f(x,*y): return m(x,*y)
"""
    same(text, ["f(x,x)", "f(x)"], breaks=None)


def test_n08_an_overridden_forward_of_a_sequential_is_traced() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class S(nn.Sequential):
    def forward(self,x): return super().forward(x)+1
m=S(nn.Linear(3,3))
def f(x): return m(x)
"""
    same(text, ["f(x)"], [1])


def test_n09_hooks_of_a_sequential_run_once_per_call() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
seen=[]
m=nn.Sequential(nn.Linear(3,3))
m.register_forward_pre_hook(lambda m,a: seen.append(1))
def f(x): return m(x)
"""
    same(text, ["f(x)", "len(seen)", "f(x)", "len(seen)"])


def test_n10_calling_by_name_means_the_whole_protocol() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Linear(3,4)
h=m.register_forward_hook(lambda m,a,r: r*2)
def f(x): return m.__call__(x), m._call_impl(x), m._wrapped_call_impl(x)
"""
    same(text, ["f(x)"], [1])


def test_n11_an_explicit_forward_skips_hooks() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Linear(3,4)
h=m.register_forward_hook(lambda m,a,r: r*2)
def f(x): return m.forward(x)
"""
    same(text, ["f(x)"], [1])


def test_n13_dropout_follows_training_and_its_generator() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Sequential(nn.Linear(3,3),nn.Dropout(0.5,rng=np.random.default_rng(0)))
def f(x): return m(x)
"""
    same(text, ["f(x)", "m.eval()", "f(x)", "m.train()", "f(x)"], [1, 2, 2])


def test_n13_training_is_guarded() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def forward(self,x): return x*2 if self.training else x
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "m.eval()", "f(x)", "m.train()", "f(x)"], [1, 2, 2])


def test_n14_hasattr_is_guarded_either_way() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def forward(self,x): return x*2 if hasattr(self,'extra') else x+1
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "m.extra=1", "f(x)", "del m.extra", "f(x)"], [1, 2, 2])


def test_n15_what_a_method_read_is_guarded() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.n=2
    def mask(s): return np.arange(3)<s.n
    def forward(s,x): return x*s.mask()
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "m.n=1", "f(x)"], [1, 2])


def test_n16_walks_honour_all_their_arguments() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.a=nn.Linear(3,3); s.b=nn.Linear(3,3); s.b.weight=s.a.weight
m=A()
def names(**k): return [n for n,_ in m.named_parameters(**k)]
def f(x):
    some=names(prefix='p',recurse=False)
    return names(),names(remove_duplicate=False),some,sum(p.sum() for p in m.parameters())+x
"""
    same(text, ["f(x)"], [1])


def test_n16_an_argument_from_an_array_breaks_by_name() -> None:
    text = """
x, m = np.arange(6.0), nn.Linear(3, 4)
def f(x): return [n for n, _ in m.named_parameters(recurse=x.sum() > 0)], x + 1
"""
    found = same(text, ["f(x)"], breaks=None)
    assert "non-constant module method: m.named_parameters()" in found.breaks[0].reason


def test_n17_children_skip_none_and_repeats_and_modules_start_with_itself() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.a=nn.Linear(3,3); s.b=s.a; s.c=None; s.add_module('d',None)
m=A()
def f(x):
    names=[n for n,_ in m.named_children()],[n for n,_ in m.named_modules()]
    return names,len(list(m.children())),len(list(m.modules())), next(m.modules()) is m, x+1
"""
    same(text, ["f(x)"], [1])


def test_n18_what_a_walk_finds_is_what_attributes_give() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.a=nn.Sequential(nn.Linear(3,3))
m=A()
def f(x): return dict(m.named_parameters())['a.0.weight'] is m.a[0].weight, x+1
"""
    same(text, ["f(x)"], [1])
    text = """
x, m = np.ones((2, 3)), nn.Sequential(nn.Sequential(nn.Linear(3, 3)))
def f(x): return x @ dict(m.named_parameters())["0.0.weight"] @ m[0][0].weight
"""
    assert explained(text).graphs[0].count("input m[0][0].weight ") == 1


def test_n04_a_specialised_module_has_a_source() -> None:
    with pytest.raises(InternalError, match="without the place"):
        NNModuleTracker(nn.Linear, nn.Linear(2, 2), None, is_specialised=True)


def test_n04_a_module_from_an_opaque_call_gives_a_break_and_the_right_answer() -> None:
    text = """
import copy
x = np.arange(6.0).reshape(2, 3)
m = nn.Linear(3, 4)
def f(x):
    k = copy.copy(m)
    return k(x) + 1
"""
    assert same(text, ["f(x)", "f(x)"], breaks=None).breaks


BLOCK = """
x = np.arange(6.0).reshape(2, 3)
class Mine(nn.Linear):
    def forward(self, x): return super().forward(x) * 2
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.act, self.mine = nn.Linear(3, 3), nn.ReLU(), Mine(3, 3)
    def forward(self, x): return self.act(self.linear(x)) + 1
m = Block()
"""


def layers(text: str) -> list[tuple[str, str]]:
    return [(layer.name, layer.kind) for layer in explained(text).layers]


def test_n05_layers_of_the_library_are_shown_as_one_step_each() -> None:
    text = BLOCK + "def f(x): return m(x)"
    assert layers(text) == [("m.linear", "Linear"), ("m.act", "ReLU")]
    assert "m.linear" in explained(text).text.partition("layers (2)")[2]
    same(text, ["f(x)"], [1])


def test_n05_a_subclass_of_the_user_is_looked_into() -> None:
    assert layers(BLOCK + "def f(x): return m.mine(x)") == []


def test_n05_a_hooked_layer_is_looked_into() -> None:
    text = BLOCK + "m.linear.register_forward_hook(lambda m, a, r: r * 2)\ndef f(x): return m(x)"
    assert layers(text) == [("m.act", "ReLU")]


@pytest.mark.parametrize("made", ["type('Linear', (nn.Linear,), {'__module__': nn.Linear.__module__})(3, 3)"])
def test_n06_a_class_made_by_a_helper_is_looked_into(made: str) -> None:
    assert layers(f"x = np.ones((2, 3))\nm = {made}\ndef f(x): return m(x)") == []


def test_n06_the_body_of_a_gradient_shows_the_arrays_of_its_layers() -> None:
    text = BLOCK + "def f(x): return jm.grad(lambda x: m.linear(x).sum())(x)"
    found = explained(text)
    assert found.layers == []
    assert "input m.linear.weight" in found.graphs[0]
    same(text, ["f(x)"], [1])


def test_n06_the_body_of_a_loop_shows_the_arrays_of_its_layers() -> None:
    text = (
        BLOCK
        + """
def f(x):
    while x.sum() < 1e3:
        x = np.abs(m.linear(x)) + x + 100
    return m.act(x)
"""
    )
    found = explained(text)
    assert [layer.name for layer in found.layers] == ["m.act"]
    assert "input m.linear.weight" in found.graphs[0]
    assert "input m.linear.bias" in found.graphs[0]
    same(text, ["f(x)"], [1])


def test_n08_a_row_is_shown_by_its_members() -> None:
    text = "x = np.ones((2, 3))\nl = nn.Linear(3, 3)\nm = nn.Sequential(l, l)\ndef f(x): return m(x)"
    assert [kind for _, kind in layers(text)] == ["Linear", "Linear"]


def test_n11_an_explicit_forward_is_a_step_with_the_name_of_the_module() -> None:
    assert layers(BLOCK + "def f(x): return m.linear.forward(x)") == [("m.linear", "Linear")]

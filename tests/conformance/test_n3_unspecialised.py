"""Rows N37 to N56: unspecialised modules, hooks, pending changes, names."""

from __future__ import annotations

from tests.nn.running import explained, run, same


def test_n37_prints_of_a_hooked_module_come_once() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def forward(s,x):
        print('hi')
        return x+1
m=A(); m.register_forward_hook(lambda m,a,r: r*2)
def f(x): return m(x)
"""
    same(text, ["f(x)"], [1])


def test_n38_a_hooked_instance_makes_its_class_dynamic() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.w=nn.Parameter(np.random.rand(3))
    def forward(s,x): return x+s.w
ms=[A() for _ in range(5)]; ms[0].register_forward_hook(lambda m,a,r: r*2)
def f(m,x): return m(x)
"""
    same(text, ["f(ms[0],x)", "f(ms[1],x)", "f(ms[2],x)", "f(ms[3],x)", "f(ms[4],x)"], [1, 2, 2, 2, 2])


def test_n39_modules_made_inside_do_not_compile_once_per_call() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
def f(x): return nn.Linear(3,4)(x)
"""
    found = same(text, ["f(x)", "f(x)", "f(x)", "f(x)", "f(x)"], breaks=None)
    assert found.compiles[-1] <= 2


def test_n40_many_instances_share_an_entry() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
ms=[nn.Sequential(nn.Linear(3,3),nn.Tanh()) for _ in range(10)]
def f(m,x): return m(x)
"""
    same(
        text,
        [
            "f(ms[0],x)",
            "f(ms[1],x)",
            "f(ms[2],x)",
            "f(ms[3],x)",
            "f(ms[4],x)",
            "f(ms[5],x)",
            "f(ms[6],x)",
            "f(ms[7],x)",
            "f(ms[8],x)",
            "f(ms[9],x)",
        ],
        [1, 2, 2, 2, 2, 2, 2, 2, 2, 2],
    )


def test_n41_a_dynamic_class_needs_one_entry() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.w=nn.Parameter(np.random.rand(3))
    def forward(s,x): return x+s.w
nn.mark_dynamic_class(A)
m,k=A(),A()
def f(m,x): return m(x)
"""
    same(text, ["f(m,x)", "f(k,x)", "k.w=np.zeros(3)", "f(k,x)"], [1, 1, 1])


def test_n43_a_setattr_of_the_user_runs_for_every_write() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
log=[]
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.tmp=nn.ReLU(); s.n=0
    def __setattr__(s,k,v):
        log.append(k)
        super().__setattr__(k,v)
    def forward(s,x):
        s.n=s.n+1
        return x+1
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "log", "m.n", "f(x)", "log"], breaks=None)


def test_n43_deleting_a_child_in_forward() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.tmp=nn.ReLU(); s.k=nn.Linear(3,3)
    def forward(s,x):
        if hasattr(s,'tmp'):
            del s.tmp
        return s.k(x)
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "[n for n,_ in m.named_children()]", "f(x)"])


def test_n44_members_appended_in_the_trace_are_seen() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.layers=nn.ModuleList([nn.Linear(3,3)]); s.l2=nn.Linear(3,3)
    def forward(s,x):
        s.layers.append(s.l2)
        for l in s.layers: x=l(x)
        return x
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "len(m.layers)"])


def test_n46_global_hooks_are_noticed_when_they_come_and_go() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Linear(3,3)
def f(x): return m(x)
"""
    same(
        text, ["f(x)", "h=nn.register_module_forward_hook(lambda m,a,r: r*2)", "f(x)", "h.remove()", "f(x)"], [1, 2, 2]
    )


def test_n47_state_dict_breaks_by_name() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Linear(3,3)
def f(x): return len(m.state_dict()), x+1
"""
    assert "m.state_dict()" in same(text, ["f(x)"], breaks=1).breaks[0].reason


def test_n48_walks_see_pending_parameters_and_buffers() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.register_buffer('buf',np.ones(3))
    def forward(s,x):
        s.w=nn.Parameter(2*np.ones(3))
        s.buf=s.buf+1
        return x+sum(p.sum() for p in s.parameters())+sum(b.sum() for b in s.buffers())
m=A()
def f(x): return m(x)
"""
    same(text, ["f(x)", "m.w", "m.buf", "f(x)", "m.buf"])


def test_n49_parameters_are_unique_and_never_none() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class A(nn.Module):
    def __init__(s):
        super().__init__(); s.a=nn.Linear(3,3,bias=False); s.b=s.a; s.w=nn.Parameter(np.ones(2))
m=A()
def f(x): return [p.shape for p in m.parameters()],[p.shape for p in m.parameters(recurse=False)],x+1
"""
    same(text, ["f(x)"], [1])


def test_n50_the_order_of_nested_tables_is_guarded() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Sequential(nn.Sequential(nn.Linear(3,3)))
def f(x):
    for p in m.parameters(): x=x*2-p.sum()
    return x
"""
    same(text, ["f(x)", "q=m[0][0]._parameters; q['weight']=q.pop('weight')", "f(x)"], [1, 2])


def test_n52_a_forward_that_is_no_python_function_runs_plainly() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
import numba
class A(nn.Module):
    forward=staticmethod(numba.njit(lambda x: x+1))
m=A()
def f(x): return m(x)*2
"""
    assert "Dispatcher" in same(text, ["f(x)"], breaks=None).breaks[0].reason


def test_n55_a_patched_forward_is_traced_and_guarded() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m=nn.Linear(3,3)
def mk(k):
    def fw(x): return x*k
    return fw
def f(x): return m(x)
"""
    same(
        text, ["f(x)", "m.forward=mk(2.0)", "f(x)", "m.forward=mk(3.0)", "f(x)", "del m.forward", "f(x)"], [1, 2, 3, 3]
    )


def _stacks(text: str) -> list[tuple[str, tuple[str, ...]]]:
    found = run(text, ["f(x)"], "eager")
    nodes = found.names["f"].jit.frame.entries[0].capture.graph.nodes
    return [(node.op.name, tuple(map(str, node.stack))) for node in nodes if node.kind == "call"]


def test_n56_nodes_carry_the_names_of_the_modules_around_them() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
    def forward(self, x): return self._modules["linear"](x) * 2
class Top(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def forward(self, x): return self.block(x)
m = Top()
def f(x): return m(x) + 1
"""
    top, block, linear = "m (Top)", "m.block (Block)", "m.block.linear (Linear)"
    stacks = dict(_stacks(text))
    assert stacks["matmul"] == (top, block, linear)
    assert stacks["multiply"] == (top, block)
    assert _stacks(text)[-1] == ("add", ())
    shown = {line.split("(")[0].split()[-1]: line for line in explained(text).graphs[0].splitlines()}
    assert shown["matmul"].endswith("in m.block.linear (Linear)")
    assert shown["multiply"].endswith("in m.block (Block)")
    assert " in " not in shown["add"].rpartition("line")[2]


def test_n56_names_end_with_an_exception() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m = nn.LayerNorm(5)
def f(x):
    try: m(x)
    except RuntimeError: pass
    return x * 3
"""
    assert _stacks(text) == [("multiply", ())]


def test_n45_both_call_paths_give_the_same() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
m = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
def f(x): return m(x)
"""
    calls = [
        "f(x)",
        "h = m[0].register_forward_hook(lambda m, a, r: None)",
        "f(x)",
        "h.remove(); g = nn.register_module_forward_hook(lambda m, a, r: r * 1)",
        "f(x)",
        "g.remove()",
        "f(x)",
    ]
    same(text, calls, [1, 2, 3, 3])


def test_n51_items_of_a_deep_tree_are_read_from_its_tables() -> None:
    text = """
x = np.arange(3.0)
class A(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.w = nn.Parameter(np.ones(3))
        self.inner = inner
nn.mark_dynamic_class(A)
m = A(A(A(A(A(A(None))))))
def f(x):
    deep = m.inner.inner.inner.inner.inner
    try: deep.nothing
    except AttributeError as error: return x * deep.w, str(error)
"""
    same(text, ["f(x)", "m.inner.inner.inner.inner.inner.w = x * 2", "f(x)"], [1, 1])

"""The public names: options are checked in words, marks and directives do what they say, records come out."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native.store import Stored, current_store
from jitmagic.errors import FullGraphError, UserError

X = np.arange(1.0, 7.0)


def double(x):
    return x * 2 + 1


def compiled(f, **options):
    return jm.compile(f, backend="aot_eager", **options)


@pytest.mark.parametrize("write", [jm.compile, jm.compile(), jm.compile(backend="aot_eager", dynamic=True)])
def test_compile_is_a_decorator_with_and_without_arguments(write) -> None:
    f = write(double)
    assert f(X).tolist() == double(X).tolist()
    assert f.jit.compiles == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "fast"}, "backend is one of 'numba', 'eager', 'aot_eager'"),
        ({"target": "tpu"}, "target is one of 'cpu', 'cuda'"),
        ({"dynamic": "auto"}, "dynamic is True, False or None"),
        ({"fullgraph": 1}, "fullgraph is True or False"),
        ({"fastmath": None}, "fastmath is True or False"),
        ({"check": "yes"}, "check is True or False"),
    ],
)
def test_wrong_options_list_the_right_ones(options: dict, words: str) -> None:
    with pytest.raises(UserError, match=words):
        jm.compile(double, **options)
    with pytest.raises(TypeError):
        jm.compile(double, unknown=1)


def test_a_registered_backend_gets_the_graph_and_the_examples() -> None:
    seen = []

    def backend(graph, examples):
        seen.append((len(list(graph.calls())), [e.tolist() for e in examples]))
        return lambda inputs: [inputs[0] * 0]

    jm.register_backend("nothing", backend)
    assert "nothing" in jm.list_backends()
    f = jm.compile(double, backend="nothing")
    assert f(X).tolist() == (X * 0).tolist()
    assert seen == [(2, [X.tolist()])]


def test_explain_makes_the_call_and_leaves_the_cache_alone() -> None:
    calls = []

    def f(x):
        calls.append(1)
        y = x * 2
        jm.graph_break()
        return y + 1

    g = compiled(f)
    explanation = jm.explain(g)(X)
    assert (explanation.graph_count, explanation.break_count) == (2, 1)
    assert calls == [1]
    assert (g.jit.calls, g.jit.entries, g.jit.compiles) == (0, 0, 0)
    assert any(guard.expression == "x.dtype" for guard in explanation.guards)
    assert "graph break" in str(explanation)


def test_recompiles_are_records_that_read_well() -> None:
    f = compiled(lambda x, n: x * n)
    f(X, 2)
    f(X.astype("f4"), 2)
    [record] = jm.recompiles(f)
    assert (record.guard, record.call, record.count) == ("x.dtype", 2, 1)
    assert record.location is not None
    assert record.location.filename == __file__
    assert record.cost_ns > 0
    assert "was float64, is float32" in str(record)
    with pytest.raises(UserError, match="is not compiled"):
        jm.recompiles(double)


def test_full_graph_refuses_a_break_and_the_function_stays_callable() -> None:
    def f(x):
        y = x * 2
        jm.graph_break()
        return y

    with pytest.raises(FullGraphError, match="graph_break"):
        compiled(f, fullgraph=True)(X)


def test_graph_break_does_nothing_in_plain_python() -> None:
    assert jm.graph_break() is None


def test_a_disabled_function_is_neither_compiled_nor_looked_into() -> None:
    @jm.disable
    def inner(x):
        return x * 3

    assert jm.compile(inner) is inner
    explanation = jm.explain(lambda x: inner(x) + 1)(X)
    assert [b.code for b in explanation.breaks] == ["disabled"]
    assert compiled(lambda x: inner(x) + 1)(X).tolist() == (X * 3 + 1).tolist()
    assert jm.disable(compiled(double)).__code__ is double.__code__


def test_a_function_allowed_in_graphs_is_one_node() -> None:
    @jm.allow_in_graph
    def inner(a):
        return np.array([float(v) for v in a])

    def f(x):
        return inner(x * 2) + 1

    explanation = jm.explain(f)(X)
    assert (explanation.graph_count, explanation.break_count) == (1, 0)
    assert "inner(" in str(explanation.graphs[0])
    assert compiled(f)(X).tolist() == f(X).tolist()


def test_a_wrapper_with_the_attributes_of_a_compiled_function_is_another_function() -> None:
    inner = compiled(double)

    @functools.wraps(inner)
    def wrapper(x):
        return inner(x) + 100

    outer = compiled(lambda x: wrapper(x) * 1)
    assert outer(X).tolist() == (double(X) + 100).tolist()
    again = compiled(wrapper)
    assert again(X).tolist() == (double(X) + 100).tolist()


def test_an_inlined_compiled_function_is_guarded() -> None:
    names = {"inner": compiled(double), "jm": jm}
    exec("def outer(x): return inner(x) + 0", names)
    outer = compiled(names["outer"])
    assert outer(X).tolist() == double(X).tolist()
    inner = names["inner"]

    @functools.wraps(inner)
    def wrapper(x):
        return inner(x) + 100

    names["inner"] = wrapper
    assert outer(X).tolist() == (double(X) + 100).tolist()
    names["inner"] = compiled(lambda x: x - 1)
    assert outer(X).tolist() == (X - 1).tolist()


def test_dynamic_sizes_compile_twice_and_marked_ones_once() -> None:
    f = compiled(double)
    for n in (3, 4, 5, 6):
        assert f(X[:n]).tolist() == double(X[:n]).tolist()
    assert f.jit.compiles == 2
    g = compiled(double)
    for n in (3, 4, 5):
        x = X[:n].copy()
        jm.mark_dynamic(x, 0)
        g(x)
    assert g.jit.compiles == 1


def test_a_promise_that_the_function_breaks_is_an_error_and_a_wish_is_not() -> None:
    def f(x):
        return x * 2 if x.shape[0] == 5 else x

    x = X[:5].copy()
    jm.mark_dynamic(x, 0)
    with pytest.raises(UserError, match="mark_dynamic"):
        compiled(f)(x)
    y = X[:5].copy()
    jm.maybe_mark_dynamic(y, 0)
    assert compiled(f)(y).tolist() == f(y).tolist()
    with pytest.raises(UserError, match="axis 3"):
        jm.mark_dynamic(x, 3)


def test_static_marks_compile_each_size() -> None:
    f = compiled(double)
    for n in (3, 4, 5):
        x = X[:n].copy()
        jm.mark_static(x)
        f(x)
    assert f.jit.compiles == 3


def test_reset_and_clear_forget_everything() -> None:
    f = compiled(double)
    f(X)
    f(X)
    jm.reset()
    assert (f.jit.entries, f.jit.calls, f.jit.compiles) == (0, 0, 0)
    f(X)
    assert f.jit.compiles == 1
    f.jit.clear()
    assert f.jit.entries == 0


def test_clear_cache_empties_the_store_on_disk_too(tmp_path) -> None:
    with jm.configure(cache_dir=tmp_path):
        store = current_store()
        assert store.put("a" * 64, Stored("kernel", b"code"))
        f = compiled(double)
        f(X)
        jm.clear_cache()
        assert store.get("a" * 64) is None
        assert not list((tmp_path / "kernels").iterdir())
        assert f.jit.entries == 0


def test_every_verb_gives_something_that_reads_as_text_and_html() -> None:
    f = compiled(lambda x, n: x * n + 1)
    f(X, 2)
    f(X, 3)
    for verb in ("breaks", "why", "guards", "graph", "source", "report"):
        view = getattr(f.jit, verb)()
        assert str(view), verb
        assert "text/html" in view._repr_mimebundle_(), verb
    assert f.jit.check(X, 2)
    assert "same answer" in str(f.jit.check(X, 2))
    assert "plain NumPy" in str(f.jit.time(X, 2))
    assert "2 compiles" in repr(f.jit)


def test_checks_do_not_disturb_the_arguments() -> None:
    def f(x):
        x += 1
        return x[1:]

    g, x = compiled(f), X.copy()
    assert g.jit.check(x)
    assert x.tolist() == X.tolist()


def test_settings_are_read_and_set_through_one_name() -> None:
    before = jm.config.entry_limit
    with jm.configure(entry_limit=5):
        assert jm.config.entry_limit == 5
    assert jm.config.entry_limit == before
    with pytest.raises(UserError, match="no setting 'limit'"):
        jm.configure(limit=5)


def test_importing_is_light_and_compile_does_not_load_a_code_generator() -> None:
    program = (
        "import sys, jitmagic as jm; f = jm.compile(lambda x: x);"
        "print(*[m for m in ('numba', 'llvmlite', 'IPython', 'ipywidgets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_explain_says_why_nothing_is_captured_of_a_function_that_stays_plain() -> None:
    def numbers(n):
        yield from range(n)

    def warns(x):
        warnings.warn("two", UserWarning, stacklevel=2)
        return x * 2

    assert "it is a generator" in str(jm.explain(numbers)(3))
    with pytest.warns(UserWarning, match="two"):
        explanation = jm.explain(warns)(X)
    assert (explanation.graph_count, explanation.break_count) == (0, 0)
    assert "plain Python: it looks at its callers (a warning with stacklevel)" in " ".join(str(explanation).split())


def test_explain_looks_into_a_partial() -> None:
    explanation = jm.explain(functools.partial(lambda a, b: a + b, 2))(X)
    assert (explanation.graph_count, explanation.break_count) == (1, 0)

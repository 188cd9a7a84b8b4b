"""What serves the calls of a frame: entries, other threads' entries, plain Python, the frames after graph breaks."""

from __future__ import annotations

import gc
import threading
import weakref
from types import FunctionType

import numpy as np
import pytest

from jitmagic import configure
from jitmagic.backends.base import Bail
from jitmagic.errors import Span, UserError
from jitmagic.events import BreakEvent, CompileEvent, FallbackEvent, RecompileEvent, recording
from jitmagic.runtime.recompiles import fold
from jitmagic.tracer.capture import Break, Capture, Resume
from jitmagic.tracer.guards import GlobalSource, Guard, GuardSet
from jitmagic.tracer.guards.kinds import identity_guard
from tests.runtime.captures import Tracer, add_guard, compiled, product_of

X = np.arange(4.0)


def product(x, y):
    return x * y


def counts(f) -> tuple[int, int, int, int]:
    return f.jit.calls, f.jit.hits, f.jit.compiles, f.jit.entries


def test_equal_calls_hit_one_entry() -> None:
    tracer = Tracer()
    f = compiled(product, tracer)
    for _ in range(5):
        assert f(X, X).tolist() == (X * X).tolist()
    assert counts(f) == (5, 4, 1, 1)
    assert len(tracer.log) == 1


def test_another_dtype_compiles_and_says_what_changed_and_where() -> None:
    f = compiled(product)
    f(X, X)
    with recording() as events:
        f(X.astype(np.float32), X)
        line = _line() - 1
    [compile_event, recompile] = events
    assert isinstance(compile_event, CompileEvent)
    assert compile_event.entry == 1
    assert isinstance(recompile, RecompileEvent)
    assert (recompile.guard, recompile.then, recompile.now) == ("x.dtype", "float64", "float32")
    assert recompile.caller == Span(__file__, line)
    assert recompile.call == 2
    assert recompile.remedy
    assert recompile.cost_ns == compile_event.elapsed_ns > 0
    f(X, X)
    assert counts(f) == (3, 1, 2, 2)


def _line() -> int:
    import sys

    return sys._getframe(1).f_lineno


def test_the_closest_entry_explains_a_miss() -> None:
    """The one whose first failing guard comes last."""
    f = compiled(product)
    f(X, X)
    f(X.astype(np.float32), X)
    with recording() as events:
        f(X.astype(np.float32), X.astype(np.int8))
    assert [e.guard for e in events if isinstance(e, RecompileEvent)] == ["y.dtype"]


def test_equal_causes_are_folded() -> None:
    f = compiled(product)
    f(X, X)
    event = RecompileEvent("f", 1, Span("f", 1), 2, "n", "n", "1", "2", 5, "hoist")
    f.jit.record.recompiles += [event, event]
    [record] = fold(f.jit.record.recompiles)
    assert (record.count, record.cost_ns, record.call) == (2, 10, 2)


def test_at_the_limit_nothing_new_is_compiled_and_old_entries_still_hit() -> None:
    tracer = Tracer()
    f = compiled(lambda x, n: x, tracer)
    with configure(entry_limit=4), recording() as events:
        for n in range(8):
            assert f(X, n) is X or f(X, n).tolist() == X.tolist()
        f(X, 2)
        hits = f.jit.hits
        f(X, 2)
    assert len(tracer.log) == 4
    assert f.jit.entries == 4
    assert f.jit.hits == hits + 1
    [fallback] = [e for e in events if isinstance(e, FallbackEvent)]
    assert "what kept changing: n (" in fallback.reason
    assert "entry_limit" in fallback.hint


def test_threads_compile_each_form_once() -> None:
    tracer = Tracer()
    f = compiled(product, tracer)
    dtypes = [np.float64, np.float32, np.int32, np.int8]
    gate = threading.Barrier(16)
    found: list[bool] = []

    def work(index: int) -> None:
        x = np.arange(1000).astype(dtypes[index % 4])
        gate.wait()
        for _ in range(20):
            y = f(x, x)
            found.append(y.dtype == x.dtype and bool((y == x * x).all()))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not f.jit.record.fallbacks
    assert found == [True] * 320
    assert len(tracer.log) == 4
    assert (f.jit.compiles, f.jit.entries) == (4, 4)


def test_a_call_during_tracing_runs_plainly() -> None:
    calls = []

    def tracer(function, arguments, options, state) -> Capture:
        calls.append(f(X, X).tolist())
        return product_of(arguments)

    f = compiled(product, tracer)
    assert f(X, X).tolist() == (X * X).tolist()
    assert calls == [(X * X).tolist()]


def test_a_bail_runs_the_plain_function() -> None:
    def change(capture, arguments) -> None:
        capture.constants.append(bail)
        capture.program = "def program():\n    return K0(arg_x, arg_y)\n"

    def bail(x, y):
        raise Bail

    f = compiled(product, Tracer(change))
    assert f(X, X).tolist() == (X * X).tolist()
    assert f(X, X).tolist() == (X * X).tolist()
    assert f.jit.hits == 1


def test_a_fault_of_the_tracer_leaves_the_function_plain_and_says_so() -> None:
    def tracer(*arguments):
        raise RuntimeError("broken")

    f = compiled(product, tracer)
    with recording() as events:
        assert f(X, X).tolist() == (X * X).tolist()
        assert f(X, X).tolist() == (X * X).tolist()
    [event] = events
    assert "RuntimeError: broken" in event.reason
    assert f.__code__ is f.jit.plain.__code__


def test_a_guard_that_does_not_hold_for_its_own_call_never_serves() -> None:
    wrong = Guard("ID_MATCH", GlobalSource("np"), "{v} is None", "None")
    f = compiled(product, Tracer(add_guard(wrong)))
    with recording() as events:
        assert f(X, X).tolist() == (X * X).tolist()
    assert ["np" in e.reason for e in events] == [True]


def test_a_users_error_of_the_tracer_reaches_the_user() -> None:
    def tracer(*arguments):
        raise UserError("axis 0 was marked dynamic")

    with pytest.raises(UserError, match="marked"):
        compiled(product, tracer)(X, X)


def test_a_function_without_arrays_gets_its_own_code_back_and_is_not_mentioned() -> None:
    """After some calls if it has parameters, which may be arrays next time, else after the first."""
    for f, arguments, calls in ((compiled(lambda n: n + 1), (3,), 3), (compiled(lambda: 4), (), 1)):
        with recording() as events:
            for _ in range(calls):
                assert f.__code__ is not f.jit.plain.__code__
                assert f(*arguments) == 4
        assert f.__code__ is f.jit.plain.__code__
        assert not events
        assert f(*arguments) == 4
        f.jit.clear()
        assert f.__code__ is not f.jit.plain.__code__


def test_a_function_that_names_numpy_is_given_more_than_one_call() -> None:
    def f(x):
        return None if x is None else np.sin(x)

    f = compiled(f)
    f(None)
    assert f.__code__ is not f.jit.plain.__code__
    f(None)
    f(None)
    assert f.__code__ is f.jit.plain.__code__


def test_a_guard_on_a_global_object_holds_it_weakly_and_its_death_drops_the_entry() -> None:
    names = {"helper": lambda: 1}
    plain = FunctionType(product.__code__, names, "product")
    helper = names["helper"]
    f = compiled(plain, Tracer(lambda c, a: c.guards.add(identity_guard(GlobalSource("helper"), names["helper"]))))
    f(X, X)
    f(X, X)
    assert counts(f) == (2, 1, 1, 1)
    dead = weakref.ref(helper)
    del helper
    names["helper"] = lambda: 2
    gc.collect()
    assert dead() is None
    assert f.jit.entries == 0
    with recording() as events:
        f(X, X)
    assert [e.guard for e in events if isinstance(e, RecompileEvent)] == ["helper"]


def test_a_dead_object_is_not_taken_for_none() -> None:
    names = {"helper": lambda: 1}
    plain = FunctionType(product.__code__, names, "product")
    tracer = Tracer(lambda c, a: c.guards.add(identity_guard(GlobalSource("helper"), names["helper"])))
    f = compiled(plain, tracer)
    f(X, X)
    with f.jit.frame.lock:  # nobody can drop the entry now
        names["helper"] = None
        gc.collect()
        assert f.jit.entries == 1
        assert f.jit.frame.entries[0].failure({"x": X, "y": X}, f.jit.frame.names) is not None
    f(X, X)
    assert len(tracer.log) == 2


def test_a_missing_name_is_a_failed_guard() -> None:
    names = {"scale": 1}
    plain = FunctionType(product.__code__, names, "product")
    tracer = Tracer(add_guard(Guard("CONSTANT_MATCH", GlobalSource("scale"), "{v} == 1", "1")))
    f = compiled(plain, tracer)
    f(X, X)
    del names["scale"]
    with recording() as events:
        assert f(X, X).tolist() == (X * X).tolist()
    assert [e.now for e in events if isinstance(e, RecompileEvent)] in ([], ["gone"])
    assert len(tracer.log) == 2


def rest(total, i, n):
    return total


def countdown(function, arguments, options, state) -> Capture:
    """A capture of one round of a loop: adds one, and goes on in the resume function while rounds are left."""
    capture = product_of({"x": arguments["total"]} if "total" in arguments else {"x": arguments["x"]})
    capture.guards = GuardSet()
    resume = Resume(("rest",), lambda cells: rest, "def rest(total, i, n): ...", 7)
    capture.constants += [_tail, resume]
    capture.continues = True
    capture.breaks = [Break("call", "a call that is not known", "remove it", Span(__file__, 7))]
    if "total" in arguments:
        capture.program = (
            "def program():\n"
            "    [same] = graph([arg_total])\n"
            "    return K0(K1, (same + 1, arg_i + 1, arg_n)) if arg_i < arg_n else same\n"
        )
    else:
        capture.program = "def program():\n    [same] = graph([arg_x])\n    return K0(K1, (same, 0, arg_n))\n"
    return capture


def _tail(resume, args):
    from jitmagic.tracer.capture import Tail

    return Tail(resume, args)


def test_resume_functions_run_one_after_the_other_without_growing_the_stack() -> None:
    def loop(x, n):
        for _ in range(n):
            x = x + 1
        return x

    f = compiled(loop, countdown)
    with recording() as events:
        assert f(X, 5000).tolist() == (X + 5000).tolist()
    assert f.jit.compiles == 1
    assert [e.resume for e in events if isinstance(e, CompileEvent)] == [0, 7]
    assert sum(isinstance(e, BreakEvent) for e in events) == 1  # the place is told once
    assert f(X, 3).tolist() == (X + 3).tolist()
    assert counts(f) == (2, 1, 1, 1)


def test_a_dead_function_frees_its_frame_and_entries_at_once() -> None:
    f = compiled(product)
    f(X, X)
    gc.disable()
    try:
        dead = weakref.ref(f.jit.frame)
        del f
        assert dead() is None
    finally:
        gc.enable()


def test_a_function_that_refers_to_itself_is_collected() -> None:
    def outer():
        def f(x, y):
            return x * y if x is not None else f(x, y)

        f = compiled(f)
        f(X, X)
        return weakref.ref(f), weakref.ref(f.jit.frame)

    function, frame = outer()
    gc.collect()
    assert function() is None
    assert frame() is None


def test_defining_a_cell_again_and_again_leaves_nothing_behind() -> None:
    from jitmagic.runtime.registry import compiled_functions

    names: dict = {}
    tracer = Tracer()
    gc.collect()
    before = len(compiled_functions())
    for _ in range(500):
        exec("def f(x, y): return x * y", names)
        names["f"] = compiled(names["f"], tracer)
        names["f"](X, X)
        tracer.log.clear()
    gc.collect()
    assert len(compiled_functions()) == before + 1


@pytest.mark.parametrize("depth", [10, 200, 800])
def test_deep_recursion_needs_no_more_stack_than_plain_python(depth: int) -> None:
    def add(x, n):
        return x if n == 0 else add(x, n - 1) + 1

    add = compiled(add, plain_calls)
    with recording() as events:
        for _ in range(10):
            assert add(X, depth).tolist() == (X + depth).tolist()
    deep = [e for e in events if isinstance(e, FallbackEvent) and "calls itself" in e.reason]
    assert len(deep) == (depth > 16)
    assert (add.__code__ is add.jit.plain.__code__) == (depth > 16)


def plain_calls(function, arguments, options, state) -> Capture:
    """Each call is to run plainly, under guards on its arguments."""
    capture = product_of(arguments)
    capture.plain_reason = "a test"
    return capture


def test_recursion_in_compiled_pieces_is_seen_too() -> None:
    def tracer(function, arguments, options, state) -> Capture:
        capture = product_of({"x": arguments["x"]})
        capture.guards = GuardSet()
        capture.continues = True
        capture.constants.append(lambda x, n: down(x, n))
        capture.program = "def program():\n    return K0(arg_x, arg_n)\n"
        return capture

    def rest(x, n):
        return x if n == 0 else f(x, n - 1) + 1

    def down(x, n):
        return rest(x, n)

    f = compiled(lambda x, n: rest(x, n), tracer)
    assert f(X, 250).tolist() == (X + 250).tolist()
    assert f.__code__ is f.jit.plain.__code__

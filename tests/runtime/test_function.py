"""A compiled function looks and behaves like the function that it stands for."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import subprocess
import sys
import traceback

import cloudpickle
import numpy as np
import pytest

from jitmagic.errors import UserError
from jitmagic.events import recording
from jitmagic.runtime.function import compile_callable, plain_of
from jitmagic.runtime.handle import Handle
from tests.runtime.captures import EAGER, Tracer, compiled

X = np.arange(4.0)


def scale(x, /, y, *rest, k=2, link=0, **more):
    """Multiply.

    >>> 1 + 1
    2
    """
    return x * y


@functools.lru_cache
def everything() -> object:
    scale.note = "kept"  # type: ignore[attr-defined]  # functions take attributes
    return compiled(scale)


@pytest.mark.parametrize(
    "name", ["__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__", "__annotations__"]
)
def test_attributes_are_the_users(name: str) -> None:
    assert getattr(everything(), name) == getattr(scale, name)


def test_it_is_a_function_with_the_users_signature_source_and_attributes() -> None:
    f = everything()
    assert inspect.isfunction(f)
    assert inspect.signature(f) == inspect.signature(scale)
    assert inspect.getsource(f) == inspect.getsource(scale)
    assert f.__globals__ is scale.__globals__
    assert f.note == "kept"
    assert isinstance(f.jit, Handle)
    assert not hasattr(f, "__wrapped__")
    assert f.jit.plain.__code__ is scale.__code__


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((X, X), {}),
        ((X, X, 1, 2), {"k": 3, "link": 1, "other": 4}),
        ((X,), {"y": X, "x": 5}),
    ],
)
def test_arguments_arrive_whatever_their_kind(args: tuple, kwargs: dict) -> None:
    tracer = Tracer()
    f = compiled(scale, tracer)
    assert f(*args, **kwargs).tolist() == (X * X).tolist()
    bound = inspect.signature(scale).bind(*args, **kwargs)
    bound.apply_defaults()
    assert tracer.log == [dict(bound.arguments)]


@pytest.mark.parametrize("call", [lambda f: f(), lambda f: f(1, 2, x=1, k=1, y=2), lambda f: f(X, X, kk=1, y=1)])
def test_wrong_arguments_give_the_plain_error(call) -> None:
    with pytest.raises(TypeError) as plain:
        call(scale)
    with pytest.raises(TypeError) as found:
        call(everything())
    assert str(found.value) == str(plain.value)


def test_changed_defaults_take_effect() -> None:
    def f(x, y=1, *, k=2):
        return x

    tracer = Tracer()
    g = compiled(f, tracer)
    g(X)
    g.__defaults__ = (7,)
    g.__kwdefaults__ = {"k": 8}
    g(X)
    assert [(a["y"], a["k"]) for a in tracer.log] == [(1, 2), (7, 8)]


def test_closure_cells_are_shared() -> None:
    def outer():
        factor = 2.0

        def inner(x):
            return x * factor

        def change(value):
            nonlocal factor
            factor = value

        return inner, change

    inner, change = outer()
    g = compiled(inner, plain_tracer)
    assert g.__closure__ is not None
    assert g.__closure__[0] is inner.__closure__[0]
    assert g.__code__.co_freevars == inner.__code__.co_freevars
    change(3.0)
    assert g(X).tolist() == (X * 3).tolist()


def plain_tracer(function, arguments, options, state):
    """Every call is to run plainly, under a guard on the first parameter."""
    capture = Tracer()(function, arguments, options, state)
    capture.plain_reason = "a test"
    return capture


def test_methods_class_methods_static_methods_and_properties() -> None:
    class Model:
        factor = 3.0

        def __init__(self, w):
            self.w = w

        @functools.partial(compiled, tracer=plain_tracer)
        def method(self, x):
            return self.w * x

        @functools.partial(compiled, tracer=plain_tracer)
        @classmethod
        def of_class(cls, x):
            return cls.factor * x

        @staticmethod
        @functools.partial(compiled, tracer=plain_tracer)
        def static(x):
            return x + 1

        @functools.partial(compiled, tracer=plain_tracer)
        @property
        def doubled(self):
            return self.w * 2

    model = Model(X)
    assert model.method(2).tolist() == (X * 2).tolist()
    assert Model.of_class(X).tolist() == (X * 3).tolist()
    assert model.static(X).tolist() == (X + 1).tolist()
    assert model.doubled.tolist() == (X * 2).tolist()


def test_super_without_arguments_works_in_a_compiled_method() -> None:
    class Base:
        def value(self, x):
            return x

    class Child(Base):
        @functools.partial(compiled, tracer=plain_tracer)
        def value(self, x):
            return super().value(x) + 1

    assert Child().value(X).tolist() == (X + 1).tolist()


def test_a_bound_method_gives_a_bound_compiled_method() -> None:
    class Model:
        def value(self, x):
            return x

    model = Model()
    bound = compiled(model.value, plain_tracer)
    assert bound.__self__ is model
    assert bound(X) is X
    assert not hasattr(Model.value, "jit")


def test_recursion_through_the_compiled_name() -> None:
    def outer():
        @functools.partial(compiled, tracer=plain_tracer)
        def power(x, n):
            return x if n == 0 else power(x, n - 1) * 2

        return power

    assert outer()(X, 3).tolist() == (X * 8).tolist()


def test_lambdas_partials_and_compiled_functions_are_taken() -> None:
    f = compiled(lambda x, y: x * y)
    assert f(X, X).tolist() == (X * X).tolist()
    part = compiled(functools.partial(scale, X))
    assert part(X).tolist() == (X * X).tolist()
    tracer = Tracer()
    server = compiled(scale, tracer).jit.frame.serve
    once = compile_callable(scale, EAGER, server)
    assert compile_callable(once, EAGER, server) is once
    again = compiled(once)
    assert again is not once
    assert again.jit.plain.__code__ is scale.__code__
    assert plain_of(again) is again.jit.plain


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (np.sin, "compiled code already"),
        (len, "compiled code already"),
        (int, "the class int"),
        (3, "an object of type int"),
    ],
)
def test_what_cannot_be_compiled_says_what_can(target: object, words: str) -> None:
    with pytest.raises(UserError, match=words):
        compiled(target)


def test_generators_and_coroutines_stay_plain_and_say_so() -> None:
    def generate():
        yield 1

    async def wait():
        return 1

    with recording() as events:
        assert compiled(generate) is generate
        assert compiled(wait) is wait
    assert ["generator or a coroutine" in e.reason for e in events] == [True, True]


def test_copies_are_the_function_itself() -> None:
    f = everything()
    assert copy.copy(f) is f
    assert copy.deepcopy(f) is f


product = compiled(lambda x, y: x * y)
product.__qualname__ = product.__name__ = "product"


def test_pickle_goes_by_reference() -> None:
    assert pickle.loads(pickle.dumps(product)) is product


def test_cloudpickle_carries_the_function_to_another_process(tmp_path) -> None:
    def outer():
        offset = 1.0

        def f(x, n=2):
            return x * n + offset if n < 5 else f(x, n - 4)

        f = compiled(f, plain_tracer)
        return f

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        path = tmp_path / "f.pickle"
        path.write_bytes(cloudpickle.dumps(outer()))
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    program = (
        "import pickle, sys, numpy as np; f = pickle.load(open(sys.argv[1], 'rb'));"
        "print(f(np.arange(3.0)).tolist(), f(np.arange(3.0), 7).tolist(), f.jit.calls, f.jit.options.backend)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[1.0, 3.0, 5.0] [1.0, 4.0, 7.0] 3 eager"


def test_an_exception_has_the_traceback_of_the_plain_function() -> None:
    def fail(x):
        y = x
        raise KeyError(y)

    names = {}
    for kind, f in (("plain", fail), ("compiled", compiled(fail, plain_tracer))):
        with pytest.raises(KeyError) as raised:
            f(1)
        names[kind] = [(e.name, e.lineno) for e in traceback.extract_tb(raised.value.__traceback__)][1:]
        assert raised.value.__context__ is None
    assert names["compiled"] == names["plain"]
    assert len(names["plain"]) == 1


def test_a_deep_exception_keeps_the_frames_of_every_function() -> None:
    def inner(x):
        raise ValueError(x)

    inner = compiled(inner, plain_tracer)

    def outer(x):
        return inner(x)

    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the test raises it itself
        compiled(outer, plain_tracer)(1)
    assert [e.name for e in traceback.extract_tb(raised.value.__traceback__)][1:] == ["outer", "inner"]

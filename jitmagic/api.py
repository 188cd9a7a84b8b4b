"""The public functions: compile, look, promise, forget."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from jitmagic import verbs
from jitmagic.autograd import trees
from jitmagic.backends import base
from jitmagic.errors import UserError
from jitmagic.explaining import explain
from jitmagic.runtime.engine import serve
from jitmagic.runtime.function import compile_callable
from jitmagic.runtime.handle import Handle, handle_of
from jitmagic.runtime.lowering import backend_names
from jitmagic.runtime.recompiles import Recompile, fold
from jitmagic.runtime.registry import compiled_functions
from jitmagic.tracer import directives, marks
from jitmagic.tracer.capture import Options
from jitmagic.tracer.comptime import comptime
from jitmagic.tracer.directives import allow_in_graph, disable, graph_break, is_disabled

__all__ = [
    "allow_in_graph",
    "clear_cache",
    "compile",
    "comptime",
    "disable",
    "explain",
    "graph_break",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "recompiles",
    "register_backend",
    "register_container",
    "reset",
    "substitute",
    "wait",
]

_TARGETS = ("cpu", "cuda")

verbs.install()


def compile(
    fn: Any = None,
    *,
    backend: str = "numba",
    target: str = "cpu",
    dynamic: bool | None = None,
    fullgraph: bool = False,
    fastmath: bool = False,
    check: bool = False,
) -> Any:
    """Make a function faster without changing what it means; ``f.jit`` tells everything about the result.

    ``@jm.compile``, ``@jm.compile(fastmath=True)`` and ``jm.compile(f)`` are all fine. The result is a function with
    the same name, signature, docstring and pickling.

    * ``backend``: ``"numba"`` (kernels), ``"eager"`` (NumPy, node by node), or a registered one;
    * ``target``: ``"cpu"`` or ``"cuda"`` (see ``docs/cuda.md``);
    * ``dynamic``: None lets a size become symbolic when it changes, True from the first call on, False never;
    * ``fullgraph``: a graph break is an error, raised by the call that meets it; so is a function that has to stay
      plain Python as a whole (a generator, one that looks at its callers), raised here;
    * ``fastmath``: approximations within a few ulp, for speed;
    * ``check``: compare the first call of each entry with plain NumPy, on copies.

    Raises UserError for an unknown option value, or for something that is no Python function.
    """
    options = Options(
        backend=_one_of("backend", backend, list_backends()),
        target=_one_of("target", target, _TARGETS),
        dynamic=_flag("dynamic", dynamic, or_none=True),
        fullgraph=bool(_flag("fullgraph", fullgraph)),
        fastmath=bool(_flag("fastmath", fastmath)),
        check=bool(_flag("check", check)),
    )
    if options.target == "cuda":
        importlib.import_module("jitmagic.backends.numba_cuda.device").require()
    if fn is None:
        return lambda function: _compiled(function, options)
    return _compiled(fn, options)


def _compiled(function: Any, options: Options) -> Any:
    return function if is_disabled(function) else compile_callable(function, options, serve)


def _one_of(option: str, value: Any, choices: Any) -> str:
    if value not in choices:
        known = ", ".join(map(repr, choices))
        more = "; jm.register_backend adds one" if option == "backend" else ""
        raise UserError(f"compile({option}={value!r}): {option} is one of {known}{more}")
    return str(value)


def _flag(option: str, value: Any, or_none: bool = False) -> bool | None:
    if isinstance(value, bool) or (or_none and value is None):
        return value
    choices = "True, False or None" if or_none else "True or False"
    raise UserError(f"compile({option}={value!r}): {option} is {choices}")


def _handle(function: Any) -> Handle:
    handle = handle_of(function)
    if handle is not None:
        return handle
    name = getattr(function, "__qualname__", repr(function))
    raise UserError(f"{name} is not compiled; write @jitmagic.compile above its def, or %%compile on top of its cell")


def recompiles(function: Any) -> list[Recompile]:
    """Why ``function`` was compiled again: one record for each cause, in order. Raises UserError if it is plain."""
    return fold(_handle(function).record.recompiles)


def wait() -> None:
    """Return when the kernels that are being compiled in the background can be used: the next calls take them.

    Kernels that are compiled in this process are in use when the call that needed them returns.
    """
    importlib.import_module("jitmagic.backends.native.worker").wait()


def reset() -> None:
    """Forget everything that was compiled in this process; the next calls compile again."""
    for function in compiled_functions():
        function.jit.clear()  # type: ignore[attr-defined]  # every compiled function has it


def clear_cache() -> None:
    """``reset``, and empty the kernel store on disk."""
    reset()
    importlib.import_module("jitmagic.backends.native.store").current_store().clear()


def register_backend(name: str, fn: Callable[..., Any]) -> None:
    """Make ``backend=name`` mean ``fn(graph, example_inputs)``, which gives ``run(inputs) -> outputs``."""
    base.register_backend(name, fn)


def substitute(function: Any, by: Any = None) -> None:
    """Compile ``by`` wherever compiled code uses ``function`` (``math.sin`` as ``np.sin``); without ``by``, end that.

    Whether both give the same is up to you: plain code goes on with ``function``.
    """
    if by is not None and not callable(by):
        raise UserError(f"substitute({function!r}, {by!r}): the second argument is a function too")
    directives.substitute(function, by)
    if by is not None:
        reset()  # code that was compiled before knows nothing of it


def register_container(
    cls: type, flatten: Callable[[Any], tuple[Any, Any]], unflatten: Callable[[Any, tuple[Any, ...]], Any]
) -> None:
    """Take instances of exactly ``cls`` apart where gradients and exports look for arrays.

    ``flatten(x)`` gives ``(parts, rest)``, and ``unflatten(rest, parts)`` an instance around other parts.
    """
    trees.register_container(cls, flatten, unflatten)
    reset()  # code that was compiled before knows nothing of it


def list_backends() -> list[str]:
    """The names that ``backend=`` takes."""
    return backend_names()


def mark_dynamic(array: Any, axis: int | tuple[int, ...]) -> None:
    """Promise that the size of ``axis`` changes: it is a symbol from the first compile on.

    If the function needs the size to be fixed, or the size is 0 or 1, the call that compiles it raises UserError.
    """
    for each in _axes(axis):
        marks.mark(array, "strict", each)


def maybe_mark_dynamic(array: Any, axis: int | tuple[int, ...]) -> None:
    """The same as a wish: a function that needs the size to be fixed gets it fixed."""
    for each in _axes(axis):
        marks.mark(array, "wished", each)


def mark_static(array: Any, axis: int | tuple[int, ...] | None = None) -> None:
    """Keep the size of ``axis`` (of every axis, if None) fixed: each size is compiled on its own."""
    for each in range(array.ndim) if axis is None else _axes(axis):
        marks.mark(array, "static", each)


def mark_static_address(array: Any) -> None:
    """Promise that this very array is passed at every call."""
    marks.mark(array, "address")


def _axes(axis: int | tuple[int, ...]) -> tuple[int, ...]:
    return axis if isinstance(axis, tuple) else (axis,)

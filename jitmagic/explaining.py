"""Takes a function and the arguments of one call, gives the ``Explanation`` of what is captured in that call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from jitmagic.aot.examples import examples_of
from jitmagic.aot.inference import purify
from jitmagic.errors import JitMagicError
from jitmagic.events import Event, FallbackEvent, recording
from jitmagic.graph.node import ModuleCall
from jitmagic.report import Explanation, FrozenRecord, LayerRecord
from jitmagic.runtime.engine import serve
from jitmagic.runtime.function import compile_callable, plain_of
from jitmagic.runtime.handle import Handle
from jitmagic.tracer.capture import Capture, Options
from jitmagic.tracer.directives import is_opaque

__all__ = ["explain"]


def explain(function: Any) -> Callable[..., Explanation]:
    """``explain(f)(*args)`` makes the call, through the interpreter, and tells what was captured on the way.

    Nothing is added to the cache of ``f`` and no kernel is built. Raises what the call raises.
    """

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        with recording() as events:
            watched = _watched(function)
        handle = _handle_of(watched)
        watched(*args, **kwargs)
        return _left_plain(watched, events) if handle is None else _explanation(handle)

    return explained


def _watched(function: Any) -> Any:
    """A compiled copy that nobody hears of; the function itself where it stays plain Python."""
    if isinstance(function, MethodType):
        return MethodType(_watched(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(_watched(function.func), *function.args, **function.keywords)
    plain = plain_of(function) if hasattr(function, "__code__") else function
    watched = compile_callable(plain, Options(backend="eager"), serve)
    if (handle := _handle_of(watched)) is not None:
        handle.record.listener = _ignore
    return watched


def _handle_of(function: Any) -> Handle | None:
    if isinstance(function, functools.partial):
        return _handle_of(function.func)
    handle: Handle | None = getattr(function, "jit", None)
    return handle


def _left_plain(function: Any, events: Sequence[Event]) -> Explanation:
    """Nothing is captured of a function that is not compiled at all: the reason takes the place of the graphs."""
    while isinstance(function, functools.partial):
        function = function.func
    reasons = [event.reason for event in events if isinstance(event, FallbackEvent)]
    return Explanation(function.__qualname__, flags=[f"plain Python: {reason}" for reason in reasons])


def _ignore(event: Event) -> None:
    """Nobody listens."""


def _explanation(handle: Handle) -> Explanation:
    record = handle.record
    compiled = [event for event in record.compiled if event.node_count]
    frozen = [text for entry, _ in handle.all_entries() for text in entry.capture.frozen]
    return Explanation(
        record.name,
        graphs=[event.graph_text for event in compiled],
        breaks=list(record.breaks),
        guards=[guard for event in record.compiled for guard in event.guards],
        effects=[effect for event in record.compiled for effect in event.effects],
        frozen=[_frozen(text) for text in dict.fromkeys(frozen)],
        layers=_layers(handle),
        memory=[line for entry, _ in handle.all_entries() for line in _memory(entry.capture)],
        flags=[event.reason for event in record.fallbacks] + _outside(handle),
    )


def _memory(capture: Capture) -> list[str]:
    """What a graph writes, and which of its results share memory: "x: written", "out0: view of x"."""
    try:
        plan = purify(capture.graph, examples_of(capture.graph)).plan
    except JitMagicError:  # there is no pure form; the call ran plainly, and says so itself
        return []
    lines = str(plan).splitlines()
    return lines if any(not line.endswith(": new") for line in lines) else []


def _outside(handle: Handle) -> list[str]:
    """One remark for each function that the graphs call without looking into it (``jm.allow_in_graph``)."""
    nodes = (node for entry, _ in handle.all_entries() for node in entry.capture.graph.nodes)
    names = (node.op.name for node in nodes if node.op is not None and is_opaque(node.op.call))
    return [f"{name} is called without being looked into" for name in dict.fromkeys(names)]


def _frozen(text: str) -> FrozenRecord:
    """From ``SCALE = 3.0``: what is no argument is taken as it is, and guarded."""
    expression, _, value = text.partition(" = ")
    return FrozenRecord(expression, value, "it is no argument: another value is compiled for anew")


def _layers(handle: Handle) -> list[LayerRecord]:
    """Calls of layers in program order; what is inside a layer counts to the outermost one."""
    found: dict[tuple[int, ModuleCall], int] = {}
    for place, (entry, _) in enumerate(handle.all_entries()):
        for node in entry.capture.graph.nodes:
            layer = next((call for call in node.stack if call.is_layer), None)
            if layer is not None and node.kind == "call":
                found[place, layer] = found.get((place, layer), 0) + 1
    return [LayerRecord(call.name, call.kind, count) for (_, call), count in found.items()]

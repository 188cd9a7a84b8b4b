"""Takes a function and the arguments of one call, gives the Capture of that call.

An attempt that finds out that it must treat a place differently is thrown away without a trace and made again
(row N37); what was learnt is in the ``Policy``. Nothing of the user's is run, except pure functions of constants.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.errors import FullGraphError, Span, Unsupported
from jitmagic.events import EffectRecord
from jitmagic.graph.verifier import verify
from jitmagic.tracer.breaks import CATALOGUE, describe
from jitmagic.tracer.builder import Builder
from jitmagic.tracer.builtin_calls import BUILTINS, call_builtin
from jitmagic.tracer.capture import Break, Capture, FrameState, Options
from jitmagic.tracer.emit import Emitter
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.expressions import EXPRESSIONS
from jitmagic.tracer.finish import add_final_guards, late_guards
from jitmagic.tracer.flow import write_effects, write_ending
from jitmagic.tracer.frame import Frame, frame_of, is_piece
from jitmagic.tracer.generator_frames import run_generator
from jitmagic.tracer.generators import GeneratorTracker
from jitmagic.tracer.guards import ClosureSource, LocalSource
from jitmagic.tracer.language import Language
from jitmagic.tracer.looking import asks_for_its_variables, looks_past_it
from jitmagic.tracer.operators import binary, compare
from jitmagic.tracer.output import OutputGraph, Policy
from jitmagic.tracer.resume import DRAWN, BreakHere, Continuation, continue_after
from jitmagic.tracer.signals import PlainRun, Raised, Restart, without_frames
from jitmagic.tracer.split import split
from jitmagic.tracer.statement_rows import STATEMENTS
from jitmagic.tracer.statements import run_block
from jitmagic.tracer.texts import repr_text
from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["capture"]

LANGUAGE = Language(
    run_block=run_block,
    statements=STATEMENTS,
    expressions=EXPRESSIONS,
    call_builtin=call_builtin,
    builtins=BUILTINS,
    compare=compare,
    binary=binary,
    generator=GeneratorTracker,
    run_generator=run_generator,
    repr_text=repr_text,
)
ATTEMPTS = 200  # every restart learns one place; more than this in one function is left plain


def capture(function: FunctionType, arguments: dict[str, Any], options: Options, state: FrameState) -> Capture:
    """Trace ``function(**arguments)``. Raises UserError only for what the user asked for and cannot have."""
    policy = Policy()
    for _ in range(ATTEMPTS):
        output = _new_output(options, state, policy)
        try:
            captured = _attempt(function, arguments, output)
            for hook, moment in output.hooks:
                hook(moment)
            return captured
        except Restart as restart:
            without_frames(restart)
            policy.keep_types(output.guards)
        except Unsupported as error:
            without_frames(error)
            policy.keep_types(output.guards)
            try:
                _learn(policy, error, function)
            except PlainRun as stop:
                return _plain(output, function, stop.code, stop.detail)
        except Raised as raised:
            if isinstance(raised.error, RecursionError) and raised.error.__traceback__ is not None:
                raise raised.error from None  # Python's own: the stack has no room for the trace
            return _plain(output, function, "raises", _first_line(raised.error))
        except PlainRun as stop:
            return _plain(output, function, stop.code, stop.detail)
        finally:
            output.let_go()
    return _plain(_new_output(options, state, policy), function, "too-many-breaks", str(ATTEMPTS))


def _first_line(error: BaseException) -> str:
    """Class and first line of an exception; of one that would ask objects of the user's for their text, the class."""
    kind = type(error)
    is_known = kind.__module__ == "builtins" and all(type(each) is str for each in error.args)
    if not is_known and kind.__module__.partition(".")[0] != "numpy":
        return kind.__name__
    return f"{kind.__name__}: {error}".partition("\n")[0].removesuffix(": ")


def _new_output(options: Options, state: FrameState, policy: Policy) -> OutputGraph:
    output = OutputGraph(options, state, policy)
    output.builder = Builder(output)
    output.language = LANGUAGE
    return output


def _attempt(function: FunctionType, arguments: dict[str, Any], output: OutputGraph) -> Capture:
    frame = _frame(function)
    if not is_piece(function.__code__) and (looking := looks_past_it(function)):  # defined since it was compiled
        raise PlainRun("callers", looking)
    output.is_strict = "raise" in np.geterr().values()
    output.heard = frozenset(name for name, how in np.geterr().items() if how != "ignore")
    tx = _evaluator(function, frame, arguments, output)
    with np.errstate(all="ignore"):
        try:
            result: VariableTracker | BreakHere = tx.run()
        except BreakHere as stop:
            without_frames(stop)
            result = stop
    if any(generator.needs_closing for generator in output.generators):
        raise PlainRun("generator-use", "a function that leaves a generator unfinished")
    if isinstance(result, BreakHere):
        _refuse_break(output, frame, result.cause)
        if looking := asks_for_its_variables(frame, function):
            raise PlainRun("own-variables", looking)
        return _finish_break(tx, frame, function, result)
    return _finish(tx, result)


def _frame(function: FunctionType) -> Frame:
    try:
        frame = frame_of(function)
    except Unsupported as error:
        raise PlainRun(error.code, error.detail) from None
    if frame.is_generator:
        raise PlainRun("generator", function.__qualname__)
    return frame


def _evaluator(function: FunctionType, frame: Frame, arguments: dict[str, Any], output: OutputGraph) -> Evaluator:
    builder = output.builder
    builder.drawn = getattr(frame.node, DRAWN, frozenset())
    closure = {
        name: builder.real_cell(cell, ClosureSource(index, name), f"C[{index}]")
        for index, (name, cell) in enumerate(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
    }
    local: dict[str, VariableTracker] = {n: builder.lazy(v, LocalSource(n)) for n, v in arguments.items()}
    return Evaluator(output, frame, function.__globals__, "G", local, closure)


def _learn(policy: Policy, error: Unsupported, function: FunctionType) -> None:
    """Remember what has to run as plain Python at the next attempt."""
    statement = error.statement
    if statement is None:
        raise PlainRun(error.code, error.detail) from error
    place = policy.place(function.__code__, statement)
    if error.around is statement and place not in policy.rewritten:
        pieces = split(statement, error.node, error, function)
        if pieces is not None:
            policy.rewritten[place] = pieces
            return
    policy.rewritten.pop(place, None)
    policy.opaque[place] = error


def _refuse_break(output: OutputGraph, frame: Frame, cause: Unsupported) -> None:
    if not output.options.fullgraph:
        return
    shown = _innermost(cause, frame.filename)
    reason = describe(_innermost(cause))
    text = reason.text if shown.inner is None else f"{reason.text} ({_inside(shown)})"
    span = shown.span or cause.span or Span(frame.filename, frame.code.co_firstlineno)
    cause_text = f"{span.shown}: {text}. Try: {reason.hint}"
    name = frame.code.co_qualname
    message = f"fullgraph=True allows no graph break, but {name} has one at {cause_text}."
    if "plain Python" in reason.hint:
        message += " That needs fullgraph=False."
    raise FullGraphError(message, cause_text)


def _innermost(cause: Unsupported, filename: str = "") -> Unsupported:
    """The break inside a callee that made the call a break; the last one on the way that stands in ``filename``."""
    found = cause
    while cause.inner is not None:
        cause = cause.inner
        if not filename or cause.span is None or cause.span.filename == filename:
            found = cause
    return found


# -- the three endings
def _finish(tx: Evaluator, result: VariableTracker) -> Capture:
    emit = Emitter(tx.output, tx)
    effects = write_ending(tx, emit, result)
    return _capture(tx, emit, effects)


def _finish_break(tx: Evaluator, frame: Frame, function: FunctionType, stop: BreakHere) -> Capture:
    bound = [n for n in tx.locals if n not in tx.cells]
    place = tx.place(stop.statement)
    go_on = continue_after(frame, stop, bound, place, function.__globals__)
    emit = Emitter(tx.output, tx)
    effects = write_effects(tx, emit)
    emit.line(_call_of(tx, emit, go_on))
    result = _capture(tx, emit, effects)
    result.breaks.append(_break(frame, stop))
    result.continues = True
    result.split = go_on.text
    return result


def _call_of(tx: Evaluator, emit: Emitter, go_on: Continuation) -> str:
    """``return f(live names...)`` of the plain statement, over the cells that it shares."""
    cells = [emit.cell(tx.cells[name]) for name in go_on.cells]
    packed = f"({', '.join(cells)},)" if cells else "()"
    own = [cells[go_on.cells.index(name)] for name in go_on.code.co_freevars]
    closure = f"({', '.join(own)},)" if own else "()"
    follow = f"{emit.constant(go_on.next)}.bind({packed})"
    live = "".join(f"{emit.value(tx.locals[name])}, " for name in go_on.live)
    code = emit.constant(go_on.code)
    return f"return new_function({code}, G, {go_on.code.co_name!r}, None, {closure})({live}{follow}, locals, block)"


def _break(frame: Frame, stop: BreakHere) -> Break:
    cause = _innermost(stop.cause)
    reason = describe(cause)
    text = reason.text if cause is stop.cause else f"{reason.text} ({_inside(stop.cause)})"
    return Break(reason.code, text, reason.hint, stop.cause.span or frame.span(stop.statement))


def _inside(cause: Unsupported) -> str:
    """Which callee has the break, and in which line; the span of the break is that of its call."""
    callee, line = cause.detail, ""
    while cause.inner is not None:
        callee, cause = cause.detail, cause.inner
        line = f", line {cause.span.line}" if cause.span is not None else ""
    return f"in {callee}{line}"


def _capture(tx: Evaluator, emit: Emitter, effects: list[EffectRecord]) -> Capture:
    output = tx.output
    output.graph.outputs = emit.outputs
    text = emit.text(output.input_sources)
    output.graph.outputs = emit.outputs
    output.graph.prune()
    verify(output.graph)
    add_final_guards(output)
    for guard in output.policy.types:
        output.guards.add(guard)
    for make in output.policy.made:
        output.guards.add(make(output))
    output.commit()
    return Capture(
        output.graph,
        output.guards,
        text,
        output.constants,
        output.examples,
        effects=effects,
        changed=[effect.container() for effect in output.effects],
        frozen=list(output.frozen),
        late_guards=late_guards(output),
        reached_from=output.reached_from,
    )


def _plain(output: OutputGraph, function: FunctionType, code: str, detail: str) -> Capture:
    """The capture of a call that is left to plain Python; an error under ``fullgraph``, unless the call raises one."""
    reason = CATALOGUE[code]
    if output.options.fullgraph and code != "raises":
        span = Span(function.__code__.co_filename, function.__code__.co_firstlineno)
        cause = f"{span.shown}: {reason.text.format(detail=detail)}. Try: {reason.hint}"
        text = f"fullgraph=True allows no plain Python, but {function.__qualname__} is left to it at {cause}."
        raise FullGraphError(text, cause) from None
    output.commit()
    return Capture(
        output.graph,
        output.guards,
        "def program(): pass",
        output.constants,
        output.examples,
        plain_code=code,
        plain_detail=detail,
        plain_reason=reason.text.format(detail=detail),
        plain_hint=reason.hint,
    )

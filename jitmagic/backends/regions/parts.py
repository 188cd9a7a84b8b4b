"""Takes a loop whose rounds are independent, writes it as a function of its own that threads run pieces of.

    def part0(args, lo, hi):                        t1 = np.float64(c0 - 0) * (2 + ...)
        outer = arg(args, 0)                        if t1 > 200000.0:
        a0 = arg(outer, 0)                              status = spread(part0, pool, 0, c0, 1 + ..., s_float64)
        s_float64 = arg_float64(args, 2)            else:
        for at1 in range(lo, hi, 1):                    status = alone(part0, pool, 0, c0, 1, s_float64)
            ...                                     if status != 0:
        return OK                                       return status
                                                    poll(max(1, np.int64(...)))

A part has a clock of its own, and a short one never looks; the loop around counts its work, and does.

What the loop reads from around it is handed over in a block: the kernel's own ``args``, the address of a word by
which one thread stops all, then numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.places import all_places, places
from jitmagic.backends.regions.ranges import statements
from jitmagic.backends.regions.rounds import budget, counts, is_innermost, is_short, largest
from jitmagic.backends.regions.spreading import CHUNK_WORK, SPREAD_WORK
from jitmagic.backends.regions.writer import FLOATS, ZEROS, Writer
from jitmagic.graph import region as ir

__all__ = ["spread_loop"]

_MANY = 1e6  # rounds, after which a look is due
_SOME_ROUNDS = 8  # of a loop of which nothing is known
_WORDS = {"args", "lo", "hi", "np", "math", "bad", "outer", *Status.__members__}


def spread_loop(e: Writer, loop: ir.For, ends: Sequence[str]) -> bool:
    """Write the calls; the function goes to ``e.parts``. False, and nothing written, if something stands in the way."""
    start, stop, _ = ends
    step = int(loop.step.value) if isinstance(loop.step, ir.Const) else 0
    if not step or is_short(loop):
        return False
    body = _body(e, loop)
    read = list(dict.fromkeys(_free_names(body)))
    if step != 1 and not _is_number(start):
        read.append(start)
    types = _types(e)
    captured = [n for n in dict.fromkeys(read) if not _is_of_array(e, n) and n != loop.variable.name]
    if not all(n in types for n in captured):
        return False
    name = f"part{len(e.parts)}"
    e.parts.append(_function(e, loop, name, body, [(n, types[n]) for n in captured], start))
    rounds = f"({stop} - {start})" if step > 0 else f"({start} - {stop})"
    if abs(step) != 1:
        rounds = f"(({rounds} + {abs(step) - 1}) // {abs(step)})"
    lo, hi = (start, stop) if step == 1 else ("0", e.hold(rounds))
    unit = e.hold(_work(e, loop.body))
    given = ", ".join(["pool", lo, hi, f"1 + np.int64({CHUNK_WORK} / {unit})", *captured])
    work = e.hold(f"np.float64({rounds}) * {unit}")
    e.line(f"if {work} > {SPREAD_WORK}:")
    e.line(f"    status = spread({name}, {given})")
    e.line("else:")
    e.line(f"    status = alone({name}, {given})")
    e.line("if status != 0:")
    e.line("    return status")
    e.say_line()
    done = e.hold(f"{work} / {float(largest(e.region))}")
    e.line(f"poll(max(1, np.int64(select({done} < {_MANY}, {done}, {_MANY}))))")
    e.spreads = True
    return True


def _body(e: Writer, loop: ir.For) -> list[str]:
    """The lines of one round."""
    before, e.lines, indent, e.indent = e.lines, [], e.indent, 1
    e.is_part = True
    with e.checked.function():
        e.block(loop.body)
    e.is_part = False
    body, e.lines, e.indent = e.lines, before, indent
    return body


def _function(
    e: Writer, loop: ir.For, name: str, body: Sequence[str], captured: Sequence[tuple[str, str]], start: str
) -> str:
    counter = loop.variable.name
    step = int(loop.step.value) if isinstance(loop.step, ir.Const) else 1
    lines = [f"def {name}(args, lo, hi):", "    outer = arg(args, 0)", "    bad = 0", f"    budget({budget(e.region)})"]
    lines += [f"    {line}" for line in e.array_lines("outer")]
    lines += [f"    {n} = {_captured(k + 2, kind)}" for k, (n, kind) in enumerate(captured)]
    own = {p.name: p.type for s in statements(loop.body) if isinstance(s, ir.Assign) for p in places(s.variable)}
    lines += [f"    {n} = {ZEROS.get(kind, '0')}" for n, kind in own.items() if n not in dict(captured)]
    number = counter if step == 1 else f"{counter}_number"
    lines.append(f"    for {number} in {'up' if is_innermost(loop) else 'range'}(lo, hi, 1):")
    if step != 1:
        lines.append(f"        {counter} = {start} + {step} * {number}")
    if not is_innermost(loop) and not counts(loop.body):
        lines.append("        poll(1)")
    return "\n".join([*lines, *body, "    if bad < 0:", "        return OVERFLOW", "    return OK", ""])


def _captured(word: int, kind: str) -> str:
    value = f"arg_float64(args, {word})" if kind in FLOATS else f"arg(args, {word})"
    return {"float32": f"np.float32({value})", "pybool": f"{value} != 0", "bool": f"{value} != 0"}.get(kind, value)


def _free_names(lines: Sequence[str]) -> Iterator[str]:
    """Names that the lines read and do not assign."""
    tree = ast.parse("if True:\n" + "\n".join(lines))
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions]
    assigned = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    for each in names:
        if isinstance(each.ctx, ast.Load) and each.id not in assigned and each.id not in _WORDS:
            yield each.id


def _types(e: Writer) -> dict[str, str]:
    """Of all names that may be handed over."""
    known = {s.name: s.type for s in all_places(e.region.scalars)}
    for each in statements(e.region.body):
        if isinstance(each, ir.Assign | ir.For):
            known |= {place.name: place.type for place in places(each.variable)}
    known |= {f"{n}_{end}": "pyint" for n in e.ranges.counters for end in ("lo", "hi")}
    known |= {f"k{i}": "pyfloat" for i in range(len(e.constants))}
    known |= {f"u{i}": "pyint" for i in range(len(e.inner_loops))}
    return known


def _is_of_array(e: Writer, name: str) -> bool:
    return name.partition("_")[0] in {a.name for a in e.region.arrays}


def _is_number(text: str) -> bool:
    return text.strip("()-").isdigit()


def _work(e: Writer, body: Sequence[ir.Stmt]) -> str:
    """About how many statements a round runs, as text; a float64, which does not overflow."""
    total, loops = 1.0, []
    for each in body:
        total += 1.0
        if isinstance(each, ir.If):
            loops += [_work(e, branch) for branch in (each.body, each.orelse) if branch]
        elif isinstance(each, ir.For | ir.While):
            loops.append(f"{_rounds(e, each)} * {_work(e, each.body)}")
    return f"({' + '.join([repr(total), *loops])})"


def _rounds(e: Writer, loop: ir.For | ir.While) -> str:
    if isinstance(loop, ir.For) and loop.variable.name in e.ranges.counters:
        name = loop.variable.name
        return f"np.float64({name}_hi - {name}_lo + 1)"
    return repr(float(_SOME_ROUNDS))

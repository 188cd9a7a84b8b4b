"""Takes statements with loops among them, gives one node of the graph that runs them, and rebinds their variables.

The node's meaning (``call``) is these statements as a plain Python function; a backend that can compile the region
sets ``compiled``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.region_call import RegionCall, kind_of
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.loops.blocks import leaves
from jitmagic.tracer.loops.build import Builder
from jitmagic.tracer.loops.carried import carried
from jitmagic.tracer.loops.comprehended import scoped
from jitmagic.tracer.loops.counters import counted
from jitmagic.tracer.loops.elements import MoreKinds
from jitmagic.tracer.loops.grids import spelled_grids
from jitmagic.tracer.loops.held import held_variable
from jitmagic.tracer.loops.kinds import CODES, NO_NUMBERS, UNBOUND, Kinds, Types, tag, variable
from jitmagic.tracer.loops.leaving import has_return
from jitmagic.tracer.loops.lists import replaced_by
from jitmagic.tracer.loops.plain import plain_function
from jitmagic.tracer.loops.prune import prune
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.runs import RETURNED, TEMPORARY, as_statements, returned_parts
from jitmagic.tracer.loops.surroundings import Surroundings
from jitmagic.tracer.loops.ways import PART, WAY
from jitmagic.tracer.names import names_in
from jitmagic.tracer.operands import wrap_node
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.held import Held, Mixed
from jitmagic.tracer.variables.number_kinds import number_kind
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["capture_loop", "capture_run", "capture_values", "kinds_of", "writes_arrays"]

_PYTHON_TYPES: Mapping[str, type] = {"pyint": int, "pyfloat": float, "pybool": bool, "pycomplex": complex}

Nodes = Sequence[ast.stmt]
T = TypeVar("T")


def capture_loop(tx: Evaluator, node: ast.For | ast.While, of: ast.For | ast.While | None = None) -> bool:
    """Add the loop to the graph as one node and rebind what it rebinds; False if it is no loop of that kind.

    ``of`` is the statement of the function that it was made of, if it is another one.

    A loop that may return is only captured together with the statements up to the function's ``return``
    (``capture_run``): by itself it could not say whether it has returned.
    """
    error = refuse("a return in the loop") if has_return(node) else _attempt(tx, [node], [of or node])
    if error is not None:
        tx.output.note_refusal(node, error)
    return error is None


def capture_run(tx: Evaluator, nodes: Nodes, *, by_ways: bool, one_type: bool) -> bool:
    """The same for several statements; what a ``return`` at their end gives is in ``returned_parts``, or ``by_ways``.

    False also if that may be numbers of several types and is to be of ``one_type``.
    """
    return _attempt(tx, nodes, nodes, Returning(by_ways, one_type)) is None


@dataclass(frozen=True, slots=True)
class Returning:
    """How statements return, as ``capture_run`` says."""

    by_ways: bool = False
    one_type: bool = False


def _attempt(tx: Evaluator, nodes: Nodes, of: Nodes, returning: Returning = Returning()) -> BaseException | None:
    """Why it could not be done, or None."""
    before = len(tx.output.graph.nodes)
    try:
        capture_values(tx, nodes, of=of, returning=returning)
    except (Unsupported, NotConstant, Raised, DataDependentSize) as error:
        tx.output.graph.forget_calls(before)
        return error
    return None


def kinds_of(tx: Evaluator, nodes: Nodes, name: str) -> tuple[str, ...]:
    """What a variable may be after the statements, without adding them to anything."""
    found = tuple(k for k in _built(tx, nodes).types.get(name, UNBOUND).all if k != "unbound")
    if "none" in found:
        raise refuse("None among numbers")
    return found


def writes_arrays(tx: Evaluator, nodes: Nodes) -> bool:
    """Whether the statements store in arrays."""
    return bool(_built(tx, nodes).written)


def _built(tx: Evaluator, nodes: Nodes) -> Builder:
    rebound = frozenset(names_in(nodes, stores_only=True))
    statements = [*_set_to_none(tx, rebound, nodes[0]), *scoped(nodes)]
    rebound = frozenset(names_in(statements, stores_only=True))
    start = {n: Kinds((str(number_kind(v)),)) for n, v in _entry(tx, rebound).items()}
    return _with_room(tx, rebound, lambda o: _built_on(Builder(o, dict(start), rebound), statements))[1][0]


def _built_on(builder: Builder, statements: Nodes) -> tuple[Builder, tuple[ir.Stmt, ...]]:
    return builder, builder.block(statements)


def _with_room(tx: Evaluator, rebound: frozenset[str], build: Callable[[Surroundings], T]) -> tuple[Surroundings, T]:
    """What ``build`` gives once every list has room for the types of numbers that are stored in it."""
    wider: dict[str, tuple[str, ...]] = {}
    before = len(tx.output.graph.nodes)
    while True:
        outside = Surroundings(tx, rebound, wider=wider)
        try:
            return outside, build(outside)
        except MoreKinds as request:
            outside.widen(request)
            tx.output.graph.forget_calls(before)


@dataclass(frozen=True, slots=True)
class _Captured:
    """``entry`` are the numbers that the loop rebinds, ``results`` its variables that are read later."""

    nodes: Nodes
    outside: Surroundings
    entry: Mapping[str, VariableTracker]
    results: Mapping[str, ir.Var]
    region: ir.Region
    by_ways: bool


def capture_values(
    tx: Evaluator,
    nodes: Nodes,
    wanted: Sequence[str] | None = None,
    *,
    also: Sequence[str] = (),
    of: Nodes | None = None,
    returning: Returning = Returning(),
) -> None:
    """Add the statements to the graph as one node and rebind what they rebind, or only the ``wanted`` names.

    ``of`` are the statements of the function that these were made of, ``also`` names that they have besides.
    Raises Unsupported and its kin where that cannot be; nothing is rebound then.
    """
    of = nodes if of is None else of
    over = carried(tx, nodes)
    with over.held(tx):
        _capture_spelled(tx, over.nodes, wanted, [*also, *over.names], of, returning)


def _capture_spelled(
    tx: Evaluator, nodes: Nodes, wanted: Sequence[str] | None, also: Sequence[str], of: Nodes, returning: Returning
) -> None:
    spelled = spelled_grids(tx, nodes)
    places = {name: spelled.places[name] for name in _needed(tx, of, spelled.places)}
    tx.locals.update(spelled.sizes)
    try:
        also = [*also, *(part for parts in places.values() for part in parts)]
        counters = counted(tx, spelled.nodes) if wanted is None else {}
        _capture(tx, spelled.nodes, wanted, also, of, returning)
        tx.locals.update(counters)
    finally:
        for name in spelled.sizes:
            del tx.locals[name]
    for name, parts in places.items():
        tx.store_name(name, TupleTracker([tx.locals.pop(part) for part in parts]))


def _capture(
    tx: Evaluator, nodes: Nodes, wanted: Sequence[str] | None, also: Sequence[str], of: Nodes, returning: Returning
) -> None:
    written_out = as_statements(nodes, by_ways=returning.by_ways)
    rebound = frozenset(names_in(written_out, stores_only=True))
    nothing = _set_to_none(tx, rebound, nodes[0])
    statements = [*nothing, *scoped(written_out)]
    rebound = frozenset(names_in(statements, stores_only=True))
    own = {n for n in rebound if not n.startswith(TEMPORARY)}
    if own and (tx.scopes or not _globals(tx, rebound) <= _declared(tx)):
        raise refuse("variables of another scope")
    entry = _entry(tx, rebound)
    bound = {*_held(tx, rebound)}
    if foreign := (rebound & bound) - set(entry) - names_in(nothing) & _loaded_in(nodes):
        raise refuse(f"{', '.join(sorted(foreign))}, which holds no number before the loop")
    start = {name: Kinds((str(number_kind(value)),)) for name, value in entry.items()}
    outside, (builder, body) = _with_room(
        tx, rebound, lambda o: _built_on(Builder(o, dict(start), rebound), statements)
    )
    if leaves(body) or any(isinstance(s, ir.For | ir.While) and leaves(s.body) for s in body):
        raise refuse("a variable that has no value when it is read")
    if returning.one_type and _may_differ(nodes, builder.types):
        raise refuse("numbers of several types that are returned")
    needed = [*_needed(tx, of, rebound), *also] if wanted is None else wanted
    if missing := _seen_by_others(tx, rebound) - {*needed}:
        raise refuse(f"{', '.join(sorted(missing))}, which other functions may read")
    last, results = _results(needed, start, builder.types)
    first = [ir.Assign(tag(n), ir.Const(CODES[k.place], "pyint")) for n, k in start.items()]
    arrays = tuple(replace(p, is_written=p.name in builder.written) for p, _ in outside.arrays.values())
    written = [outside.lists[name][0] for name in builder.written & outside.lists.keys()]
    if any(changed is read for changed in written for read in outside.as_constants):
        raise refuse("a list that the loop writes, and goes through")
    _check_writes(tx, arrays, [t for _, t in outside.arrays.values()])
    if not results and not builder.written:
        raise refuse("a loop that gives no number and writes no array")
    scalars = [ir.ScalarParameter(v.name, v.type) for v, _ in outside.scalars.values()]
    scalars += [ir.ScalarParameter(variable(name, k.place).name, k.place) for name, k in start.items()]
    given = tuple(results.values())
    whole = (*first, *body, *last)
    changes_lists = bool(builder.written & outside.lists.keys())  # they are changed after the graph
    shown = sorted(own & set(needed)) if tx.output.options.shows_names and not changes_lists else ()
    held = tuple(each for name in shown if (each := held_variable(name, start, whole)) is not None)
    read = (*given, *(v for each in held for v in each.variables))
    region = ir.Region(arrays, tuple(scalars), prune(whole, read), given, nodes[0].lineno, held)
    _add_node(tx, _Captured([*nothing, *nodes], outside, entry, results, region, returning.by_ways))
    for name in needed:
        if builder.types.get(name, UNBOUND).all == ("none",):
            tx.store_name(name, Constant(None))


def _may_differ(nodes: Nodes, types: Types) -> bool:
    """Whether something that is returned may be of several types."""
    names = [RETURNED, *(p for p in returned_parts(nodes) or () if isinstance(p, str))]
    return any(len({*types.get(name, UNBOUND).all} - {"unbound"}) > 1 for name in names)


def _set_to_none(tx: Evaluator, rebound: frozenset[str], place: ast.stmt) -> list[ast.stmt]:
    """Statements for what is None before the loop: the region has no parameters of that type."""
    values = {name: tx.realize(value) for name, value in _held(tx, rebound).items() if name in rebound}
    names = sorted(n for n, v in values.items() if isinstance(v, Constant) and v.value is None)
    made = (ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in names)
    return [ast.fix_missing_locations(ast.copy_location(each, place)) for each in made]


def _held(tx: Evaluator, rebound: frozenset[str]) -> dict[str, VariableTracker]:
    """The values of all variables, and those of the globals among the names that the statements bind."""
    held = {**tx.locals, **{n: c.content for n, c in tx.cells.items() if c.content is not None}}
    return held | {n: tx.load_name(n) for n in _globals(tx, rebound) if n in tx.globals}


def _globals(tx: Evaluator, names: frozenset[str]) -> set[str]:
    return {n for n in names - tx.frame.local_names - {*tx.cells} if not n.startswith(TEMPORARY)}


def _declared(tx: Evaluator) -> set[str]:
    """The names that ``global`` makes the module's; those of a class body are of neither."""
    return {name for n in ast.walk(tx.frame.node) if isinstance(n, ast.Global) for name in n.names}


def _seen_by_others(tx: Evaluator, names: frozenset[str]) -> set[str]:
    """The names that other functions may read, which existed before this one runs: globals, ``nonlocal`` variables."""
    shared = {n for n, cell in tx.cells.items() if cell.real is not None or n not in tx.frame.local_names}
    return _globals(tx, names) | (names & shared)


def _entry(tx: Evaluator, rebound: frozenset[str]) -> dict[str, VariableTracker]:
    """The numbers that the names hold before the loop; other values are not for a region to read."""
    held = _held(tx, rebound)
    values = {name: tx.realize(held[name]) for name in sorted(rebound & set(held))}
    return {name: value for name, value in values.items() if number_kind(value) is not None}


def _loaded_in(nodes: Nodes) -> set[str]:
    """The names that the statements read somewhere."""
    inside = [n for node in nodes for n in ast.walk(node)]
    loads = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    targets = (n.target for n in inside if isinstance(n, ast.AugAssign))
    return loads | {t.id for t in targets if isinstance(t, ast.Name)}


def _results(needed: Sequence[str], start: Types, types: Types) -> tuple[tuple[ir.Stmt, ...], dict[str, ir.Var]]:
    """(what leaves the region where a variable is not of the kind that the graph goes on with, the variables)."""
    last: list[ir.Stmt] = []
    results: dict[str, ir.Var] = {}
    for name in needed:
        kinds = types.get(name, UNBOUND)
        kind = _expected(kinds, start.get(name, UNBOUND))
        if kind in NO_NUMBERS:
            continue
        results[name] = variable(name, kind)
        if len(kinds.all) > 1:
            is_other: ir.Expr = ir.Compare("ne", tag(name), ir.Const(CODES[kind], "pyint"))
            if name.startswith(PART):  # of a way that was not taken
                has_value = ir.Compare("ne", tag(name), ir.Const(CODES["unbound"], "pyint"))
                is_other = ir.Logic("and", (has_value, is_other))
            last.append(ir.If(is_other, (ir.Leave(),)))
    return tuple(last), results


def _expected(kinds: Kinds, before: Kinds) -> str:
    """The kind that a variable most likely has after the loop: one that the loop gives it."""
    numbers = [k for k in kinds.all if k not in NO_NUMBERS]
    made = [k for k in numbers if k not in before.all]
    return (made or numbers or kinds.all)[-1]


def _needed(tx: Evaluator, nodes: Nodes, rebound: Collection[str]) -> list[str]:
    """The names that may be read after the statements, by themselves too if a loop is around them."""
    parts = [p for p in returned_parts(nodes) or () if isinstance(p, str)]
    ways = (n for n in rebound if n == WAY or n.startswith(PART))
    read = {
        RETURNED,
        *parts,
        *ways,
        *_seen_by_others(tx, frozenset(rebound)),
        *_reads(tx.frame.node, nodes, frozenset()),
    }
    if _is_inside_a_loop(tx.frame.node, nodes[0]):
        read |= {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    return sorted({*rebound} & read)


def _reads(tree: ast.AST, left_out: Nodes, bound: frozenset[str]) -> Iterator[str]:
    """Names read outside of some statements; the body of a ``for`` does not read what its head binds."""
    if any(tree is node for node in left_out):
        return
    if isinstance(tree, ast.Name) and not isinstance(tree.ctx, ast.Store) and tree.id not in bound:
        yield tree.id
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
        yield tree.target.id
    inner = bound
    if isinstance(tree, ast.For) and isinstance(tree.target, ast.Name) and not tree.orelse:
        yield from _reads(tree.iter, left_out, bound)
        inner = bound | {tree.target.id}
        for each in tree.body:
            yield from _reads(each, left_out, inner)
        return
    for child in ast.iter_child_nodes(tree):
        yield from _reads(child, left_out, inner)


def _is_inside_a_loop(tree: ast.AST, node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.For | ast.While) and n is not node and any(inner is node for inner in ast.walk(n))
        for n in ast.walk(tree)
    )


def _add_node(tx: Evaluator, captured: _Captured) -> None:
    outside, region = captured.outside, captured.region
    metas = tuple(_result_meta(v) for v in captured.results.values())
    missing = {n: kind_of(v.type)(0) for n, v in captured.results.items() if n.startswith(PART)}
    names = [*captured.entry], [*captured.results]
    plain = plain_function(tx, captured.nodes, outside, *names, missing, by_ways=captured.by_ways)
    op = Op(
        "loop",
        RegionCall(region, plain),
        _meta_rule(metas),
        writes=tuple(i for i, a in enumerate(region.arrays) if a.is_written),
        warns=frozenset(("divide", "over", "invalid")),
        raises=True,
    )
    written = _copied_lists(tx, outside, region)
    first_loop = next((n for n in captured.nodes if isinstance(n, ast.For | ast.While)), captured.nodes[0])
    arrays = [written.get(p.name, t) for p, t in outside.arrays.values()]
    operands = [*arrays, *(t for _, t in outside.scalars.values()), *captured.entry.values()]
    tx.output.note_place(tx, tx.frame.span(first_loop))
    made = tx.output.graph.call(op, tuple(tx.operand(t) for t in operands), {}, None, span=tx.frame.span(first_loop))
    for target in made.written():
        tx.output.note_write(target)
    for parameter in region.arrays:
        if parameter.name in outside.lists and parameter.is_written:
            _replace_list(tx, outside, parameter, written)
    for index, (name, meta) in enumerate(zip(captured.results, metas, strict=True)):
        item = tx.output.graph.item(made, index, meta)
        tx.store_name(name, wrap_node(tx, item, meta))


def _copied_lists(tx: Evaluator, outside: Surroundings, region: ir.Region) -> dict[str, ArrayTracker]:
    """New arrays for the lists that the region writes: what was made of them before keeps its numbers."""
    made: dict[str, ArrayTracker] = {}
    lists = [p for p in region.arrays if p.name in outside.lists]
    for name in [n for p in lists if p.is_written for n in (p.name, p.tags) if n]:
        given = next(t for p, t in outside.arrays.values() if p.name == name)
        copy = tx.call_form(*row_of(np.copy), [given], {})
        assert isinstance(copy, ArrayTracker)
        made[name] = copy
    return made


def _replace_list(
    tx: Evaluator, outside: Surroundings, parameter: ir.ArrayParameter, written: Mapping[str, ArrayTracker]
) -> None:
    value, held = outside.lists[parameter.name]
    if not isinstance(value, ListTracker):
        raise refuse(f"storing in a {value.kind.__name__}")
    if parameter.ndim > 1 and value.held is None:
        raise refuse("storing in a list of lists whose rows may have other names")
    array = written[parameter.name]
    if isinstance(held, Mixed):
        replaced_by(tx, value, Mixed(tx, array, "", held.all_kinds, written[parameter.tags]))
    else:
        replaced_by(tx, value, Held(tx, array, held.kind))


def _meta_rule(metas: tuple[Meta, ...]) -> Callable[[Arguments], Inferred]:
    def rule(call: Arguments) -> Inferred:
        return Inferred(metas)

    return rule


def _result_meta(variable: ir.Var) -> Meta:
    python = _PYTHON_TYPES.get(variable.type)
    return PyMeta(python) if python is not None else ArrayMeta(np.dtype(variable.type), scalar=True)


def _check_writes(tx: Evaluator, arrays: Sequence[ir.ArrayParameter], trackers: Sequence[ArrayTracker]) -> None:
    """A written array must be writeable, and the only name of its memory in the region."""
    owners = [t.node.storage for t in trackers]
    for parameter, tracker, owner in zip(arrays, trackers, owners, strict=True):
        meta = tracker.node.meta
        if parameter.is_written and isinstance(meta, ArrayMeta) and not meta.writeable:
            tx.output.note_raised([tracker.node])  # the next call may give an array that may be written
            raise refuse("a write into a read-only array")
        if parameter.is_written and owners.count(owner) > 1:
            raise refuse("an array that is written and read under two names")

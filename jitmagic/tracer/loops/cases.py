"""Takes a statement over variables that may be of several kinds, gives typed statements that hold for all of them.

The statement is typed once for each combination of kinds. If all of these compute the same values, as
``s = s + x[i]`` does for an int or a float64 ``s``, one of them stands for all. Else the region looks at the tags:

    if s_tag == pyint: t_pyint = s_pyint + 1
    else:              t_float64 = s_float64 + 1.0

A combination that no region can hold (or in which a variable is unbound) leaves the region.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir
from jitmagic.tracer.loops.alike import alike
from jitmagic.tracer.loops.kinds import CODES, UNBOUND, Kinds, Types, coerce, join_all, tag, variable
from jitmagic.tracer.loops.rules import refuse

__all__ = ["Made", "all_cases", "bind"]

CASES = 24  # combinations of kinds that one statement may have


@dataclass(frozen=True, slots=True)
class Made:
    """Statements for one combination, and the kinds of the variables that they bind."""

    statements: tuple[ir.Stmt, ...]
    binds: Mapping[str, str]


Make = Callable[[Mapping[str, str]], Made]
Combination = tuple[str, ...]


def bind(name: str, value: ir.Expr) -> Made:
    return Made((ir.Assign(variable(name, value.type), value),), {name: value.type})


def all_cases(names: Sequence[str], types: Types, make: Make) -> tuple[tuple[ir.Stmt, ...], Types]:
    """Statements for every combination of the kinds of ``names``, and the types after them.

    Raises Unsupported if no combination can be held, or if there are too many.
    """
    known = {n: types.get(n, UNBOUND) for n in names}
    if any(k == UNBOUND for k in known.values()):
        return (ir.Leave(),), types
    several = [n for n in names if len(known[n].all) > 1]
    fixed = {n: k.all[0] for n, k in known.items() if len(k.all) == 1}
    if not several:
        made = _attempt(make, fixed)
        if isinstance(made, Unsupported):
            raise made
        return _finished(made, types)
    combinations = list(itertools.product(*(known[n].all for n in several)))
    if len(combinations) > CASES:
        raise refuse(f"{', '.join(several)}, which may be of many kinds")
    cases = {c: _attempt(make, {**fixed, **dict(zip(several, c, strict=True))}) for c in combinations}
    held = {c: m for c, m in cases.items() if isinstance(m, Made)}
    if not held:
        raise next(m for m in cases.values() if isinstance(m, Unsupported))
    leaves = [c for c in combinations if c not in held]
    one = _one_for_all(several, known, held)
    if one is not None:
        body, after = _shared(several, one, held, types)
        return (*(_leave(several, c, known) for c in leaves), *body), after
    return _split(several, known, held, leaves, types)


def _attempt(make: Make, kinds: Mapping[str, str]) -> Made | Unsupported:
    if "unbound" in kinds.values():
        return refuse(f"{next(n for n, k in kinds.items() if k == 'unbound')}, which has no value here")
    try:
        return make(kinds)
    except Unsupported as error:
        return error


def _finished(made: Made, types: Types) -> tuple[tuple[ir.Stmt, ...], Types]:
    after = {**types, **{name: Kinds((kind,)) for name, kind in made.binds.items()}}
    tags = (ir.Assign(tag(n), ir.Const(CODES[k], "pyint")) for n, k in made.binds.items())
    return (*made.statements, *tags), after


def _one_for_all(
    several: Sequence[str], known: Mapping[str, Kinds], held: Mapping[Combination, Made]
) -> tuple[Combination, Made] | None:
    """The combination of the shared kinds, if all others compute the same values."""
    live = [
        known[n].shared or (next(iter(kinds)) if len(kinds) == 1 else "") for n, kinds in _held_kinds(several, held)
    ]
    reference = held.get(tuple(live))
    if reference is None:
        return None
    same = {
        variable(n, kind).name: variable(n, known[n].shared)
        for n in several
        if known[n].shared
        for kind in known[n].all
    }
    for made in held.values():
        if made is not reference and not (
            list(made.binds) == list(reference.binds) and alike(reference.statements, made.statements, same)
        ):
            return None
    return tuple(live), reference


def _held_kinds(several: Sequence[str], held: Mapping[Combination, Made]) -> list[tuple[str, set[str]]]:
    return [(name, {c[position] for c in held}) for position, name in enumerate(several)]


def _shared(
    several: Sequence[str], one: tuple[Combination, Made], held: Mapping[Combination, Made], types: Types
) -> tuple[tuple[ir.Stmt, ...], Types]:
    """The statements of one combination; tags still say the kind that Python would give."""
    reference = one[1]
    made, after = _finished(reference, types)
    for name, kind in reference.binds.items():
        found = {c: m.binds[name] for c, m in held.items()}
        others = sorted({*found.values()} - {kind})
        if others:
            after[name] = Kinds(tuple(sorted({kind, *others}, key=CODES.__getitem__)), kind)
            own = {c: held[c].statements for c, o in found.items() if _loses(kind, o)}
            made = (*made[:-1], *_tagged(several, name, kind, found, own))  # it binds one name, whose tag comes last
            casts = (o for o in others if not _loses(kind, o))
            made += tuple(ir.Assign(variable(name, o), ir.Cast(variable(name, kind), o)) for o in casts)
    return made, after


def _loses(shared: str, kind: str) -> bool:
    """Whether a number is not to be had back from its shared place: an int that lies there as a float."""
    return any((sort in shared) != (sort in kind) for sort in ("float", "complex"))


def _tagged(
    several: Sequence[str],
    name: str,
    kind: str,
    found: Mapping[Combination, str],
    own: Mapping[Combination, tuple[ir.Stmt, ...]],
) -> list[ir.Stmt]:
    """Set the tag of a name whose kind depends on the combination; its old tag may be part of that.

    ``own`` has the statements of combinations whose value does not come from the shared place.
    """
    held = tag(f"{name}_next")
    made: list[ir.Stmt] = [ir.Assign(held, ir.Const(CODES[kind], "pyint"))]
    for combination, other in found.items():
        if other != kind:
            code = ir.Assign(held, ir.Const(CODES[other], "pyint"))
            made.append(ir.If(_is(several, combination), (code, *own.get(combination, ()))))
    return [*made, ir.Assign(tag(name), held)]


def _is(several: Sequence[str], combination: Combination) -> ir.Expr:
    tests = tuple(
        ir.Compare("eq", tag(n), ir.Const(CODES[k], "pyint")) for n, k in zip(several, combination, strict=True)
    )
    return tests[0] if len(tests) == 1 else ir.Logic("and", tests)


def _leave(several: Sequence[str], combination: Combination, known: Mapping[str, Kinds]) -> ir.Stmt:
    return ir.If(_is(several, combination), (ir.Leave(),))


def _split(
    several: Sequence[str],
    known: Mapping[str, Kinds],
    held: Mapping[Combination, Made],
    leaves: Sequence[Combination],
    types: Types,
) -> tuple[tuple[ir.Stmt, ...], Types]:
    """One branch for each combination."""
    branches: list[tuple[Combination, tuple[ir.Stmt, ...], Types]] = []
    for combination, made in held.items():
        body, after = _finished(made, types)
        branches.append((combination, body, after))
    merged = join_all([after for _, _, after in branches])
    bodies = [(c, (*body, *coerce(after, merged))) for c, body, after in branches]
    if leaves:
        chain: tuple[ir.Stmt, ...] = (ir.Leave(),)
    else:
        chain = bodies.pop()[1]
    for combination, body in reversed(bodies):
        chain = (ir.If(_is(several, combination), body, chain),)
    return chain, merged

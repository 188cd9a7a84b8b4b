"""Takes a region, gives the assignments whose value may never be read although computing it may warn.

    t = x[i] * 1e300        # overwritten in the next round, but NumPy has warned

LLVM would remove such work, and its floating-point flags with it; the emitter keeps it. A value counts as read if it
is read on every way from its assignment, before it is overwritten: backwards, the greatest solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jitmagic.backends.regions.ranges import statements
from jitmagic.graph import region as ir

__all__ = ["unread"]

_NUMPY_FLOATS = ("float64", "float32", "complex128")
_QUIET = ("neg", "abs", "real", "imag", "conjugate")
Read = frozenset[str]


def unread(region: ir.Region) -> set[int]:
    """The ``id`` of each such assignment."""
    names = {s.variable.name for s in statements(region.body) if isinstance(s, ir.Assign | ir.For)}
    analysis = _Analysis(frozenset(names))
    analysis.block(region.body, frozenset(v.name for v in region.results))
    return analysis.found


@dataclass(slots=True)
class _Analysis:
    everything: Read  # what is read after a place that is never reached
    found: set[int] = field(default_factory=set)
    loops: list[tuple[Read, Read]] = field(default_factory=list)  # read after (continue, break)

    def block(self, body: tuple[ir.Stmt, ...], after: Read) -> Read:
        for each in reversed(body):
            after = _RULES[type(each)](self, each, after)
        return after

    def assign(self, node: ir.Assign, after: Read) -> Read:
        self.found.discard(id(node))
        if node.variable.name not in after and may_warn(node.value):
            self.found.add(id(node))
        return (after - {node.variable.name}) | frozenset(_surely_read(node.value))

    def rounds(self, body: tuple[ir.Stmt, ...], first: Read, after: Read) -> Read:
        """What is read from the head of a loop on; ``first`` is read at the head of each round."""
        head = self.everything
        while True:
            self.loops.append((head, after))
            found = first | (after & self.block(body, head))
            self.loops.pop()
            if found == head:
                return head
            head = found


def _for(a: _Analysis, node: ir.For, after: Read) -> Read:
    head = a.rounds(node.body, frozenset(), after)
    return head.union(*(_surely_read(e) for e in (node.start, node.stop, node.step)))


def _if(a: _Analysis, node: ir.If, after: Read) -> Read:
    """Where a tag is asked, a value of that kind goes one way and values of other kinds the other.

    A number that lies in the place of another kind is Python's, of which NumPy does not warn.
    """
    body, orelse = a.block(node.body, after), a.block(node.orelse, after)
    read = (body & orelse) | frozenset(_surely_read(node.test))
    asked = _asked_tag(node.test)
    if asked is None:
        return read
    own, others = asked
    return read | (body & own) | (orelse & others)


def _asked_tag(test: Any) -> tuple[Read, Read] | None:
    """The variables whose value goes to the body, and those whose value goes to the ``else``, of ``s_tag == kind``."""
    if not (isinstance(test, ir.Compare) and test.operator in ("eq", "ne")):
        return None
    tag, code = test.left, test.right
    if not (isinstance(tag, ir.Var) and tag.name.endswith("_tag") and isinstance(code, ir.Const)):
        return None
    own = ir.KINDS[int(code.value)]
    name = tag.name.removesuffix("tag")
    both = frozenset((name + own,)), frozenset(name + kind for kind in ir.KINDS if kind != own)
    return both if test.operator == "eq" else both[::-1]


_RULES: Mapping[type, Callable[[_Analysis, Any, Read], Read]] = {
    ir.Assign: _Analysis.assign,
    ir.Store: lambda a, node, after: after.union(*(_surely_read(e) for e in (*node.index, node.value))),
    ir.If: _if,
    ir.For: _for,
    ir.While: lambda a, node, after: a.rounds(node.body, frozenset(_surely_read(node.test)), after),
    ir.Break: lambda a, node, after: a.loops[-1][1],
    ir.Continue: lambda a, node, after: a.loops[-1][0],
    ir.Leave: lambda a, node, after: a.everything,
}


def _parts(node: Any) -> Iterator[Any]:
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        for each in value if isinstance(value, tuple) else (value,):
            if hasattr(each, "__dataclass_fields__"):
                yield each


def _surely_read(node: Any) -> Iterator[str]:
    """Variables that an expression reads whatever its conditions say."""
    if isinstance(node, ir.Var):
        yield node.name
    elif isinstance(node, ir.Logic):
        yield from _surely_read(node.operands[0])
    else:
        for each in _parts(node):
            yield from _surely_read(each)


def may_warn(node: Any) -> bool:
    """Whether NumPy may warn about floats in an expression."""
    if isinstance(node, ir.Binary) and node.type in _NUMPY_FLOATS:
        return True
    if isinstance(node, ir.Unary) and node.type in _NUMPY_FLOATS:
        is_quiet = node.function in _QUIET and (node.function != "abs" or node.operand.type != "complex128")
        return not is_quiet or may_warn(node.operand)
    if isinstance(node, ir.Cast) and node.type == "float32" and node.operand.type != "float32":
        return True
    if isinstance(node, ir.Fold) and node.type in _NUMPY_FLOATS and node.function in ("sum", "mean"):
        return True
    return any(may_warn(each) for each in _parts(node))

"""The catalogue of break reasons: one row each, shared by cards, messages, docs and tests.

``text`` says what stopped the capture, in words for a person who does not know how the compiler works; ``hint``
says what avoids it. ``{detail}`` is filled in at the place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jitmagic.errors import InternalError, Unsupported
from jitmagic.tracer.part_names import readable

__all__ = ["CATALOGUE", "Reason", "describe"]

_NEEDLESS = re.compile(r"\((a computed [^()]*)\)(?![.\[])")  # parentheses around what nothing is asked of


@dataclass(frozen=True, slots=True)
class Reason:
    """One row of the catalogue."""

    code: str
    text: str
    hint: str


def _rows(*rows: tuple[str, str, str]) -> dict[str, Reason]:
    table = {code: Reason(code, text, hint) for code, text, hint in rows}
    if len(table) != len(rows):
        raise InternalError("a break code stands twice in the catalogue")
    return table


CATALOGUE = _rows(
    (
        "call",
        "the call of {detail} cannot be looked into",
        "call it before or after the array work, or leave it: it runs as plain Python",
    ),
    (
        "cache",
        "the cache has no result for {detail} that is sure to stay, so that Python makes this call",
        "call it once before: later calls find the result in the cache",
    ),
    (
        "lazy-module",
        "the first call of a lazy module runs as plain Python: {detail}",
        "call the model once before, with an array of the right shape",
    ),
    (
        "callee-break",
        "{detail} contains something that cannot be captured, so it is compiled on its own",
        "see the card of that function",
    ),
    (
        "region",
        "the loop holds {detail}, which cannot be kept in a compiled loop",
        "use numbers and single array elements in the loop",
    ),
    (
        "data-branch",
        "{detail} decides which way to go, and its value is known only while the function runs",
        "use np.where, or compute both ways and choose",
    ),
    (
        "data-size",
        "a decision depends on a size that only the data tell: {detail}",
        "decide after the function returns",
    ),
    (
        "data-number",
        "{detail} needs a number from an array, and those are known only while the function runs",
        "keep it as an array (x.sum() instead of float(x.sum())) where you can",
    ),
    ("import", "{detail} runs as plain Python", "import it at the top of the cell, outside the function"),
    ("statement", "{detail} runs as plain Python", "move it out of the function if the function is hot"),
    (
        "loop",
        "the loop over {detail} runs as plain Python, its body is compiled on its own",
        "loop over a range, a list, a tuple or a dict that is known when the function is called",
    ),
    (
        "plain-loop",
        "the loop over {detail}",
        "use numbers and single array elements in the loop, or array operations in place of it",
    ),
    (
        "long-loop",
        "the loop over {detail} has too many rounds to write out one by one; it runs as plain Python",
        "use array operations in place of the loop",
    ),
    (
        "block",
        "a graph break inside this {detail} block; the block runs as plain Python, its body is compiled on its own",
        "see the reason given for the line inside",
    ),
    (
        "attribute",
        "attribute {detail} cannot be read at compile time",
        "read it before the function and pass the value as an argument",
    ),
    ("store", "{detail} is an assignment that must run as plain Python", "assign after the function returns"),
    (
        "operator",
        "{detail} is left to plain Python",
        "convert the values to arrays or plain numbers first",
    ),
    (
        "argument",
        "a captured operation takes arrays and plain numbers, not {detail}",
        "convert the values to arrays or plain numbers first",
    ),
    ("subscript", "indexing {detail} is not known for these values", "index an array, list, tuple or dict"),
    (
        "data-key",
        "{detail} is used as the key of a dict or a member of a set, and it is known only while the function runs",
        "use an array or a list, or fill the dict or set after the function returns",
    ),
    ("iterate", "looping over {detail} is not known at compile time", "turn it into a list first"),
    (
        "extern-unknown",
        "nothing is known about the result of {detail}",
        "call it before or after the array work, or leave it: it runs as plain Python",
    ),
    ("array-subclass", "{detail} is a subclass of ndarray with rules of its own", "pass a plain array: np.asarray(x)"),
    ("dtype", "arrays of dtype {detail} are left to NumPy", "convert to a number dtype where you can"),
    (
        "tensor",
        "{detail} is left to the Tensor itself",
        "nothing, if it is outside of loops; or do it outside of the compiled function",
    ),
    (
        "recurrent",
        "{detail} runs as plain Python: written out, its steps in time make a long graph",
        "jitmagic.configure(allow_rnn=True) captures it with what is around it",
    ),
    (
        "backward-hook",
        "{detail} has backward hooks, which are shown gradients one by one",
        "nothing, if they are meant to stay; the remove() of their handles takes them off",
    ),
    ("schedule", "{detail} is known only when the graph has run", "call scheduler.step() at the end of the step"),
    (
        "shape-assignment",
        "{detail} sets an attribute of an array in place",
        "assign values with y.real[...] = ..., and use reshape or view, which make a new array, for shape and dtype",
    ),
    (
        "aliased-inputs",
        "{detail} share memory in a way that cannot be expressed",
        "pass copies, or arrays that do not overlap",
    ),
    ("no-source", "there is no source text for {detail}", "define it in a cell or a file"),
    ("edited-source", "the source of {detail} was changed after it was loaded", "reload the module"),
    (
        "own-variables",
        "it has a graph break, and {detail} would see the variables of the pieces it is split into",
        "pass the variables that are needed, as a dict",
    ),
    (
        "callers",
        "it calls {detail}, between which a compiled function would stand",
        "move the array work into a function of its own",
    ),
    ("generator", "{detail} is a generator or coroutine", "return a list or an array"),
    ("generator-use", "{detail} is left to plain Python", "make a list of what it yields, in the function itself"),
    ("self-containing", "{detail} contains itself", "break the cycle"),
    (
        "module-method",
        "non-constant module method: {detail} is called with an argument that is known only at run time",
        "call it with plain strings and truth values",
    ),
    ("user-break", "jitmagic.graph_break() was called here", "remove the call"),
    (
        "no-derivative",
        "the derivative of {detail} is not known",
        "write that step with operations that have one, or keep it out of what is differentiated",
    ),
    ("disabled", "{detail} is marked with jitmagic.disable", "remove the mark to have it compiled"),
    (
        "recursion",
        "{detail} calls itself too often to be written out, so it is compiled on its own",
        "write the recursion as a loop, or leave it: each call runs compiled code",
    ),
    ("depth", "calls are nested more than {detail} deep", "write the recursion as a loop"),
    (
        "random",
        "{detail} draws random numbers",
        "draw with np.random or a Generator, which stay in the graph; this runs as plain Python, from the same stream",
    ),
    ("raises", "this call raises {detail}", "nothing to do: the error is shown as plain Python shows it"),
    ("too-many-breaks", "there were more than {detail} graph breaks in one function", "split the function"),
    ("internal", "jitmagic met a fault of its own ({detail}); the call ran as plain Python", "please report it"),
)


def describe(error: Unsupported) -> Reason:
    """The row for a break with its detail filled in."""
    row = CATALOGUE.get(error.code)
    if row is None:
        raise InternalError(f"break code {error.code!r} is not in the catalogue")
    detail = _NEEDLESS.sub(r"\1", readable(error.detail)) or "this"
    return Reason(row.code, row.text.format(detail=detail), row.hint)

"""What ``np.vectorize`` and ``np.frompyfunc`` mean: a region that runs the function for every element.

NumPy makes Python numbers of the elements before it calls the function. Without ``otypes`` it first calls it once more,
with NumPy's numbers, to find the dtype of the result; so does the region. How often a function is called shows in its
effects only, and one with effects is no region.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.elementwise import Elementwise, Given, Rowwise
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.streams import Names
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.python_ufuncs import Objects, PythonUfunc
from jitmagic.tracer.variables.sequences import TupleTracker
from jitmagic.tracer.variables.vectorized import Vectorized

__all__ = ["ROWS", "attempted"]


def _vectorize(tx: Evaluator, pyfunc: VariableTracker, **settings: VariableTracker) -> VariableTracker:
    """``np.vectorize(f, otypes=...)``."""
    settings.pop("doc", None)
    if not set(settings) <= {"otypes", "excluded", "cache", "signature"}:
        raise Unsupported("call", "np.vectorize() with these arguments")
    return Vectorized(pyfunc, settings)


def _call(
    tx: Evaluator, made: Vectorized, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """The call of one for arrays; Unsupported where it is not one region."""

    def run(names: Names) -> VariableTracker:
        settings = {k: v.constant() for k, v in made.settings.items()}
        given = _given(tx, args, kwargs, settings.get("excluded") or ())
        if settings.get("signature") is not None:
            return Rowwise(tx, made, given, names).run(settings["signature"], settings.get("otypes"))
        if settings.get("otypes") is not None:
            return Elementwise(tx, made, given, names).run([np.dtype(t) for t in settings["otypes"]])
        return Elementwise(tx, made, given, names).run_first(keeps=bool(settings.get("cache")))

    return attempted(tx, made.describe(), run)


def _given(
    tx: Evaluator, args: Sequence[VariableTracker], kwargs: Mapping[str, VariableTracker], excluded: Sequence[Any]
) -> list[Given]:
    """The arguments; a list of numbers is the array that NumPy makes of it."""
    made = [Given(tx.realize(v), "", i in excluded) for i, v in enumerate(args)]
    made += [Given(tx.realize(v), k, k in excluded) for k, v in kwargs.items()]
    return [each.as_array(tx) for each in made]


def attempted(tx: Evaluator, what: str, run: Callable[[Names], VariableTracker]) -> VariableTracker:
    """What ``run`` gives, with names for what its loop reads. Raises Unsupported, and leaves nothing behind."""
    before = len(tx.output.graph.nodes)
    names = Names(tx)
    try:
        with names:
            return run(names)
    except (Unsupported, NotConstant, Raised, DataDependentSize) as error:
        tx.output.graph.forget_calls(before)
        reason = error.detail if isinstance(error, Unsupported) else str(error)
        if "_jm" in reason:  # names of ours say nothing to anybody
            reason = "more than arithmetic on single numbers"
        raise Unsupported("plain-loop", f"{what} runs as plain Python because it holds {reason}") from None


def _from_python(
    tx: Evaluator, function: VariableTracker, nin: VariableTracker, nout: VariableTracker
) -> VariableTracker:
    """``np.frompyfunc(f, nin, nout)``."""
    return PythonUfunc(function, nin.constant(), nout.constant())


def _call_python(
    tx: Evaluator, made: PythonUfunc, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """The call of one of those for arrays, which gives an array of Python objects."""

    def run(names: Names) -> VariableTracker:
        if kwargs or len(args) != made.nin:
            raise refuse("other arguments than arrays and numbers")
        given = [tx.realize(a) for a in args]
        numbers = [tx.python_number(a) if isinstance(a, ArrayTracker) and a.meta.scalar else a for a in given]
        found = Elementwise(tx, made, [Given(n) for n in numbers], names).run_on_python_numbers(made.nout)
        objects = [Objects(each) for each in found]
        return objects[0] if made.nout == 1 else TupleTracker(objects)

    return attempted(tx, made.describe(), run)


ROWS: dict[Any, Handler] = {
    np.vectorize: _vectorize,
    Vectorized: _call,
    np.frompyfunc: _from_python,
    PythonUfunc: _call_python,
}

"""The record of one NumPy operation: everything that any stage knows about it stands in its row.

``infer`` is the one question the tracer asks: what does this call give, without running it? The answer comes from
NumPy itself wherever NumPy can be asked (type resolution, views of stand-ins); rules only add the sizes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jitmagic.graph.meta import Meta
from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops.lowering import Lowering
from jitmagic.ops.quiet import Quiet

__all__ = ["Arguments", "Form", "Inferred", "MetaRule", "Op", "Rules", "Sample"]


@dataclass(frozen=True, slots=True)
class Inferred:
    """What a call gives: one description, or a tuple of them, or None for no result.

    ``view_of`` is the position of the operand whose memory the result shares (views), ``same_as`` the position of
    the operand that is returned itself (``np.asarray(x)``, and every call with ``out=``: then the name ``"out"``).
    ``run_time_sizes`` are symbols that get their value from the result: (entry of the tuple or 0, axis, symbol).
    ``container`` is the class of a result with several entries: tuple, list, or a named tuple of NumPy's.
    """

    meta: Meta | tuple[Meta | None, ...] | None
    view_of: int | None = None
    same_as: int | str | None = None
    run_time_sizes: tuple[tuple[int, int, Any], ...] = ()
    container: type = tuple


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call in canonical form, with descriptions (``ArrayMeta``, ``PyMeta``) in place of run-time values.

    Sizes may be symbolic. ``env`` makes new run-time sizes.
    """

    op: Op
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    env: ShapeEnv

    def get(self, name: str) -> Any:
        """A parameter by name: as passed, or its default."""
        if name in self.kwargs:
            return self.kwargs[name]
        parameters = list(self.op.signature.parameters)
        index = parameters.index(name)
        if index < len(self.args):
            return self.args[index]
        return self.op.signature.parameters[name].default


MetaRule: TypeAlias = Callable[[Arguments], Inferred]
Adapter: TypeAlias = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]
Rules: TypeAlias = tuple[Callable[..., Any] | None, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """Another way to write the operation: a function, or the name of an ndarray method or operator.

    ``adapt(*args, **kwargs)`` gives the canonical arguments; without it they are passed on unchanged.
    """

    target: Callable[..., Any] | str
    adapt: Adapter | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments for the generic tests; ``args`` is called with a random generator."""

    args: Callable[[Any], tuple[Any, ...]]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One row. ``call`` gives the operation its meaning; compare rows by identity.

    * ``forms``: the other functions, methods and operators that mean the same;
    * ``meta``: the rule behind ``infer``;
    * ``writes``: positions of operands that are changed; ``out=`` counts without being listed;
    * ``effects``: must run, in order, even if nobody reads the result;
    * ``raises``: whether the data can make it raise (an index out of range, a singular matrix), or a rule that tells it
      from the arguments; such an operation must run before later writes are committed (see ``may_raise``);
    * ``probed``: the rule asked NumPy with small arrays only; executors compare the real result with it;
    * ``adapt``: gives the canonical arguments for ``call`` itself;
    * ``stands_for``: for given operands, a cheaper row and the positions of the operands it takes, or None;
    * ``warns``: floating-point conditions it may raise (``divide``, ``over``, ``under``, ``invalid``);
    * ``unheard``: its floating-point conditions are nobody's business (derivatives): executors ignore them;
    * ``unrecorded``: it is called under ``no_grad``: its result is a constant, what it writes keeps its history;
    * ``lower``: how it becomes a loop; None: extern;
    * ``vjp``: reverse mode, one rule for each operand by position; the contract stands in ``jitmagic.ops.gradients``;
    * ``no_vjp``: why the row has none although its results are real numbers ("piecewise constant" is no reason: such
      a row has rules that give 0);
    * ``samples``: what the generic tests call it with;
    * ``note``: conventions that a reader must know, for the table in the docs.
    """

    name: str
    call: Callable[..., Any]
    meta: MetaRule
    forms: tuple[Form, ...] = ()
    signature: inspect.Signature = field(default_factory=inspect.Signature)
    writes: tuple[int, ...] = ()
    effects: bool = False
    raises: bool | Callable[[Arguments], bool] = False
    probed: bool = False
    adapt: Adapter | None = None
    stands_for: Callable[[Arguments], tuple[Op, tuple[int, ...]] | None] | None = None
    warns: frozenset[str] = frozenset()
    unheard: bool = False
    unrecorded: bool = False
    lower: Lowering | None = None
    vjp: Rules | None = None
    no_vjp: str = ""
    samples: tuple[Sample, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def infer(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], env: ShapeEnv) -> Inferred:
        """What ``call(*args, **kwargs)`` gives. Raises what NumPy raises for such arguments, and warns of nothing."""
        with Quiet():
            return self.meta(Arguments(self, args, kwargs, env))

    def may_raise(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], env: ShapeEnv) -> bool:
        """Whether some data make ``call(*args, **kwargs)`` raise although ``infer`` accepts it."""
        return self.raises(Arguments(self, args, kwargs, env)) if callable(self.raises) else self.raises

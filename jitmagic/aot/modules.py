"""``aot_module`` and ``aot_module_simplified``: takes a module, gives it run by compiled graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitmagic.aot.functions import AotEntry, AotOptions, build_entry, form_of, sharing
from jitmagic.aot.guarded import Forms, Overlap
from jitmagic.aot.joint.decompose import Table
from jitmagic.aot.joint.joint_graph import PartitionFn
from jitmagic.aot.standins import StandIn, mode_of, stand_in_argument, stand_in_array
from jitmagic.aot.tracing import RaisingCall
from jitmagic.aot.training import Compilers
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import InternalError, UserError
from jitmagic.nn.module import Module
from jitmagic.tracer.capture import FrameState

__all__ = ["AotModule", "Lifted", "aot_module", "aot_module_simplified", "members_of", "parameter_tensors"]

Compiler = Callable[..., Any]


def members_of(module: Module) -> dict[str, Any]:
    """Parameters, then buffers, by dotted name; tied ones under each of their names."""
    found = dict(module.named_parameters(remove_duplicate=False))
    return found | dict(module.named_buffers(remove_duplicate=False))


class Lifted:
    """A module whose parameters and buffers are arguments: ``lifted(members, args, kwargs)``.

    The arrays of the members stand in the module's tables while it runs.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.tables = {name: _table(module, name) for name in members_of(module)}

    def swapped(self, members: dict[str, Any]) -> Callable[[], None]:
        """Put the members in; what it gives puts the module's own ones back, except where the module put others.

        These are in ``members`` too from then on.
        """
        before = {name: table[key] for name, (table, key) in self.tables.items()}
        given = before | members
        for name, (table, key) in self.tables.items():
            table[key] = given[name]

        def restore() -> None:
            for name, (table, key) in self.tables.items():
                now = table.get(key)
                if now is given[name]:
                    table[key] = before[name]
                    continue
                table[key] = _as_before(before[name], now)
                if name in members:
                    members[name] = table[key]

        return restore


def _as_before(value: Any, now: Any) -> Any:
    """What the module put in the place of ``value``: an array again, if no gradient flows through it."""
    is_plain = isinstance(now, Tensor) and not isinstance(value, Tensor) and not now.requires_grad
    return now.numpy() if is_plain else now


def _table(module: Module, name: str) -> tuple[dict[str, Any], str]:
    *path, key = name.split(".")
    owner: Any = module
    for part in path:
        owner = owner._modules[part]
    return (owner._parameters if key in owner._parameters else owner._buffers), key


class AotModule(Module):
    """Acts as ``orig_module``: the same parameters and buffers, forward and backward by compiled graphs.

    Results are Tensors where those of the module are: if it, or an argument, holds a Tensor that requires a gradient
    (``module.requires_grad_()``).
    """

    def __init__(self, module: Module, options: AotOptions) -> None:
        super().__init__()
        self.orig_module = module
        object.__setattr__(self, "_options", options)
        object.__setattr__(self, "entries", Forms())
        object.__setattr__(self, "_state", FrameState())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        module = self.orig_module
        dynamic = self._options.dynamic
        forms = form_of(args, dynamic), form_of(kwargs, dynamic)
        key = (is_grad_enabled(), module.training, *forms, sharing((args, kwargs)), recorded_members(module))
        try:
            return self.entries.call(key, args, kwargs, lambda: self._entry(args, kwargs))
        except RaisingCall:
            return module(*args, **kwargs)

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AotEntry:
        return build_entry(self.orig_module, args, kwargs, self._options, self._state)


def recorded_members(module: Module) -> tuple[str, ...]:
    """The names of the parameters and buffers through which a gradient flows."""
    return tuple(n for n, v in members_of(module).items() if isinstance(v, Tensor) and v.requires_grad)


def parameter_tensors(module: Module) -> dict[str, Tensor]:
    """A Tensor over each parameter; tied ones share it."""
    made: dict[int, Tensor] = {}
    found: dict[str, Tensor] = {}
    for name, array in module.named_parameters(remove_duplicate=False):
        if array.dtype.kind in "fc":
            found[name] = made.setdefault(id(array), _tensor_over(array))
    return found


def _tensor_over(array: Any) -> Tensor:
    """The parameter itself where the module holds a Tensor that is recorded."""
    return array if isinstance(array, Tensor) and array.requires_grad else Tensor(array, requires_grad=True)


def aot_module(
    mod: Module,
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: PartitionFn | None = None,
    decompositions: Table | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    dynamic: bool = False,
    functionalize_rng_ops: bool = False,
) -> AotModule:
    """A module that acts as ``mod``, kept as ``orig_module``, with all parameters and buffers as inputs of its graphs.

    A module of plain arrays gives plain results; for ``backward`` call ``mod.requires_grad_()``. The other arguments
    are those of ``aot_function``.

    Raises UserError for a module that holds stand-ins: there is nothing to run on.
    """
    for name, value in members_of(mod).items():
        if isinstance(value, StandIn):
            raise UserError(f"the parameter {name} of the module is a stand-in without data; give it a real array")
    compilers = Compilers.of(fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions)
    options = AotOptions(
        compilers, dynamic, keep_inference_input_mutations, functionalize_rng_ops=functionalize_rng_ops
    )
    return AotModule(mod, options)


def aot_module_simplified(
    mod: Module,
    args: tuple[Any, ...] | list[Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: PartitionFn | None = None,
    decompositions: Table | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    sources: list[str] | None = None,
    functionalize_rng_ops: bool = False,
) -> Callable[..., Any]:
    """An ordinary function of the module's inputs, compiled now for arguments like ``args``, which are flat.

    Parameters and buffers are read once, now: writes into them, and what the module itself assigns, are seen later;
    other arrays in their place are not. A call that differs in what was relied on (sizes, dtypes, a setting that the
    module read) is a UserError. For ``backward`` call ``mod.requires_grad_()`` before.
    ``sources`` names the full argument list, parameters first: they must be as many, and no two the same. Stand-ins
    among ``args`` decide whether sizes are symbols; no real array is touched then until the first call.
    """
    members = members_of(mod)
    if sources is not None:
        _check_sources(sources, len(members) + len(args))
    mode = mode_of([*members.values(), *args])
    dynamic = mode is not None and mode.env is not None
    compilers = Compilers.of(fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions)
    options = AotOptions(
        compilers, dynamic, keep_inference_input_mutations, functionalize_rng_ops=functionalize_rng_ops
    )
    lifted, name = Lifted(mod), type(mod).__name__
    kept: dict[str, Any] = {name: stand_in_array(value) for name, value in members.items()}
    entry = _with(lifted, kept, lambda: build_entry(mod, tuple(map(stand_in_argument, args)), {}, options))
    recorded = is_grad_enabled()

    def forward(*runtime_args: Any) -> Any:
        if is_grad_enabled() and not recorded and any(map(_needs_gradient, (*kept.values(), *runtime_args))):
            raise UserError(
                f"aot_module_simplified compiled {name} under jm.no_grad(), and this call is to be differentiated: "
                "compile it outside of no_grad, or use aot_module"
            )
        return _with(lifted, kept, lambda: _served(entry, runtime_args, name))

    described: Any = forward
    described.zero_grad = mod.zero_grad
    described.named_parameters = mod.named_parameters
    described.named_buffers = mod.named_buffers
    described.entry = entry
    return forward


def _needs_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _served(entry: AotEntry, args: tuple[Any, ...], name: str) -> Any:
    """A call of what was compiled for one form of arguments. Raises UserError for another."""
    failure = None if entry.checks.holds(args, {}) else entry.checks.failure(args, {})
    if failure is not None:
        raise UserError(
            f"aot_module_simplified compiled {name} for {failure.guard.text} = {failure.guard.then}; in this call it "
            f"is {failure.now}. Compile again for such arguments, give stand-ins with symbolic sizes, or use aot_module"
        )
    try:
        return entry.call(args, {})
    except Overlap:
        raise UserError(
            f"aot_module_simplified compiled {name} for arguments that share memory otherwise than those of this call, "
            "and it writes into them: copy them, or use aot_module"
        ) from None


def _with(lifted: Lifted, members: dict[str, Any], do: Callable[[], Any]) -> Any:
    restore = lifted.swapped(members)
    try:
        return do()
    finally:
        restore()


def _check_sources(sources: list[str], count: int) -> None:
    """Row A46."""
    if len(sources) != count:
        raise InternalError(f"there are {len(sources)} sources for {count} arguments, parameters included")
    if len(set(sources)) < len(sources):
        twice = sorted({s for s in sources if sources.count(s) > 1})
        raise InternalError(f"two arguments have the same source: {', '.join(twice)}")

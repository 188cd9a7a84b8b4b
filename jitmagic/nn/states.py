"""``state_dict``: takes a tree of modules, gives its arrays by dotted name, and puts such arrays back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.tensor import Tensor
from jitmagic.nn.parameter import array_of, is_uninitialized

__all__ = ["EXTRA", "IncompatibleKeys", "load", "plain", "save", "state_hooks"]

EXTRA = "_extra_state"  # the key of what a module gives by ``get_extra_state``
Place = tuple[dict[str, Any], str, Any]  # a table, the key in it, the array there


class IncompatibleKeys(NamedTuple):
    """What the given state lacked, and what it had too much of."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def state_hooks(module: Any, kind: str) -> dict[int, Any]:
    """The hooks of a kind, in a table that is made when the first one is registered."""
    kinds: dict[str, dict[int, Any]] = module.__dict__.get("_state_hooks") or {}
    if "_state_hooks" not in module.__dict__:
        object.__setattr__(module, "_state_hooks", kinds)
    return kinds.setdefault(kind, {})


def _hooks(module: Any, kind: str) -> list[Any]:
    found = module.__dict__.get("_state_hooks")
    return [hook for hook, *_ in found[kind].values()] if found and kind in found else []


def plain(value: Any) -> Any:
    """The array of a Tensor, sharing memory; anything else as it is."""
    return value.numpy() if isinstance(value, Tensor) else value


def _places(module: Any, prefix: str) -> Iterator[tuple[str, Place]]:
    """The module's own: parameters before buffers, as PyTorch orders them."""
    for name, entry in module._parameters.items():
        if entry is not None:
            yield prefix + name, (module._parameters, name, array_of(entry))
    for name, array in module._buffers.items():
        if array is not None and name not in module._non_persistent_buffers_set:
            yield prefix + name, (module._buffers, name, array)


def _walk(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Each module under the prefix of its names, from above."""
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from _walk(child, f"{prefix}{name}.")


def save(module: Any, destination: dict[str, Any], prefix: str, keep_vars: bool) -> dict[str, Any]:
    for hook in _hooks(module, "before saving"):
        hook(module, prefix, keep_vars)
    for name, (_, _, array) in _places(module, prefix):
        destination[name] = array if keep_vars else plain(array)
    if hasattr(type(module), "get_extra_state"):
        destination[prefix + EXTRA] = module.get_extra_state()
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in _hooks(module, "after saving"):
        hook(module, destination, prefix, {})
    return destination


def load(module: Any, given: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    if not isinstance(given, Mapping):
        raise TypeError(f"expected state_dict to be dict-like, got {type(given).__name__}")
    state = dict(given)
    problems: list[str] = []
    extra_missing: list[str] = []
    extra_unexpected: list[str] = []
    modules = list(_walk(module, ""))
    for prefix, each in modules:
        for hook in _hooks(each, "before loading"):
            hook(each, state, prefix, {}, strict, extra_missing, extra_unexpected, problems)
    known = dict(pair for prefix, each in modules for pair in _places(each, prefix))
    extras = {prefix + EXTRA: each for prefix, each in modules if hasattr(type(each), "set_extra_state")}
    missing = [name for name in (*known, *extras) if name not in state] + extra_missing
    unexpected = [name for name in state if name not in known and name not in extras] + extra_unexpected
    problems += [p for n in known if n in state and (p := _problem(n, known[n][2], state[n], assign))]
    if strict and unexpected:
        problems.append(f"unexpected key(s): {', '.join(unexpected)}")
    if strict and missing:
        problems.append(f"missing key(s): {', '.join(missing)}")
    if problems:
        raise RuntimeError(f"error(s) in loading state_dict for {type(module).__name__}: " + "; ".join(problems))
    for name, (table, key, array) in known.items():
        if name in state:
            _put(table, key, array, plain(array_of(state[name])), assign)
    for name, each in extras.items():
        if name in state:
            each.set_extra_state(state[name])
    return _finish(modules, IncompatibleKeys(missing, unexpected))


def _problem(name: str, array: Any, given: Any, assign: bool) -> str:
    if is_uninitialized(array):
        return ""
    found = np.asarray(plain(array_of(given)))
    if found.dtype.kind not in "biufc" or (found.dtype.kind == "c" and array.dtype.kind != "c"):
        return f"{name} has dtype {array.dtype} in the module, which takes no {found.dtype}"
    shape = found.shape
    if shape != array.shape:
        return f"size mismatch for {name}: {shape} given, {array.shape} in the module"
    if not assign and not plain(array).flags.writeable:
        return f"{name} is read-only in the module (assign=True puts the given arrays in its place)"
    return ""


def _put(table: dict[str, Any], key: str, array: Any, given: Any, assign: bool) -> None:
    if is_uninitialized(given):
        return
    if is_uninitialized(array):
        array = table[key] = array.materialize(np.shape(given))
    if not assign:
        with no_grad():
            array[...] = given
    elif isinstance(array, Tensor):
        table[key] = Tensor(np.asarray(given), requires_grad=array.requires_grad)
    else:
        table[key] = np.asarray(given)


def _finish(modules: list[tuple[str, Any]], keys: IncompatibleKeys) -> IncompatibleKeys:
    for _, each in reversed(modules):
        for hook in _hooks(each, "after loading"):
            hook(each, keys)
    return keys

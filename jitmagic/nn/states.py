"""``state_dict``: takes a tree of modules, gives its arrays by dotted name, and puts such arrays back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jitmagic.nn.parameter import array_of

__all__ = ["IncompatibleKeys", "load", "save"]

Place = tuple[dict[str, Any], str, Any]  # a table, the key in it, the array there


class IncompatibleKeys(NamedTuple):
    """What the given state lacked, and what it had too much of."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def places(module: Any, prefix: str) -> Iterator[tuple[str, Place]]:
    """Dotted names and where each array is; parameters before buffers before children, as PyTorch orders them."""
    for name, entry in module._parameters.items():
        if entry is not None:
            yield prefix + name, (module._parameters, name, array_of(entry))
    for name, array in module._buffers.items():
        if array is not None and name not in module._non_persistent_buffers_set:
            yield prefix + name, (module._buffers, name, array)
    for name, child in module._modules.items():
        if child is not None:
            yield from places(child, f"{prefix}{name}.")


def save(module: Any, prefix: str) -> dict[str, Any]:
    return {name: array for name, (_, _, array) in places(module, prefix)}


def load(module: Any, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    known = dict(places(module, ""))
    missing = [name for name in known if name not in state]
    unexpected = [name for name in state if name not in known]
    problems = [f"size mismatch for {n}: {s}" for n in known if n in state and (s := _mismatch(known[n][2], state[n]))]
    if strict and unexpected:
        problems.append(f"unexpected key(s): {', '.join(unexpected)}")
    if strict and missing:
        problems.append(f"missing key(s): {', '.join(missing)}")
    if problems:
        raise RuntimeError(f"error(s) in loading state_dict for {type(module).__name__}: " + "; ".join(problems))
    for name, (table, key, array) in known.items():
        if name in state and assign:
            table[key] = np.asarray(array_of(state[name]))
        elif name in state:
            array[...] = array_of(state[name])
    return IncompatibleKeys(missing, unexpected)


def _mismatch(array: Any, given: Any) -> str:
    shape = np.shape(array_of(given))
    return "" if shape == array.shape else f"{shape} given, {array.shape} in the module"

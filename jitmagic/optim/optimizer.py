"""``Optimizer``: groups of parameters with their settings, and what is remembered for each parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from jitmagic.autograd.modes import enable_grad, no_grad
from jitmagic.autograd.tensor import Tensor
from jitmagic.optim.state import State

__all__ = ["Array", "Optimizer", "check_positive"]

Array = np.ndarray[Any, Any]
Group = dict[str, Any]
NO_TENSOR = (
    "an optimizer takes Tensors, but one of the params is of type {}: call module.requires_grad_() before "
    "module.parameters(), or make it one with jm.Tensor(array, requires_grad=True)"
)


class Optimizer:
    """Takes parameters (Tensors that require a gradient, ``(name, Tensor)`` pairs, or dicts of groups with settings).

    ``param_groups`` is a list of dicts, ``state`` maps a parameter to what is remembered for it. A subclass gives its
    settings as ``defaults`` and defines ``update(group)``, which changes the parameters of one group in place; it runs
    under ``no_grad``.

    Raises TypeError for what is no Tensor, ValueError for one that is computed, or given twice.
    """

    param_groups: list[Group]
    state: State

    def __init__(self, params: Any, defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.state = State(dict)
        self.param_groups = []
        if isinstance(params, Tensor):
            raise TypeError("an optimizer takes Tensors in a list, or dicts, but got a single Tensor")
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(dict(group))

    def add_param_group(self, param_group: Group) -> None:
        """Add a group; settings that it does not name are those of the optimizer."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("parameters must be in an order: a set has none that lasts")
        members = [params] if isinstance(params, Tensor) else list(params)
        if members and isinstance(members[0], tuple):
            param_group["param_names"] = [name for name, _ in members]
            members = [member for _, member in members]
        self._check_members(members)
        param_group["params"] = members
        for name, value in self.defaults.items():
            param_group.setdefault(name, value)
        self.param_groups.append(param_group)

    def _check_members(self, members: list[Any]) -> None:
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for member in members:
            if not isinstance(member, Tensor):
                raise TypeError(NO_TENSOR.format(type(member).__name__))
            if not member.is_leaf:
                raise ValueError("can't optimize a computed Tensor: only leaves are parameters")
            if id(member) in known:
                raise ValueError("a parameter appears more than once among the parameters of the optimizer")
            known.add(id(member))

    # -- a step
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = Tensor(np.zeros_like(p.grad.numpy()))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient, in place.

        ``closure()`` computes the loss and the gradients first; its result is given back.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self.update(group)
        return loss

    def update(self, group: Group) -> None:
        """One step for one group."""
        raise NotImplementedError(f"{type(self).__name__} defines no update(group)")

    # -- saving and loading
    def state_dict(self) -> dict[str, Any]:
        """``{"state": ..., "param_groups": ...}``: as in the optimizer, with numbers in place of the parameters.

        The arrays are those of the optimizer, not copies.
        """
        numbers = self._numbers(self.param_groups)
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {numbers.get(id(p), p): dict(known) for p, known in self.state.items()}
        return {"state": state, "param_groups": groups}

    @staticmethod
    def _numbers(groups: Iterable[Group]) -> dict[int, int]:
        members = [p for group in groups for p in group["params"]]
        return {id(p): number for number, p in enumerate(members)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over copies of what ``state_dict`` gave; arrays get the dtype of their parameter, but for ``step``.

        Raises ValueError where the groups have other sizes.
        """
        given = [dict(group) for group in state_dict["param_groups"]]
        if len(given) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if [len(g["params"]) for g in given] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of its group")
        numbers = [number for group in given for number in group["params"]]
        members = dict(zip(numbers, (p for group in self.param_groups for p in group["params"]), strict=True))
        state = State(dict)
        places = {number: place for place, group in enumerate(given) for number in group["params"]}
        steps: dict[Any, Array] = {}
        for key, known in state_dict["state"].items():
            member = members.get(key)
            if member is None:
                state[key] = deepcopy(known)
            else:
                state[member] = {name: _loaded(name, value, member) for name, value in known.items()}
                if "step" in known:  # equal steps of a group are shared
                    step = state[member]["step"]
                    state[member]["step"] = steps.setdefault((places[key], float(step)), step)
        self.state.clear()
        self.state.update(state)
        for group, new in zip(self.param_groups, given, strict=True):
            group.update((name, deepcopy(value)) for name, value in new.items() if name != "params")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _loaded(name: str, value: Any, member: Tensor) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if name == "step":
        return np.array(value, np.float64)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f":
        return np.array(value, member.numpy().dtype)
    return deepcopy(value)


def check_positive(**settings: float) -> None:
    """Raises ValueError for a negative setting, naming it."""
    for name, value in settings.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}")

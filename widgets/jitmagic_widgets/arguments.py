"""Takes the parameters of a function, gives a row of controls to choose a value for each of them.

A value is a variable of the notebook or any Python expression; it is evaluated in the notebook's namespace.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import ipywidgets

__all__ = ["ArgumentError", "ArgumentFields", "notebook_names"]

_LISTED = 300  # variables offered for completion
_STARRED: dict[Any, tuple[Any, tuple[type, ...]]] = {
    inspect.Parameter.VAR_POSITIONAL: ((), (tuple, list)),
    inspect.Parameter.VAR_KEYWORD: ({}, (dict,)),
}


class ArgumentError(Exception):
    """What was typed for a parameter has no value; the message names the parameter."""


def notebook_names(function: FunctionType) -> dict[str, Any]:
    """The variables of the running notebook; without one, those of the function's module."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    found: dict[str, Any] = shell.user_ns if shell is not None else function.__globals__
    return found


class ArgumentFields:
    """One text field with completion for each parameter; ``values`` reads them."""

    def __init__(self, function: FunctionType, namespace: Mapping[str, Any] | None = None) -> None:
        self._namespace = notebook_names(function) if namespace is None else namespace
        self._parameters = inspect.signature(function).parameters
        self.fields = {name: self._field(parameter) for name, parameter in self._parameters.items()}
        self.offer()

    def _field(self, parameter: inspect.Parameter) -> Any:
        return ipywidgets.Combobox(
            description=str(parameter).partition(":")[0].partition("=")[0].strip(),
            placeholder=_placeholder(parameter),
            ensure_option=False,
            continuous_update=False,
            layout=ipywidgets.Layout(width="320px"),
            style={"description_width": "90px"},
        )

    def offer(self) -> None:
        """Offer the variables that the notebook has now."""
        names = tuple(sorted(name for name, value in self._namespace.items() if _is_data(name, value))[:_LISTED])
        for each in self.fields.values():
            if each.options != names:
                each.options = names

    def observe(self, changed: Callable[[Any], None]) -> None:
        """Call ``changed`` when a field was edited and left."""
        for each in self.fields.values():
            each.observe(changed, "value")

    def values(self) -> dict[str, Any]:
        """The value of each parameter. Raises ArgumentError for the first that has none."""
        return {name: self._value(name, parameter) for name, parameter in self._parameters.items()}

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was typed although something has to be."""
        needed = [n for n, p in self._parameters.items() if p.default is p.empty and p.kind not in _STARRED]
        return bool(needed) and not any(each.value.strip() for each in self.fields.values())

    def _value(self, name: str, parameter: inspect.Parameter) -> Any:
        text = self.fields[name].value.strip()
        if not text:
            return _left_out(name, parameter)
        try:
            value = eval(compile(text, f"<{name}>", "eval"), self._namespace)  # type: ignore[arg-type]  # a dict
        except Exception as error:  # whatever the expression raises belongs to the person who typed it
            raise ArgumentError(f"{name} = {text}: {type(error).__name__}: {error}") from error
        return _starred(name, parameter, value)


def _left_out(name: str, parameter: inspect.Parameter) -> Any:
    if parameter.kind in _STARRED:
        return _STARRED[parameter.kind][0]
    if parameter.default is parameter.empty:
        raise ArgumentError(f"{name} has no value: choose a variable or type an expression")
    return parameter.default


def _starred(name: str, parameter: inspect.Parameter, value: Any) -> Any:
    """A tuple for ``*args``, a dict for ``**kwargs``."""
    if parameter.kind not in _STARRED:
        return value
    empty, kinds = _STARRED[parameter.kind]
    if type(value) not in kinds:
        raise ArgumentError(
            f"{name} takes a {type(empty).__name__} here, as in  {'(x, y)' if empty == () else '{...}'}"
        )
    return tuple(value) if empty == () else value


def _placeholder(parameter: inspect.Parameter) -> str:
    if parameter.kind in _STARRED:
        return "nothing"
    if parameter.default is parameter.empty:
        return "variable or expression"
    return f"default {parameter.default!r}"[:40]


def _is_data(name: str, value: Any) -> bool:
    """Whether a variable is worth offering."""
    hidden = name.startswith("_") or name in ("In", "Out", "exit", "quit", "get_ipython", "open")
    return not hidden and not isinstance(value, ModuleType | type) and not callable(value)

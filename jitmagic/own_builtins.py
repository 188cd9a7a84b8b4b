"""Python's builtins as they were when jitmagic was imported: what every module of jitmagic itself runs with.

A notebook that replaces ``builtins.max`` changes what its own functions do, and what they do when compiled. It must not
change how we compile them. Python looks a builtin up in the ``__builtins__`` of the module that a function stands in,
so the loader below puts a copy there before a module of the package runs. Importing this one is enough.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import BuiltinFunctionType, ModuleType
from typing import Any

__all__ = ["OWN_BUILTINS", "builtins_in", "replaced_builtin"]

OWN_BUILTINS: dict[str, Any] = dict(vars(builtins))

_OFTEN_REPLACED = frozenset({"__import__", "breakpoint", "exit", "help", "input", "open", "print", "quit"})
_RELIED_ON = tuple(
    (name, value)
    for name, value in OWN_BUILTINS.items()
    if isinstance(value, type | BuiltinFunctionType) and name not in _OFTEN_REPLACED
)


def replaced_builtin() -> str:
    """The name of a builtin that is another object now, if it is one that Python's own library is written with."""
    now = vars(builtins)
    return next((name for name, value in _RELIED_ON if now.get(name) is not value), "")


def builtins_in(scope: Mapping[str, Any]) -> dict[str, Any]:
    """The builtins that code with these globals finds."""
    found = scope.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)


class _Loader(SourceFileLoader):
    """Loads a module from its file as usual, with ``OWN_BUILTINS`` in its namespace."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        vars(module)["__builtins__"] = OWN_BUILTINS
        return module


class _Finder(MetaPathFinder):
    """Finds what the usual finder finds in ``package``; leaves anything but plain files to the usual loader."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{self.package}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder(__name__.partition(".")[0]))

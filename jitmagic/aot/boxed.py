"""Takes what a backend returns, gives a boxed callable: one list of arguments, which it empties (row A40)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Program", "as_boxed"]

Program: TypeAlias = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class _Boxed:
    """A plain program that takes a list and leaves it alone."""

    plain: Program
    boxed = True

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        passed = list(arguments)
        arguments.clear()
        return self.plain(passed)


def as_boxed(program: Program) -> Program:
    """``program`` itself if it says that it is boxed (``program.boxed`` is true), else wrapped."""
    return program if getattr(program, "boxed", False) else _Boxed(program)

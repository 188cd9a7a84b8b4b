"""Takes the link of a trampoline, gives the callable through which the trampoline enters compiled code."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from jitmagic.runtime.native.code import entry_words, is_ready, make_builtin
from jitmagic.runtime.trampoline import Link

__all__ = ["make_door"]


def make_door(link: Link) -> Callable[..., Any]:
    """``door(*values)`` is ``link().run(*values)``."""
    if not is_ready():
        return MethodType(_enter, link)
    link.known = entry_words()
    return make_builtin("door", link)


def _enter(link: Link, *values: Any) -> Any:
    target = link()
    return link.dead(*values) if target is None else target.run(*values)

"""Takes a tree of modules, gives its ``repr`` in PyTorch's layout."""

from __future__ import annotations

from typing import Any

__all__ = ["show"]


def show(module: Any) -> str:
    extra: str = module.extra_repr()
    lines = extra.split("\n") if extra else []
    children = [f"({name}): {_indent(repr(child))}" for name, child in module._modules.items()]
    head: str = module._get_name() + "("
    if len(lines) == 1 and not children:
        return head + lines[0] + ")"
    body = [*lines, *children]
    return head + ("\n  " + "\n  ".join(body) + "\n" if body else "") + ")"


def _indent(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])

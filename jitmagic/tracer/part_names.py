"""Takes a statement that was split at a break, gives names for its parts: in code, and for people.

The third part of the statement at line 4, column 8 is ``_jm_4_8_2`` in code, ``_jm_4_8_2_4_8_0`` a part of that part.
What the user wrote there follows, escaped: ``_jm_4_8_2_is_random_2erandom_28_29`` is ``random.random()`` in a card.
"""

from __future__ import annotations

import ast
import re

__all__ = ["part_name", "readable"]

_TEXT_LIMIT = 48  # characters of an expression that a card quotes
_PART = re.compile(r"(\(?)\b_jm((?:_\d+_\d+_\d+)+)(?:_is_(\w+))?\b(\)?)")
_ESCAPED = re.compile(r"((?:_[0-9a-f]{2})+)")
_ATOMS = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set)


_OURS = re.compile(r"\b_jm\w*?(?:_(\d+)_\d+)?\b")
_SCOPED = re.compile(r"\b_jm_c\d+_")  # before names that a comprehension in a loop has for itself


def part_name(place: str, number: int, written: ast.expr | None = None) -> str:
    """The variable that holds part ``number`` of the statement at ``place`` (``_4_8``), and what was ``written``."""
    name = f"_jm{place}_{number}"
    if written is None:
        return name
    text = readable(ast.unparse(written))
    if len(text) > _TEXT_LIMIT:
        return name
    return f"{name}_is_{_escaped(text if isinstance(written, _ATOMS) else f'({text})')}"


def readable(text: str) -> str:
    """``text`` with every such variable as a reader would call it."""
    if "_jm" not in text:
        return text
    return _OURS.sub(_unwritten, _PART.sub(_said, _SCOPED.sub("", text)))


def _unwritten(found: re.Match[str]) -> str:
    """What stands for a variable of ours that is no part of what the user wrote."""
    line = found.group(1)
    return f"a value made on line {line}" if line else "a value in between"


def _said(found: re.Match[str]) -> str:
    before, place, escaped, after = found.groups()
    is_alone = bool(before and after)
    said = f"a value made on line {place.split('_')[1]}"
    if escaped is not None:
        said = _unescaped(escaped)
        bare = said[1:-1] if said.startswith("(") and is_alone else said
        return f"{before}{bare}{after}"
    return f"{before}{said}{after}" if is_alone else f"{before}({said}){after}"


def _escaped(text: str) -> str:
    """The text as part of a name: what is no letter or digit of ASCII as the bytes of its UTF-8."""
    return "".join(c if c.isascii() and c.isalnum() else "".join(f"_{b:02x}" for b in c.encode()) for c in text)


def _unescaped(name: str) -> str:
    return _ESCAPED.sub(lambda found: bytes.fromhex(found.group().replace("_", "")).decode(), name)

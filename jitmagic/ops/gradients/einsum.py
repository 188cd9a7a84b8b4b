"""Takes the cotangent of ``einsum``, gives those of its operands: an ``einsum`` of the cotangent and the others."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import diagonal_mask, fit, shape_of

__all__ = ["of_einsum", "with_subscripts"]


def with_subscripts(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``einsum(a, [0, 1], b, [1, 2], [0, 2])`` as ``einsum("ab,bc->ac", a, b)``."""
    if not args or isinstance(args[0], str):
        return args, kwargs
    pairs, rest = args[: len(args) // 2 * 2], args[len(args) // 2 * 2 :]
    text = ",".join(map(_letters, pairs[1::2]))
    return (text + (f"->{_letters(rest[0])}" if rest else ""), *pairs[::2]), kwargs


def _letters(places: Sequence[Any]) -> str:
    return "".join("..." if place is Ellipsis else ascii_letters[place] for place in places)


def _parse(subscripts: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters in place of ellipses."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    unused = [letter for letter in ascii_letters if letter not in text]
    ranks = [len(shape_of(x)) - len(p.replace("...", "")) for p, x in zip(parts, operands, strict=True)]
    longest = max((n for p, n in zip(parts, ranks, strict=True) if "..." in p), default=0)
    hidden = "".join(unused[:longest])
    parts = [p.replace("...", hidden[longest - n :] if n else "") for p, n in zip(parts, ranks, strict=True)]
    if not arrow:
        letters = [c for c in "".join(left.split(",")) if c != "."]
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return parts, right.replace("...", hidden)


def of_einsum(g: Any, ans: Any, subscripts: str, *operands: Any, **options: Any) -> list[Any]:
    """A list with the cotangent of each operand."""
    parts, result = _parse(subscripts, operands)
    return [_of_operand(place, g, parts, result, operands) for place in range(len(operands))]


def _of_operand(place: int, g: Any, parts: list[str], result: str, operands: Sequence[Any]) -> Any:
    own = parts[place]
    others = [*parts[:place], *parts[place + 1 :]]
    factors = [g, *operands[:place], *operands[place + 1 :]]
    known = set("".join((result, *others)))
    distinct = "".join(dict.fromkeys(own))
    found = np.einsum(f"{','.join((result, *others))}->{''.join(c for c in distinct if c in known)}", *factors)
    alone = tuple(i for i, c in enumerate(distinct) if c not in known)  # summed in this operand only
    if alone:
        found = np.expand_dims(found, alone)
        sizes = tuple(shape_of(operands[place])[own.index(c)] for c in distinct)
        full = tuple(n if i in alone else m for i, (n, m) in enumerate(zip(sizes, shape_of(found), strict=True)))
        found = np.broadcast_to(found, full)
    return fit(_on_diagonals(found, distinct, own), operands[place])


def _on_diagonals(found: Any, distinct: str, own: str) -> Any:
    """For letters that an operand has twice (``ii->i``): zeros beside the diagonal."""
    if distinct == own:
        return found
    spare = iter(c for c in ascii_letters if c not in own)
    target, masks, texts = "", [], []
    for c in own:
        if c in target:
            fresh = next(spare)
            masks.append(diagonal_mask(found, axes=(distinct.index(c),) * 2) * 1.0)
            texts.append(c + fresh)
            c = fresh
        target += c
    return np.einsum(f"{','.join((distinct, *texts))}->{target}", found, *masks)

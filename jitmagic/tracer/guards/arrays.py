"""Makers of the guards on arrays (ARRAY_MATCH): dtype, sizes, memory order, flags."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from jitmagic.graph.meta import layout_key
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.naming import dtype_text
from jitmagic.tracer.guards.source import Source

__all__ = ["array_guard", "dtype_guard", "layout", "layout_text", "writeable_guard"]

CONTIGUOUS_C, CONTIGUOUS_F, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # bits of ndarray.flags.num


_SIGNS = {1: "", 0: " (repeated)", -1: " (backwards)"}  # of strides


def layout(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """What a guard on memory order compares where an array is not contiguous."""
    return layout_key(array.shape, array.strides)


def layout_text(array: np.ndarray[Any, Any]) -> str:
    """The same for people: the axes from the longest stride to the shortest, ``1, 0 (backwards)``.

    Axes of size 1 do not count.
    """
    key = layout(array)
    order, signs = (key[: key.index(-2)], key[key.index(-2) + 1 :]) if key else ((), ())
    marks = dict(zip(sorted(order), (_SIGNS[sign] for sign in signs), strict=True))
    return ", ".join(f"{axis}{marks[axis]}" for axis in order) or "none"


def array_guard(
    source: Source, value: np.ndarray[Any, Any], sizes: tuple[int | None, ...], fixed: Collection[int] = ()
) -> list[Guard]:
    """ARRAY_MATCH: class, dtype, rank, sizes (None: free, but at least 2), memory order and alignment.

    ``fixed`` are the axes that the user has marked as static.
    """
    remedy = "pass arrays of one dtype and memory order"
    kind = Guard(
        "ARRAY_MATCH",
        source,
        "type({v}) is ndarray and ({v}.dtype is {k} or {v}.dtype == {k} and {v}.dtype.metadata is None)",
        str(value.dtype),
        "dtype_now({v})",
        value.dtype,
        about=f"{source.text}.dtype",
        remedy=remedy,
        form=("dtype",),
    )
    return [kind, _sizes_guard(source, sizes, fixed), *_order_guards(source, value, remedy)]


def _sizes_guard(source: Source, sizes: tuple[int | None, ...], fixed: Collection[int]) -> Guard:
    remedy = "sizes that change become free by themselves"
    if not source.text.startswith("("):  # a part of a statement has no name that could be marked
        remedy += f"; jm.mark_dynamic({source.text}, axis) says so in advance"
    if fixed:
        axes = f"ax{'i' if len(fixed) == 1 else 'e'}s {', '.join(map(str, sorted(fixed)))}"
        remedy = f"jm.mark_static keeps {axes} of {source.text} at one size: without it, sizes that change become free"
    if None not in sizes:
        return Guard(
            "ARRAY_MATCH",
            source,
            f"{{v}}.shape == {sizes!r}",
            str(sizes),
            "{v}.shape",
            about=f"{source.text}.shape",
            remedy=remedy,
            form=("sizes", sizes),
        )
    tests = [f"{{v}}.ndim == {len(sizes)}"]
    for axis, n in enumerate(sizes):
        tests.append(f"{{v}}.shape[{axis}] {'>= 2' if n is None else f'== {n}'}")
    shown = ", ".join("any >= 2" if n is None else str(n) for n in sizes)
    return Guard(
        "ARRAY_MATCH",
        source,
        " and ".join(tests),
        f"({shown}{',' if len(sizes) == 1 else ''})",
        "{v}.shape",
        about=f"{source.text}.shape",
        remedy=remedy,
        form=("sizes", sizes),
    )


def _order_guards(source: Source, value: np.ndarray[Any, Any], remedy: str) -> list[Guard]:
    if not value.ndim:
        return []
    flags = value.flags.num
    order = CONTIGUOUS_C if flags & CONTIGUOUS_C else CONTIGUOUS_F
    mask = order | ALIGNED if flags & order else CONTIGUOUS_C | CONTIGUOUS_F | ALIGNED
    now = (
        "('C' if {v}.flags.c_contiguous else 'F' if {v}.flags.f_contiguous else 'strided')"
        " + ('' if {v}.flags.aligned else ', unaligned')"
    )
    then = ("C" if flags & CONTIGUOUS_C else "F" if flags & CONTIGUOUS_F else "strided") + (
        "" if flags & ALIGNED else ", unaligned"
    )
    about = f"memory order of {source.text}"
    guards = [
        Guard(
            "ARRAY_MATCH",
            source,
            f"{{v}}.flags.num & {mask} == {flags & mask}",
            then,
            now,
            about=about,
            remedy=remedy,
            form=("flags", mask, flags & mask),
        )
    ]
    if not flags & (CONTIGUOUS_C | CONTIGUOUS_F):
        key = layout(value)
        guards.append(
            Guard(
                "ARRAY_MATCH",
                source,
                "layout({v}) == {k}",
                layout_text(value),
                "layout_text({v})",
                key,
                about=f"axis order of {source.text}",
                remedy=remedy,
                form=("strides", value.strides),
            )
        )
    return guards


def writeable_guard(source: Source, is_writeable: bool = True) -> Guard:
    """ARRAY_MATCH: whether the array may be written; only for arrays that the trace writes to, or tried to."""
    return Guard(
        "ARRAY_MATCH",
        source,
        f"{'' if is_writeable else 'not '}{{v}}.flags.num & {WRITEABLE}",
        "writeable" if is_writeable else "read-only",
        "'writeable' if {v}.flags.writeable else 'read-only'",
        about=f"{source.text}.flags.writeable",
        remedy="pass an array that may be written",
        form=("flags", WRITEABLE, WRITEABLE if is_writeable else 0),
    )


def dtype_guard(source: Source, dtype: Any) -> Guard:
    """ARRAY_MATCH of an array that is only passed on: its dtype."""
    test = "{v}.dtype == {k} and ({v}.dtype.metadata is None) == ({k}.metadata is None)"
    text = dtype_text(dtype)
    return Guard("ARRAY_MATCH", source, test, text, "dtype_text({v}.dtype)", dtype, about=f"{source.text}.dtype")

"""Takes a setting that is one number or one for each axis, gives a tuple."""

from __future__ import annotations

from typing import Any

__all__ = ["SEVERAL", "as_pairs", "as_tuple", "same_padding"]

SEVERAL = (tuple, list)


def as_tuple(value: Any, count: int, name: str) -> tuple[int, ...]:
    """``count`` numbers. Raises ValueError for another count."""
    if not isinstance(value, SEVERAL):
        return (value,) * count
    if len(value) == 1:
        return (value[0],) * count
    if len(value) != count:
        raise ValueError(f"{name}={value!r}: {count} numbers are wanted, or one for all axes")
    return tuple(value)


def same_padding(kernel: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """What keeps sizes with stride 1; an odd one more is put behind."""
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple((total // 2, total - total // 2) for total in totals)


def as_pairs(padding: Any, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """``padding`` as (before, after) for each axis; ``"valid"`` is none, ``"same"`` keeps sizes.

    Raises ValueError for other words, and for ``"same"`` with a stride.
    """
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        return same_padding(kernel, dilation)
    if isinstance(padding, str):
        raise ValueError(f"padding={padding!r}: it is 'same', 'valid', or numbers")
    return tuple((p, p) for p in as_tuple(padding, len(kernel), "padding"))

"""Takes the cotangent of a Fourier transform, gives that of the signal: matrices of transforms are symmetric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import axes_of, cast, counted, shape_of

__all__ = ["along_axes", "of_shift", "one_axis", "real_axes", "real_half", "real_half_axes", "real_signal"]

Transform = Callable[..., Any]


def _sized(g: Any, n: Any, axis: int) -> Any:
    """``g`` cut off or filled with zeros to ``n`` elements along the axis: the transpose of what NumPy does."""
    here = shape_of(g)[axis]
    if here == n:
        return g
    if here > n:
        return g[(*(slice(None),) * axis, slice(0, n))]
    return np.pad(g, [(0, n - here) if i == axis else (0, 0) for i in range(len(shape_of(g)))])


def one_axis(transform: Transform) -> Callable[..., Any]:
    """Of ``fft`` and ``ifft``."""

    def rule(g: Any, ans: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        (place,) = axes_of(a, axis)
        return cast(_sized(transform(g, None, place, norm), shape_of(a)[place], place), a)

    return rule


def _axes(a: Any, s: Any, axes: Any) -> tuple[int, ...]:
    if axes is None:
        return axes_of(a, None) if s is None else tuple(range(len(shape_of(a)) - len(s), len(shape_of(a))))
    return axes_of(a, axes)


def along_axes(transform: Transform, default: Any) -> Callable[..., Any]:
    """Of ``fftn``, ``fft2`` and their inverses."""

    def rule(g: Any, ans: Any, a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        places = _axes(a, s, axes)
        found = transform(g, None, places, norm)
        for place in places:
            found = _sized(found, shape_of(a)[place], place)
        return cast(found, a)

    return rule


def _of_real_half(g: Any, size: Any, n: Any, axis: int, norm: Any) -> Any:
    """The transpose of ``rfft`` of a real signal of ``size`` elements: no conjugate half is left out."""
    return _sized(np.real(np.fft.fft(g, n, axis, norm)), size, axis)


def real_half(conjugated: bool) -> Callable[..., Any]:
    """Of ``rfft``, and of ``ihfft``, its conjugate with the other scale."""

    def rule(g: Any, ans: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        (place,) = axes_of(a, axis)
        length = shape_of(a)[place] if n is None else n
        g, norm = (np.conj(g), SWAPPED[norm]) if conjugated else (g, norm)
        return cast(_of_real_half(g, shape_of(a)[place], length, place, norm), a)

    return rule


SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _of_real_signal(g: Any, size: Any, axis: int, norm: Any) -> Any:
    """The transpose of ``irfft``, which counts all but the first (and the middle) frequency twice."""
    n = shape_of(g)[axis]
    half = np.fft.ifft(g, None, axis, norm)[(*(slice(None),) * axis, slice(0, n // 2 + 1))]
    place = counted(half, axis)
    weights = np.where((place == 0) | (place * 2 == n), 1.0, 2.0)
    return _sized(half * weights.reshape((-1,) + (1,) * (len(shape_of(g)) - axis - 1)), size, axis)


def real_signal(conjugated: bool) -> Callable[..., Any]:
    """Of ``irfft``, and of ``hfft``, which conjugates first and scales the other way."""

    def rule(g: Any, ans: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        (place,) = axes_of(a, axis)
        found = _of_real_signal(g, shape_of(a)[place], place, SWAPPED[norm] if conjugated else norm)
        return cast(np.conj(found) if conjugated else found, a)

    return rule


def real_half_axes(default: Any) -> Callable[..., Any]:
    """Of ``rfftn`` and ``rfft2``: the last axis first, then the others."""

    def rule(g: Any, ans: Any, a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        places = _axes(a, s, axes)
        length = shape_of(a)[places[-1]] if s is None or s[-1] == -1 else s[-1]
        found = np.fft.fftn(g, None, places[:-1], norm) if places[:-1] else g
        for place in places[:-1]:
            found = _sized(found, shape_of(a)[place], place)
        return cast(_of_real_half(found, shape_of(a)[places[-1]], length, places[-1], norm), a)

    return rule


def real_axes(default: Any) -> Callable[..., Any]:
    """Of ``irfftn`` and ``irfft2``: the last axis last."""

    def rule(g: Any, ans: Any, a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        places = _axes(a, s, axes)
        found = _of_real_signal(g, shape_of(a)[places[-1]], places[-1], norm)
        found = np.fft.ifftn(found, None, places[:-1], norm) if places[:-1] else found
        for place in places[:-1]:
            found = _sized(found, shape_of(a)[place], place)
        return cast(found, a)

    return rule


def of_shift(back: Transform) -> Callable[..., Any]:
    """Of ``fftshift`` and ``ifftshift``, which undo each other."""
    return lambda g, ans, x, axes=None: back(g, axes)

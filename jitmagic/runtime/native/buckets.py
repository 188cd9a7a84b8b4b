"""Takes the guards of several entries, gives the words of the arguments that tell them apart at once.

Compiled code hashes the same words of a call and looks only at the entries of one bucket, so that many entries cost
no more than one. A word of an argument takes part only if every entry asks for one value of it: an entry is never
in another bucket than a call that it matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from jitmagic.runtime.native.checks import float_bits
from jitmagic.runtime.native.entry_text import BIG_PRIME, Mode
from jitmagic.runtime.native.layout import dtype_word
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import LocalSource

__all__ = ["Pin", "choose_modes", "hash_of", "pins_of"]

_MASK = (1 << 64) - 1


@dataclass(slots=True)
class Pin:
    """What one entry asks of one argument; None: anything."""

    kind: type | None = None
    word: int | None = None
    shape: tuple[int | None, ...] | None = None
    bits: int | None = None
    number: int | None = None

    def modes(self) -> int:
        """The modes under which all calls that match the entry have one hash."""
        if self.kind is None:
            return 0
        fixed = int(Mode.TYPE)
        if self.kind is not np.ndarray or (self.word is not None and self.shape is not None):
            fixed |= Mode.DTYPE
            if self.kind is not np.ndarray or None not in (self.shape or ()):
                fixed |= Mode.SHAPE
        if self.kind is not float or self.bits is not None:
            fixed |= Mode.FLOAT
        if self.kind is not int or self.number is not None:
            fixed |= Mode.INT
        return fixed


def pins_of(guards: Iterable[Guard], parameters: Sequence[str]) -> list[Pin]:
    """What the guards ask of each parameter."""
    pins = {name: Pin() for name in parameters}
    for guard in guards:
        if isinstance(guard.source, LocalSource) and guard.form:
            _pin(pins[guard.source.name], guard)
    return list(pins.values())


def _pin(pin: Pin, guard: Guard) -> None:
    constant: Any = guard.constant() if isinstance(guard.constant, ref) else guard.constant
    match guard.form[0]:
        case "type" | "length":
            pin.kind = constant
        case "is":
            pin.kind = type(constant)
        case "int64":
            pin.kind = int
        case "equals" | "float":
            pin.kind = type(constant)
            if type(constant) is float and constant == constant:
                pin.bits = float_bits(constant)
            if type(constant) is int and -(2**63) <= constant < 2**63:
                pin.number = constant
        case "dtype":
            pin.kind = np.ndarray
            pin.word = dtype_word(constant)
        case "sizes":
            pin.shape = guard.form[1]


def choose_modes(entries: Sequence[Sequence[Pin]]) -> list[int]:
    """For each argument, the modes that every entry allows."""
    modes = []
    for pins in zip(*entries, strict=True):
        common = int(Mode.TYPE | Mode.DTYPE | Mode.SHAPE | Mode.FLOAT | Mode.INT)
        for pin in pins:
            common &= pin.modes()
        modes.append(common)
    return modes


def hash_of(pins: Sequence[Pin], modes: Sequence[int]) -> int:
    """The hash of every call that matches the entry of ``pins``, as compiled code computes it."""
    mixed = 0
    for pin, mode in zip(pins, modes, strict=True):
        for word in _words(pin, mode):
            mixed = ((mixed ^ (word & _MASK)) * (BIG_PRIME & _MASK)) & _MASK
            mixed ^= mixed >> 32
    return mixed


def _words(pin: Pin, mode: int) -> Iterable[int]:
    if not mode:
        return
    yield id(pin.kind)
    if pin.kind is np.ndarray:
        if mode & Mode.DTYPE:
            assert pin.word is not None
            assert pin.shape is not None
            yield pin.word ^ len(pin.shape) << 8
            if mode & Mode.SHAPE:
                yield from (n for n in pin.shape if n is not None)
    elif pin.kind is float and mode & Mode.FLOAT:
        yield pin.bits or 0
    elif pin.kind is int and mode & Mode.INT:
        yield pin.number or 0

"""Takes numbers, names and foreign text, gives the short clean words that people read."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean", "columns", "duration", "failure", "plural", "ratio", "short_code", "short_name", "shorten"]

_UNITS = ((100_000_000, 1e9, "s"), (1_000_000, 1e6, "ms"), (1_000, 1e3, "us"), (0, 1.0, "ns"))
_CODE_LIMIT = 89  # characters of an expression
_MINUTE_NS = 60_000_000_000
_KEPT_CONTROLS = frozenset("\t\n")
_CELL_NAMES = {"<module>": "this cell", "<cell>": "this cell"}


def duration(elapsed_ns: int) -> str:
    """Nanoseconds as a person says them: ``64 ns``, ``4.2 ms``, ``0.61 s``, ``2 min 5 s``."""
    if elapsed_ns >= 2 * _MINUTE_NS:
        minutes, rest = divmod(round(elapsed_ns / 1e9), 60)
        return f"{minutes} min {rest} s"
    scale, unit = next((s, u) for least, s, u in _UNITS if elapsed_ns >= least or least == 0)
    return f"{_digits(elapsed_ns / scale, finest=2 if unit == 's' else 1)} {unit}"


def _digits(value: float, finest: int) -> str:
    """About three digits; whole numbers from 100 on, ``finest`` decimals below 10."""
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    if value < 10:
        return f"{value:.{finest}f}"
    return f"{value:.{finest - 1}f}"


def ratio(slow_ns: int, fast_ns: int) -> str:
    """How many times longer the first time is: ``4.2 times``; ``many times`` if the second is
    zero.
    """
    if fast_ns <= 0:
        return "many times"
    return f"{_digits(slow_ns / fast_ns, finest=2)} times"


def memory(size_bytes: int) -> str:
    """``800 bytes``, ``16.4 kB``, ``2.10 MB``."""
    if size_bytes < 1000:
        return plural(size_bytes, "byte")
    scale, unit = (1e3, "kB") if size_bytes < 1_000_000 else (1e6, "MB")
    return f"{_digits(size_bytes / scale, finest=2)} {unit}"


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: ``1 kernel``, ``2 kernels``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def clean(text: str) -> str:
    """The text without what a terminal, XML or UTF-8 would choke on: control characters, lone
    surrogates.

    Each such character becomes U+FFFD; tabs and line feeds stay.
    """
    return "".join(c if _printable(c) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _printable(char: str) -> bool:
    if char in _KEPT_CONTROLS:
        return True
    # Cc also holds ESC, which starts terminal commands; XML 1.0 forbids the last two code points
    # of plane 0. The bidirectional controls (in Cf) would let a string reorder the card's own
    # words.
    if unicodedata.category(char) in ("Cc", "Cs") or char in "\ufffe\uffff":
        return False
    return not ("\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069")


def columns(text: str) -> int:
    """How many columns of a fixed-width font the text takes."""
    return sum(_char_columns(c) for c in text)


def _char_columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shorten(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, cut with three dots."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 3].rstrip() + "..."


def short_code(text: str) -> str:
    """An expression as a reader needs it: the middle of a long one left out, a compiled function by its own name."""
    text = text.replace(".jit.plain", "")
    half = (_CODE_LIMIT - 3) // 2
    return text if len(text) <= _CODE_LIMIT else f"{text[:half]}...{text[-half:]}"


_ENCLOSING = re.compile(r"[^()]*<locals>\.")  # also in value_and_grad(main.<locals>.loss)


def short_name(qualified: str) -> str:
    """A qualified name as its user would say it: without what encloses a local function."""
    name = _ENCLOSING.sub("", qualified)
    return _CELL_NAMES.get(name, name)


def failure(what: str, error: Exception) -> str:
    """One line for a view that cannot be drawn."""
    said = shorten(clean(str(error)), 200)
    return (
        f"jitmagic: the {what} could not be drawn ({type(error).__name__}: {said});"
        " results are not affected, please report this"
    )

"""Functions of Python ints written as loops, whose bodies stand in the place of a call in a region.

They hold for ints that a region holds: what grows beyond leaves it, and so does what Python refuses or answers with
another type, by ``raise``; Python then does the whole again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

__all__ = ["FUNCTIONS", "operator_of"]


def power(base: int, exponent: int) -> int:
    """``base ** exponent`` by squaring. No square is larger than the result, so none grows too large before it."""
    if exponent < 0:
        raise ValueError
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base
        exponent = exponent // 2
        if exponent > 0:
            base = base * base
    return result


def alternating(base: int, exponent: int) -> int:
    """``(-1) ** exponent``."""
    if exponent < 0:
        raise ValueError
    return 1 - exponent % 2 * 2


def shifted_left(value: int, count: int) -> int:
    """``value << count``."""
    if count < 0:
        raise ValueError
    while count > 0 and value != 0:
        value = value * 2
        count = count - 1
    return value


def shifted_right(value: int, count: int) -> int:
    """``value >> count``; what is left at last is 0 or -1."""
    if count < 0:
        raise ValueError
    while count > 0 and value != 0 and value != -1:
        value = value // 2
        count = count - 1
    return value


def gcd(a: int, b: int) -> int:
    """Euclid's algorithm."""
    if a < 0:
        a = -a
    if b < 0:
        b = -b
    while b != 0:
        a, b = b, a % b
    return a


def lcm(a: int, b: int) -> int:
    if a < 0:
        a = -a
    if b < 0:
        b = -b
    if a == 0 or b == 0:
        return 0
    c = a
    d = b
    while d != 0:
        c, d = d, c % d
    return a // c * b


def factorial(n: int) -> int:
    if n < 0:
        raise ValueError
    result = 1
    while n > 1:
        result = result * n
        n = n - 1
    return result


def comb(n: int, k: int) -> int:
    """Each product before the division is that of the next binomial coefficient."""
    if n < 0 or k < 0:
        raise ValueError
    if k > n:
        return 0
    if k > n - k:
        k = n - k
    result = 1
    at = 1
    while at <= k:
        result = result * (n - k + at) // at
        at = at + 1
    return result


def isqrt(n: int) -> int:
    """Newton's method from above: https://en.wikipedia.org/wiki/Integer_square_root."""
    if n < 0:
        raise ValueError
    if n < 2:
        return n
    x = n
    y = (x + 1) // 2
    while y < x:
        x = y
        y = (x + n // x) // 2
    return x


FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "math.gcd": gcd,
    "math.lcm": lcm,
    "math.factorial": factorial,
    "math.comb": comb,
    "math.isqrt": isqrt,
}
_OPERATORS: Mapping[type[ast.operator], Callable[..., int]] = {
    ast.Pow: power,
    ast.LShift: shifted_left,
    ast.RShift: shifted_right,
}


def operator_of(node: ast.BinOp) -> Callable[..., int]:
    """The function that is ``**``, ``<<`` or ``>>`` of ints."""
    if isinstance(node.op, ast.Pow) and ast.unparse(node.left) == "-1":
        return alternating
    return _OPERATORS[type(node.op)]

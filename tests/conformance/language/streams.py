"""Rows: what is printed to streams, and what is read from them."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "print to streams",
        """
import io, sys
buf = io.StringIO()
class Own:
    def __init__(self): self.parts = []
    def write(self, text): self.parts.append(text)
def f(x, out, n):
    print('to', n, file=buf, sep='-')
    print('plain', x[0])
    print('out', out is None, file=out, end='!')
    print('same', file=sys.stdout)
    return x * 2
""",
        ["A(3), None, 1", "A(3), buf, 2", "A(3), sys.stdout, 3"],
    ),
    Program(
        "print to an object",
        """
class Own:
    def __init__(self): self.parts = []
    def write(self, text): self.parts.append(text)
out = Own()
def f(x):
    print('a', x.sum(), file=out)
    return len(out.parts), x * 2
""",
        ["A(3)", "A(3)"],
        1,
    ),
    Program(
        "print and read",
        """
import io
buf = io.StringIO()
def f(x):
    print('a', x[0], file=buf)
    y = x * 2
    text = buf.getvalue()
    print('b', file=buf, flush=True)
    return y, text, buf.getvalue()
""",
        ["A(3)", "A(3)"],
        4,
    ),
)

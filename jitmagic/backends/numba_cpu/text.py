"""Takes lines of Python one by one, gives them as one text."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Text"]


@dataclass(slots=True)
class Text:
    """Lines under construction, with the indentation of the next one."""

    lines: list[str] = field(default_factory=list)
    indent: int = 0

    def add(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def open(self, line: str) -> None:
        self.add(line)
        self.indent += 1

    def close(self, levels: int = 1) -> None:
        self.indent -= levels

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

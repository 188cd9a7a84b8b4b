"""Takes a code object, gives the layout of its parameters: their order, and how a call hands them on."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import CodeType

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the parameters by kind; ``star`` and ``double_star`` are empty where there are none."""

    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    star: str
    double_star: str

    @classmethod
    def of(cls, code: CodeType) -> Layout:
        names = list(code.co_varnames)
        only, count, keywords = code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount
        rest = names[count + keywords :]
        star = rest.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
        double = rest.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else ""
        return cls(
            tuple(names[:only]),
            tuple(names[only:count]),
            tuple(names[count : count + keywords]),
            star,
            double,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter once: positional, ``*args`` (its tuple), keyword-only, ``**kwargs`` (its dict)."""
        found = (*self.positional_only, *self.positional, self.star, *self.keyword_only, self.double_star)
        return tuple(name for name in found if name)

    @property
    def is_simple(self) -> bool:
        """Whether a call by position, one value for each parameter, means the same."""
        return not (self.star or self.keyword_only or self.double_star)

    def call(self, names: dict[str, str] | None = None) -> str:
        """Text of the arguments of a call that hands every parameter on; ``names`` renames the values."""
        own = names or {name: name for name in self.names}
        parts = [own[name] for name in (*self.positional_only, *self.positional)]
        parts += [f"*{own[self.star]}"] if self.star else []
        parts += [f"{name}={own[name]}" for name in self.keyword_only]
        parts += [f"**{own[self.double_star]}"] if self.double_star else []
        return ", ".join(parts)

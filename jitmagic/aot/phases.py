"""How long the phases of a build took; time inside a nested phase counts there only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Phases"]


@dataclass(slots=True)
class Phases:
    """``elapsed_ns`` by phase: analysis, joint trace, partition, forward, backward and inference compile."""

    elapsed_ns: dict[str, int] = field(default_factory=dict)
    total_ns: int = 0
    _open: list[int] = field(default_factory=list)  # time spent in phases inside each one that is open

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time until the end as that of ``name``."""
        started = time.perf_counter_ns()
        self._open.append(0)
        try:
            yield
        finally:
            whole = time.perf_counter_ns() - started
            inside = self._open.pop()
            self.elapsed_ns[name] = self.elapsed_ns.get(name, 0) + whole - inside
            if self._open:
                self._open[-1] += whole
            else:
                self.total_ns += whole

    def __str__(self) -> str:
        width = max(map(len, self.elapsed_ns), default=0)
        return "\n".join(f"{name:<{width}}  {ns / 1e6:9.3f} ms" for name, ns in self.elapsed_ns.items())

"""Takes a network of capacities, gives its minimum cut (Edmonds and Karp: shortest augmenting paths)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

__all__ = ["Network"]


@dataclass(slots=True)
class Network:
    """``edge`` adds capacity; ``source_side`` is what can still be reached from the source when the flow is maximal."""

    left: dict[Hashable, dict[Hashable, int]] = field(default_factory=dict)

    def edge(self, start: Hashable, end: Hashable, capacity: int) -> None:
        forward = self.left.setdefault(start, {})
        forward[end] = forward.get(end, 0) + capacity
        self.left.setdefault(end, {}).setdefault(start, 0)

    def source_side(self, source: Hashable, sink: Hashable) -> set[Hashable]:
        """Uses up the network."""
        self.left.setdefault(source, {})
        while True:
            came_from = self._search(source)
            if sink not in came_from:
                return set(came_from)
            self._augment(came_from, source, sink)

    def _search(self, source: Hashable) -> dict[Hashable, Hashable]:
        came_from: dict[Hashable, Hashable] = {source: source}
        queue = deque([source])
        while queue:
            here = queue.popleft()
            for there, capacity in self.left[here].items():
                if capacity > 0 and there not in came_from:
                    came_from[there] = here
                    queue.append(there)
        return came_from

    def _augment(self, came_from: dict[Hashable, Hashable], source: Hashable, sink: Hashable) -> None:
        path, here = [], sink
        while here != source:
            path.append((came_from[here], here))
            here = came_from[here]
        amount = min(self.left[a][b] for a, b in path)
        for a, b in path:
            self.left[a][b] -= amount
            self.left[b][a] += amount

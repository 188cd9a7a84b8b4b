"""Takes box sizes and arrows, gives where each box stands and how each arrow runs.

A layered layout after Sugiyama, Tagawa and Toda (1981) in plain Python: longest-path layers with
the inputs pulled down to their first use, thin stand-ins where a long arrow passes a layer,
barycentre sweeps that keep the order with the fewest crossings, then least-squares x positions
with minimum distances. The stand-ins are a few pixels wide; libraries that give them the size of a
box draw pictures several times as wide.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Placement", "place"]

Point = tuple[float, float]
Edge = tuple[str, str]

_BOX_GAP = 18.0  # pixels between two boxes of a layer
_LINE_GAP = 8.0  # between two arrows that pass a layer side by side
_LAYER_GAP = 34.0
_SHELF_WIDTH = 1000.0  # at which unconnected parts go on below
_LINE_WIDTH = 6.0
_SWEEPS = 24
_STALE_SWEEPS = 6  # sweeps without a gain after which ordering stops
_SETTLE_ROUNDS = 10  # rounds of x placement that look up, then down
_EVEN_ROUNDS = 24  # rounds after these that look both ways, which straightens chains
# Weight of an arrow piece by how many of its ends are stand-ins (Gansner et al., 1993). It must be
# the same seen from either end: with other weights whole chains drifted sideways.
_PULLS = (1.0, 2.0, 8.0)
_LOOSE_PULL = 0.3  # weight of a box without neighbours in the layer looked at


@dataclass(frozen=True, slots=True)
class Placement:
    """Centres of boxes and points of arrows, in pixels from the top left corner.

    A route has an even number of points: pairs joined by straight lines inside a layer, and curves
    between the pairs. A route follows its arrow, upwards if the graph has a cycle.
    """

    centres: Mapping[str, Point]
    routes: Mapping[Edge, tuple[Point, ...]]
    width: float
    height: float
    crossings: int


@dataclass(slots=True)
class _Layers:
    """The graph as layers; vertices from ``box_count`` on are stand-ins of long arrows."""

    box_count: int
    rows: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    widths: list[float]
    position: list[int] = field(default_factory=list)

    def renumber(self) -> None:
        self.position = [0] * len(self.widths)
        for row in self.rows:
            for index, vertex in enumerate(row):
                self.position[vertex] = index

    def is_line(self, vertex: int) -> bool:
        return vertex >= self.box_count


def place(sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge]) -> Placement:
    """Lay out boxes of the given (width, height) in pixels.

    Parts that no arrow connects stand side by side, in shelves. Cycles are allowed; an arrow from
    a box to itself is not drawn.
    """
    arrows = [e for e in dict.fromkeys(edges) if e[0] != e[1]]
    parts = [
        _place_connected({name: sizes[name] for name in names}, inside)
        for names, inside in _components(list(sizes), arrows)
    ]
    shelf = max([_SHELF_WIDTH, *(part.width for part in parts)])
    x = y = width = height = 0.0
    centres: dict[str, Point] = {}
    routes: dict[Edge, tuple[Point, ...]] = {}
    for part in parts:
        if x + part.width > shelf:
            x, y = 0.0, height + _LAYER_GAP
        centres |= {name: (cx + x, cy + y) for name, (cx, cy) in part.centres.items()}
        routes |= {e: tuple((px + x, py + y) for px, py in r) for e, r in part.routes.items()}
        width, height = max(width, x + part.width), max(height, y + part.height)
        x += part.width + _BOX_GAP
    return Placement(centres, routes, width, height, sum(part.crossings for part in parts))


def _components(names: Sequence[str], arrows: Sequence[Edge]) -> list[tuple[list[str], list[Edge]]]:
    """Boxes and arrows of each connected part, in the order of their first boxes."""
    root = {name: name for name in names}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = name = root[root[name]]
        return name

    for start, end in arrows:
        root[find(end)] = find(start)
    parts: dict[str, tuple[list[str], list[Edge]]] = {}
    for name in names:
        parts.setdefault(find(name), ([], []))[0].append(name)
    for arrow in arrows:
        parts[find(arrow[0])][1].append(arrow)
    return list(parts.values())


def _place_connected(sizes: Mapping[str, tuple[float, float]], arrows: Sequence[Edge]) -> Placement:
    ids = list(sizes)
    index = {name: i for i, name in enumerate(ids)}
    layers, chains = _layered([sizes[i][0] for i in ids], [(index[a], index[b]) for a, b in arrows])
    crossings = _order(layers)
    x = _settle(layers)
    tops, bottoms = _row_spans(layers, [sizes[i][1] for i in ids])
    row_of = {v: r for r, row in enumerate(layers.rows) for v in row}
    centres = {name: (x[i], (tops[row_of[i]] + bottoms[row_of[i]]) / 2) for i, name in enumerate(ids)}
    routes = {}
    for (a, b), chain in chains.items():
        first, last = ids[chain[0]], ids[chain[-1]]
        points = [(x[v], y) for v in chain for y in (tops[row_of[v]], bottoms[row_of[v]])]
        points[0] = (x[chain[0]], centres[first][1] + sizes[first][1] / 2)
        points[-1] = (x[chain[-1]], centres[last][1] - sizes[last][1] / 2)
        rims = bottoms[row_of[chain[0]]], tops[row_of[chain[-1]]]
        routes[ids[a], ids[b]] = _to_rims(points, rims, downwards=chain[0] == a)
    width = max(x[v] + layers.widths[v] / 2 for v in range(len(x)))
    return Placement(centres, routes, width, bottoms[-1], crossings)


def _to_rims(points: list[Point], rims: tuple[float, float], downwards: bool) -> tuple[Point, ...]:
    """The first pair goes from the box to its layer's lower rim, the last from the upper rim."""
    points[1] = (points[1][0], rims[0])
    points[-2] = (points[-2][0], rims[1])
    return tuple(points) if downwards else tuple(reversed(points))


# --- layers --------------------------------------------------------------------------------------


def _layered(widths: list[float], pairs: Sequence[tuple[int, int]]) -> tuple[_Layers, dict[tuple[int, int], list[int]]]:
    """Layers, and for each arrow the vertices it passes from top to bottom."""
    count = len(widths)
    rank = _topological_rank(count, pairs)
    down = {(a, b): (a, b) if rank[a] < rank[b] else (b, a) for a, b in pairs}
    level = _levels(count, rank, list(down.values()))
    layers = _Layers(count, [[] for _ in range(max(level) + 1)], [], [], list(widths))
    for vertex in sorted(range(count), key=rank.__getitem__):
        layers.rows[level[vertex]].append(vertex)
    chains: dict[tuple[int, int], list[int]] = {}
    for arrow, (a, b) in down.items():
        chain = [a]
        for row in range(level[a] + 1, level[b]):
            chain.append(len(layers.widths))
            layers.widths.append(_LINE_WIDTH)
            layers.rows[row].append(chain[-1])
        chains[arrow] = [*chain, b]
    layers.above = [[] for _ in layers.widths]
    layers.below = [[] for _ in layers.widths]
    for chain in chains.values():
        for upper, lower in pairwise(chain):
            layers.below[upper].append(lower)
            layers.above[lower].append(upper)
    layers.renumber()
    return layers, chains


def _topological_rank(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Kahn's order; a cycle is opened at its box that comes first."""
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in pairs:
        after[a].append(b)
        waiting[b] += 1
    ready = deque(v for v in range(count) if not waiting[v])
    rank = [-1] * count
    queued = [not waiting[v] for v in range(count)]
    opener = 0
    for place_in_order in range(count):
        if not ready:
            while queued[opener]:
                opener += 1
            ready.append(opener)
            queued[opener] = True
        vertex = ready.popleft()
        rank[vertex] = place_in_order
        for lower in after[vertex]:
            waiting[lower] -= 1
            if not waiting[lower] and not queued[lower]:
                ready.append(lower)
                queued[lower] = True
    return rank


def _levels(count: int, rank: list[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Longest path from the top; then inputs move down to just above their first use."""
    after: list[list[int]] = [[] for _ in range(count)]
    before = [0] * count
    for a, b in pairs:
        after[a].append(b)
        before[b] += 1
    level = [0] * count
    for vertex in sorted(range(count), key=rank.__getitem__):
        for lower in after[vertex]:
            level[lower] = max(level[lower], level[vertex] + 1)
    for vertex in range(count):
        if not before[vertex] and after[vertex]:
            level[vertex] = min(level[lower] for lower in after[vertex]) - 1
    return level


# --- order within layers -------------------------------------------------------------------------


def _order(layers: _Layers) -> int:
    """Reorder every row by barycentres, down and up; gives the number of crossings left."""
    best, kept, stale = _crossings(layers), [row[:] for row in layers.rows], 0
    for sweep in range(_SWEEPS):
        if best == 0 or stale >= _STALE_SWEEPS:
            break
        _sweep(layers, downwards=sweep % 2 == 0)
        found = _crossings(layers)
        stale += 1
        if found < best:
            best, kept, stale = found, [row[:] for row in layers.rows], 0
    layers.rows[:] = kept
    layers.renumber()
    return best


def _sweep(layers: _Layers, downwards: bool) -> None:
    rows = layers.rows[1:] if downwards else layers.rows[-2::-1]
    neighbours = layers.above if downwards else layers.below
    position = layers.position
    for row in rows:
        centre = {}
        for vertex in row:
            near = neighbours[vertex]
            centre[vertex] = sum(position[u] for u in near) / len(near) if near else float(position[vertex])
        row.sort(key=centre.__getitem__)
        for index, vertex in enumerate(row):
            position[vertex] = index


def _crossings(layers: _Layers) -> int:
    """Inversions between neighbouring rows (Barth, Juenger and Mutzel, 2002)."""
    return sum(
        _inversions(
            [p for v in upper for p in sorted(layers.position[u] for u in layers.below[v])],
            len(lower),
        )
        for upper, lower in pairwise(layers.rows)
    )


def _inversions(values: Sequence[int], size: int) -> int:
    """Pairs out of order, counted with a Fenwick tree."""
    tree = [0] * (size + 1)
    total = 0
    for seen, value in enumerate(values):
        not_larger, i = 0, value + 1
        while i:
            not_larger += tree[i]
            i -= i & -i
        total += seen - not_larger
        i = value + 1
        while i <= size:
            tree[i] += 1
            i += i & -i
    return total


# --- coordinates ---------------------------------------------------------------------------------


def _settle(layers: _Layers) -> list[float]:
    """x of every vertex: rows are pulled towards their neighbours, order and distances kept; the
    least is 0.
    """
    x = [0.0] * len(layers.widths)
    for row in layers.rows:
        right = 0.0
        for vertex in row:
            x[vertex] = right + layers.widths[vertex] / 2
            right += layers.widths[vertex] + _BOX_GAP
    both = [u + d for u, d in zip(layers.above, layers.below, strict=True)]
    for turn in range(_SETTLE_ROUNDS + _EVEN_ROUNDS):
        even = turn >= _SETTLE_ROUNDS
        for row in layers.rows:
            _pull(layers, row, both if even else layers.above, x)
        for row in reversed(layers.rows):
            _pull(layers, row, both if even else layers.below, x)
    left = min(x[v] - layers.widths[v] / 2 for v in range(len(x)))
    return [value - left for value in x]


def _pull(layers: _Layers, row: list[int], neighbours: list[list[int]], x: list[float]) -> None:
    """Least squares under minimum distances: pool adjacent violators on wishes less the packed
    offsets.
    """
    offsets = _packed_offsets(layers, row)
    blocks: list[tuple[float, float, int]] = []  # (weighted sum of wishes, weight, vertices)
    for vertex, offset in zip(row, offsets, strict=True):
        wish, weight = _wish(layers, vertex, neighbours[vertex], x)
        blocks.append((weight * (wish - offset), weight, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, pull, size = blocks.pop()
            before = blocks[-1]
            blocks[-1] = (before[0] + total, before[1] + pull, before[2] + size)
    at = 0
    for total, pull, size in blocks:
        for vertex, offset in zip(row[at : at + size], offsets[at : at + size], strict=True):
            x[vertex] = total / pull + offset
        at += size


def _packed_offsets(layers: _Layers, row: list[int]) -> list[float]:
    offsets = [0.0]
    for left, right in pairwise(row):
        gap = _LINE_GAP if layers.is_line(left) and layers.is_line(right) else _BOX_GAP
        offsets.append(offsets[-1] + (layers.widths[left] + layers.widths[right]) / 2 + gap)
    return offsets


def _wish(layers: _Layers, vertex: int, near: list[int], x: list[float]) -> tuple[float, float]:
    """Where a vertex would like to be, and how strongly."""
    if not near:
        return x[vertex], _LOOSE_PULL
    ends = int(layers.is_line(vertex))
    pulls = [_PULLS[ends + layers.is_line(u)] for u in near]
    total = sum(pulls)
    return sum(p * x[u] for p, u in zip(pulls, near, strict=True)) / total, total


def _row_spans(layers: _Layers, heights: list[float]) -> tuple[list[float], list[float]]:
    """Upper and lower rim of every row."""
    tops, bottoms, y = [], [], 0.0
    for row in layers.rows:
        tall = max((heights[v] for v in row if not layers.is_line(v)), default=0.0)
        tops.append(y)
        bottoms.append(y + tall)
        y += tall + _LAYER_GAP
    return tops, bottoms

"""The same networks and steps written out in plain NumPy, backward passes by hand.

Each class takes the parameters of the module in the order of ``parameters()``; ``step(x, y)`` changes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["BY_HAND", "Adam"]

Array = np.ndarray[Any, Any]


class Adam:
    """In place, with as few temporary arrays as reads well."""

    def __init__(self, params: list[Array], lr: float = 1e-3) -> None:
        self.params, self.lr, self.t = params, lr, 0
        self.means = [np.zeros_like(p) for p in params]
        self.squares = [np.zeros_like(p) for p in params]

    def step(self, grads: list[Array]) -> None:
        self.t += 1
        rate, root = self.lr / (1 - 0.9**self.t), (1 - 0.999**self.t) ** 0.5
        for p, g, m, v in zip(self.params, grads, self.means, self.squares, strict=True):
            m *= 0.9
            m += 0.1 * g
            v *= 0.999
            v += 0.001 * g * g
            p -= rate * m / (np.sqrt(v) / root + 1e-8)


def loss_and_slope(logits: Array, y: Array) -> tuple[Any, Array]:
    """The cross entropy, and its derivative by the logits."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    powers = np.exp(shifted)
    sums = powers.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    loss = np.mean(np.log(sums[:, 0]) - shifted[rows, y])
    powers /= sums
    powers[rows, y] -= 1
    powers /= len(y)
    return loss, powers


class Mlp:
    def __init__(self, params: list[Array]) -> None:
        self.params, self.adam = params, Adam(params)

    def step(self, x: Array, y: Array) -> Any:
        w1, b1, w2, b2, w3, b3 = self.params
        h1 = np.maximum(x @ w1.T + b1, 0)
        h2 = np.maximum(h1 @ w2.T + b2, 0)
        loss, g3 = loss_and_slope(h2 @ w3.T + b3, y)
        g2 = (g3 @ w3) * (h2 > 0)
        g1 = (g2 @ w2) * (h1 > 0)
        self.adam.step([g1.T @ x, g1.sum(0), g2.T @ h1, g2.sum(0), g3.T @ h2, g3.sum(0)])
        return loss


def windows(x: Array) -> Array:
    """Columns of 3 by 3 with a border of zeros, channels last: (n, h, w, c) to (n * h * w, 9 * c)."""
    n, h, w, c = x.shape
    bordered = np.zeros((n, h + 2, w + 2, c), x.dtype)
    bordered[:, 1:-1, 1:-1] = x
    found = np.empty((n, h, w, 9, c), x.dtype)
    for k in range(9):
        found[:, :, :, k] = bordered[:, k // 3 : k // 3 + h, k % 3 : k % 3 + w]
    return found.reshape(-1, 9 * c)


def windows_back(g: Array, shape: tuple[int, ...]) -> Array:
    n, h, w, c = shape
    g = g.reshape(n, h, w, 9, c)
    bordered = np.zeros((n, h + 2, w + 2, c), g.dtype)
    for k in range(9):
        bordered[:, k // 3 : k // 3 + h, k % 3 : k % 3 + w] += g[:, :, :, k]
    return bordered[:, 1:-1, 1:-1]


CORNERS = [(slice(None), slice(i, None, 2), slice(j, None, 2)) for i in (0, 1) for j in (0, 1)]


def pooled(x: Array) -> Array:
    a, b, c, d = (x[corner] for corner in CORNERS)
    return np.maximum(np.maximum(a, b), np.maximum(c, d))


def pooled_back(g: Array, largest: Array, x: Array) -> Array:
    """Among equal elements the first gets the derivative."""
    found, is_left = np.empty_like(x), np.ones(g.shape, bool)
    for corner in CORNERS:
        is_here = (x[corner] == largest) & is_left
        is_left &= ~is_here
        np.multiply(g, is_here, out=found[corner])
    return found


def rectified(x: Array, w: Array, b: Array) -> Array:
    """A product of matrices, a bias and a ReLU, in one array."""
    found = x @ w.T
    found += b
    return np.maximum(found, 0, out=found)


class ConvNet:
    """Channels last, and weights turned to suit: products of two matrices, and rows that lie side by side."""

    def __init__(self, params: list[Array]) -> None:
        w1, b1, w2, b2, w3, b3 = params
        self.side = int((w3.shape[1] // len(w2)) ** 0.5)
        w1, w2 = (np.ascontiguousarray(w.transpose(0, 2, 3, 1)).reshape(len(w), -1) for w in (w1, w2))
        w3 = w3.reshape(len(w3), len(w2), self.side, self.side).transpose(0, 2, 3, 1)
        self.own = [w1, b1, w2, b2, np.ascontiguousarray(w3).reshape(len(w3), -1), b3]
        self.adam = Adam(self.own)

    @property
    def params(self) -> list[Array]:
        """As they were given."""
        w1, b1, w2, b2, w3, b3 = self.own
        w1, w2 = (w.reshape(len(w), 3, 3, -1).transpose(0, 3, 1, 2) for w in (w1, w2))
        w3 = w3.reshape(len(w3), self.side, self.side, -1).transpose(0, 3, 1, 2)
        return [w1, b1, w2, b2, w3.reshape(len(w3), -1), b3]

    def step(self, x: Array, y: Array) -> Any:
        w1, b1, w2, b2, w3, b3 = self.own
        n, side = len(x), x.shape[2]
        p1 = windows(x.transpose(0, 2, 3, 1))
        h1 = rectified(p1, w1, b1).reshape(n, side, side, -1)
        m1 = pooled(h1)
        p2 = windows(m1)
        h2 = rectified(p2, w2, b2).reshape(n, side // 2, side // 2, -1)
        m2 = pooled(h2)
        flat = m2.reshape(n, -1)
        loss, g3 = loss_and_slope(flat @ w3.T + b3, y)
        g2 = pooled_back((g3 @ w3).reshape(m2.shape), m2, h2)
        g2 *= h2 > 0
        g2 = g2.reshape(-1, g2.shape[3])
        g1 = pooled_back(windows_back(g2 @ w2, m1.shape), m1, h1)
        g1 *= h1 > 0
        g1 = g1.reshape(-1, g1.shape[3])
        self.adam.step([g1.T @ p1, g1.sum(0), g2.T @ p2, g2.sum(0), g3.T @ flat, g3.sum(0)])
        return loss


def norm(x: Array, w: Array, b: Array) -> tuple[Array, tuple[Array, Array]]:
    centred = x - x.mean(axis=2, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=2, keepdims=True) + np.float32(1e-5))
    unit = centred * scale
    return unit * w + b, (unit, scale)


def norm_back(g: Array, w: Array, kept: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    unit, scale = kept
    gw, gb = (g * unit).sum((0, 1)), g.sum((0, 1))
    g = g * w
    g = (g - g.mean(axis=2, keepdims=True) - unit * (g * unit).mean(axis=2, keepdims=True)) * scale
    return g, gw, gb


def by_rows(a: Array) -> Array:
    return a.reshape(-1, a.shape[-1])


def block(x: Array, p: list[Array]) -> tuple[Array, Callable[[Array], tuple[Array, list[Array]]]]:
    """The result, and what gives the derivatives by the input and by the parameters."""
    w1, b1, w2, b2, mix, mix_b, out, out_b, up, up_b, down, down_b = p
    n, t, d = x.shape
    normed, kept1 = norm(x, w1, b1)
    q, k, v = (normed @ mix.T + mix_b).reshape(n, t, 3, 4, d // 4).transpose(2, 0, 3, 1, 4)
    factor = np.float32((d // 4) ** -0.5)
    scores = q @ k.transpose(0, 1, 3, 2) * factor
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    weights /= weights.sum(axis=3, keepdims=True)
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(n, t, d)
    middle = x + mixed @ out.T + out_b
    again, kept2 = norm(middle, w2, b2)
    hidden = np.maximum(again @ up.T + up_b, 0)

    def back(g: Array) -> tuple[Array, list[Array]]:
        g_down, g_down_b = by_rows(g).T @ by_rows(hidden), g.sum((0, 1))
        gh = (g @ down) * (hidden > 0)
        g_up, g_up_b = by_rows(gh).T @ by_rows(again), gh.sum((0, 1))
        ga, gw2, gb2 = norm_back(gh @ up, w2, kept2)
        g = g + ga
        g_out, g_out_b = by_rows(g).T @ by_rows(mixed), g.sum((0, 1))
        gm = (g @ out).reshape(n, t, 4, d // 4).transpose(0, 2, 1, 3)
        gv = weights.transpose(0, 1, 3, 2) @ gm
        gs = gm @ v.transpose(0, 1, 3, 2)
        gs = weights * (gs - (gs * weights).sum(axis=3, keepdims=True)) * factor
        parts = np.stack([gs @ k, gs.transpose(0, 1, 3, 2) @ q, gv])
        gq = parts.transpose(1, 3, 0, 2, 4).reshape(n, t, 3 * d)
        g_mix, g_mix_b = by_rows(gq).T @ by_rows(normed), gq.sum((0, 1))
        gx, gw1, gb1 = norm_back(gq @ mix, w1, kept1)
        return g + gx, [gw1, gb1, gw2, gb2, g_mix, g_mix_b, g_out, g_out_b, g_up, g_up_b, g_down, g_down_b]

    return middle + hidden @ down.T + down_b, back


class Transformer:
    def __init__(self, params: list[Array]) -> None:
        self.params, self.adam = params, Adam(params)

    def step(self, x: Array, y: Array) -> Any:
        places, embed, embed_b, *inner = self.params
        blocks, (last, last_b) = [inner[:12], inner[12:24]], inner[24:]
        h = x @ embed.T + embed_b + places
        backs = []
        for p in blocks:
            h, back = block(h, p)
            backs.append(back)
        pooled = h.mean(axis=1)
        loss, g = loss_and_slope(pooled @ last.T + last_b, y)
        g_last = [g.T @ pooled, g.sum(0)]
        g = np.broadcast_to((g @ last)[:, None] / np.float32(h.shape[1]), h.shape)
        g_blocks: list[Array] = []
        for back in reversed(backs):
            g, found = back(g)
            g_blocks = found + g_blocks
        first = [g.sum(0), by_rows(g).T @ by_rows(x), g.sum((0, 1))]
        self.adam.step([*first, *g_blocks, *g_last])
        return loss


BY_HAND: dict[str, Any] = {"Mlp": Mlp, "ConvNet": ConvNet, "ConvNet28": ConvNet, "Transformer": Transformer}

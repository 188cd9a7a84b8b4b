"""The three networks of ``tests.benchmarks.training``, in jitmagic's modules, and the step that trains them."""

from __future__ import annotations

from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic import nn

__all__ = ["Attention", "Conv", "ConvNet", "Mlp", "Transformer", "step"]

DTYPE = np.float32


def linear(inputs: int, outputs: int, rng: np.random.Generator) -> nn.Linear:
    return nn.Linear(inputs, outputs, dtype=DTYPE, rng=rng)


class Mlp(nn.Module):
    """(n, 64) to (n, 10)."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.layers = nn.ModuleList([linear(64, 128, rng), linear(128, 128, rng), linear(128, 10, rng)])

    def forward(self, x: Any) -> Any:
        for layer in list(self.layers)[:-1]:
            x = np.maximum(layer(x), 0)
        return self.layers[-1](x)


class Conv(nn.Module):
    """A convolution of 3 by 3 without padding: (n, h, w, c) to (n, h - 2, w - 2, d), as one product of matrices."""

    def __init__(self, inputs: int, outputs: int, rng: np.random.Generator) -> None:
        super().__init__()
        self.product = linear(9 * inputs, outputs, rng)

    def forward(self, x: Any) -> Any:
        n, h, w, c = x.shape
        windows = [x[:, i : h - 2 + i, j : w - 2 + j] for i in range(3) for j in range(3)]
        return self.product(np.concatenate(windows, axis=3).reshape(n, h - 2, w - 2, 9 * c))


class ConvNet(nn.Module):
    """(n, 8, 8, 1) to (n, 10)."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.first, self.second, self.last = Conv(1, 16, rng), Conv(16, 32, rng), linear(512, 10, rng)

    def forward(self, x: Any) -> Any:
        x = np.maximum(self.first(x), 0)
        x = np.maximum(self.second(x), 0)
        return self.last(x.reshape(len(x), -1))


class Attention(nn.Module):
    """Self-attention of ``heads`` heads: (n, t, d) to (n, t, d)."""

    def __init__(self, width: int, heads: int, rng: np.random.Generator) -> None:
        super().__init__()
        self.heads = heads
        self.mix, self.out = linear(width, 3 * width, rng), linear(width, width, rng)

    def forward(self, x: Any) -> Any:
        n, t, d = x.shape
        parts = self.mix(x).reshape(n, t, 3, self.heads, d // self.heads).transpose(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        scores = q @ k.transpose(0, 1, 3, 2) * (d // self.heads) ** -0.5
        weights = np.exp(scores - np.max(scores, axis=3, keepdims=True))
        weights = weights / np.sum(weights, axis=3, keepdims=True)
        return self.out((weights @ v).transpose(0, 2, 1, 3).reshape(n, t, d))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, rng: np.random.Generator) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width, dtype=DTYPE), nn.LayerNorm(width, dtype=DTYPE)
        self.attention = Attention(width, heads, rng)
        self.up, self.down = linear(width, 2 * width, rng), linear(2 * width, width, rng)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.before(x))
        return x + self.down(np.maximum(self.up(self.between(x)), 0))


class Transformer(nn.Module):
    """Rows of an image as tokens: (n, 8, 8) to (n, 10)."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.embed = linear(8, 32, rng)
        self.places = nn.Parameter(rng.normal(0, 0.02, (8, 32)).astype(DTYPE))
        self.blocks = nn.ModuleList([Block(32, 4, rng), Block(32, 4, rng)])
        self.last = linear(32, 10, rng)

    def forward(self, x: Any) -> Any:
        x = self.embed(x) + self.places
        for block in self.blocks:
            x = block(x)
        return self.last(np.mean(x, axis=1))


def cross_entropy(logits: Any, labels: Any) -> Any:
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    chosen = shifted[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - chosen)


def step(model: nn.Module, opt: jm.optim.Optimizer, x: Any, y: Any) -> Any:
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss

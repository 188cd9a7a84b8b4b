"""The networks of ``tests.benchmarks.training``, in jitmagic's modules, and the step that trains them."""

from __future__ import annotations

from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic import nn
from jitmagic.nn.functional import cross_entropy

__all__ = ["Attention", "ConvNet", "ConvNet28", "Mlp", "Transformer", "step", "step_of_logits"]

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


class ConvNet(nn.Module):
    """(n, 1, width, width) to (n, 10)."""

    def __init__(self, rng: np.random.Generator, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1, dtype=DTYPE, rng=rng)
        self.second = nn.Conv2d(16, 32, 3, padding=1, dtype=DTYPE, rng=rng)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        self.last = linear(32 * (width // 4) ** 2, 10, rng)

    def forward(self, x: Any) -> Any:
        x = self.pool(self.relu(self.first(x)))
        x = self.pool(self.relu(self.second(x)))
        return self.last(self.flatten(x))


class ConvNet28(ConvNet):
    """(n, 1, 28, 28) to (n, 10)."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng, 28)


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


def step_of_logits(model: nn.Module, opt: jm.optim.Optimizer, x: Any, y: Any) -> Any:
    """With the cross entropy written out."""
    opt.zero_grad()
    logits = model(x)
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    chosen = shifted[np.arange(len(y)), y]
    loss = np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - chosen)
    loss.backward()
    opt.step()
    return loss


def step(model: nn.Module, opt: jm.optim.Optimizer, x: Any, y: Any) -> Any:
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss

"""The same networks in PyTorch, with the parameters of a module of ours, and their compiled training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

__all__ = ["compiled_step"]


def _conv_net(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * (width // 4) ** 2, 10),
    )  # fmt: skip


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        n, t, d = x.shape
        q, k, v = self.mix(self.before(x)).reshape(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, t, d))
        return x + self.down(torch.relu(self.up(self.between(x))))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(8, 32) * 0.02)
        self.embed = nn.Linear(8, 32)
        self.blocks = nn.ModuleList([Block(32, 4), Block(32, 4)])
        self.last = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        x = self.embed(x) + self.places
        for block in self.blocks:
            x = block(x)
        return self.last(x.mean(1))


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "Mlp": _mlp,
    "ConvNet": lambda: _conv_net(8),
    "ConvNet28": lambda: _conv_net(28),
    "Transformer": Transformer,
}


def compiled_step(name: str, x: Any, y: Any) -> Callable[[], float]:
    """A training step by ``torch.compile``: forward and loss in one graph, the optimiser in another, as its docs show.

    Parameters start at PyTorch's own random numbers: the time does not depend on them.
    """
    torch.manual_seed(0)
    model = MODELS[name]()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.from_numpy(x.copy())
    labels = torch.from_numpy(y.copy())
    loss_of = torch.compile(lambda x, y: nn.functional.cross_entropy(model(x), y))
    update = torch.compile(opt.step)

    def step() -> float:
        opt.zero_grad()
        loss = loss_of(data, labels)
        loss.backward()
        update()
        return float(loss.detach())

    return step

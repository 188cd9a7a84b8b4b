"""RMSprop (Tieleman and Hinton, 2012), centred as in Graves (2013) if wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.autograd.writing import writable
from jitmagic.optim.numbers import Counts, active, run_time
from jitmagic.optim.optimizer import Array, Optimizer, check_positive

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """``v = α v + (1 - α) g²;  p -= lr * g / (sqrt(v) + eps)``.

    ``centered`` subtracts the square of the running mean of ``g`` from ``v``; ``momentum`` μ steps along
    ``b = μ b + g / (sqrt(v) + eps)``. ``state[p]`` has ``step``, ``square_avg``, ``momentum_buffer``, ``grad_avg``.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_positive(learning_rate=lr, epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        settings = {
            "lr": float(lr),
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def update(self, group: dict[str, Any]) -> None:
        alpha, momentum = group["alpha"], group["momentum"]
        counts = Counts(lambda step: (run_time(group, "lr"),))
        for p in active(self, group):
            w, g, state = writable(p), p.grad.numpy(), self.state[p]
            if not state:
                self._begin(state, w, group, counts)
            (lr,) = counts.count(state["step"], w.dtype)
            v = state["square_avg"]
            if group["maximize"]:
                g = -g
            if group["weight_decay"] != 0:
                g = g + group["weight_decay"] * w
            v *= alpha
            v += (1 - alpha) * g * g
            if group["centered"]:
                mean = state["grad_avg"]
                mean += (1 - alpha) * (g - mean)
                scale = np.sqrt(v - mean * mean) + group["eps"]
            else:
                scale = np.sqrt(v) + group["eps"]
            if momentum > 0:
                buffer = state["momentum_buffer"]
                buffer *= momentum
                buffer += g / scale
                w -= lr * buffer
            else:
                w -= lr * (g / scale)

    @staticmethod
    def _begin(state: dict[str, Any], w: Array, group: dict[str, Any], counts: Counts) -> None:
        state["step"] = counts.begin()
        state["square_avg"] = np.zeros_like(w)
        if group["momentum"] > 0:
            state["momentum_buffer"] = np.zeros_like(w)
        if group["centered"]:
            state["grad_avg"] = np.zeros_like(w)

"""Stochastic gradient descent, with momentum (Sutskever et al., 2013) and Nesterov's form of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.autograd.writing import writable
from jitmagic.optim.numbers import is_on, run_time, scalar
from jitmagic.optim.optimizer import Optimizer, check_positive

__all__ = ["SGD"]


class SGD(Optimizer):
    """``p -= lr * g``; with ``momentum`` μ, ``b = μ b + (1 - dampening) g`` takes the place of ``g``.

    ``weight_decay`` λ adds ``λ p`` to the gradient; ``nesterov`` uses ``g + μ b``; ``maximize`` goes uphill.
    ``state[p]["momentum_buffer"]`` is ``b``.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_positive(learning_rate=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        settings = {
            "lr": float(lr),
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def update(self, group: dict[str, Any]) -> None:
        has_momentum = is_on(group, "momentum")
        momentum = run_time(group, "momentum") if has_momentum else 0.0
        for p in group["params"]:
            if p.grad is None:
                continue
            w, g = writable(p), p.grad.numpy()
            if group["maximize"]:
                g = -g
            if group["weight_decay"] != 0:
                g = g + group["weight_decay"] * w
            if has_momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = np.array(g)
                else:
                    buffer *= scalar(momentum, w.dtype)
                    buffer += (1 - group["dampening"]) * g
                g = g + scalar(momentum, w.dtype) * buffer if group["nesterov"] else buffer
            w -= scalar(run_time(group, "lr"), w.dtype) * g

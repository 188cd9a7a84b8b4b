"""Adagrad (Duchi, Hazan and Singer, 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.autograd.writing import writable
from jitmagic.optim.numbers import Counts, active, run_time
from jitmagic.optim.optimizer import Optimizer, check_positive

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """``s += g²;  p -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(s) + eps)``.

    ``state[p]`` has ``step`` and ``sum``, from the start.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        check_positive(learning_rate=lr, lr_decay=lr_decay, weight_decay=weight_decay, epsilon=eps)
        check_positive(initial_accumulator_value=initial_accumulator_value)
        settings = {
            "lr": float(lr),
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        step = np.zeros(())
        for p in group["params"]:
            self.state[p]["step"] = step
            self.state[p]["sum"] = np.full_like(p.numpy(), group["initial_accumulator_value"])

    def update(self, group: dict[str, Any]) -> None:
        lr = run_time(group, "lr")
        counts = Counts(lambda step: (lr / (1 + (step - 1) * group["lr_decay"]),))
        for p in active(self, group):
            w, g, state = writable(p), p.grad.numpy(), self.state[p]
            (rate,) = counts.count(state["step"], w.dtype)
            total = state["sum"]
            if group["maximize"]:
                g = -g
            if group["weight_decay"] != 0:
                g = g + group["weight_decay"] * w
            total += g * g
            w -= rate * (g / (np.sqrt(total) + group["eps"]))

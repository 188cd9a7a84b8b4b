"""Adam (Kingma and Ba, 2015), its variant AMSGrad (Reddi et al., 2018), and AdamW (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.autograd.writing import writable
from jitmagic.optim.numbers import Counts, active, run_time, scalar
from jitmagic.optim.optimizer import Optimizer, check_positive

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps of about ``lr``, by running means of the gradient and of its square.

        m += (1 - β1) (g - m);  v = β2 v + (1 - β2) g²
        p -= lr / (1 - β1^t) * m / (sqrt(v) / sqrt(1 - β2^t) + eps)

    ``weight_decay`` λ adds ``λ p`` to the gradient, or with ``decoupled_weight_decay`` shrinks ``p`` by ``1 - lr λ``
    before the step. ``amsgrad`` divides by the largest ``v`` so far. ``state[p]`` has ``step`` (t, an array of shape ()
    and dtype float64), ``exp_avg`` (m), ``exp_avg_sq`` (v) and ``max_exp_avg_sq``.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_positive(learning_rate=lr, epsilon=eps, weight_decay=weight_decay)
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        settings = {
            "lr": float(lr),
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, settings)

    def update(self, group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = run_time(group, "lr"), group["betas"]
        # lr m / (1 - beta1^t) / (sqrt(v) / root + eps) with root = sqrt(1 - beta2^t), as section 2 of the paper has it:
        # numerator and denominator times root, so that no array is divided by it (Kingma and Ba, 2015)
        counts = Counts(lambda step: _factors(step, lr, beta1, beta2, group["eps"]))
        for p in active(self, group):
            w, g, state = writable(p), p.grad.numpy(), self.state[p]
            if not state:
                state["step"] = counts.begin()
                state["exp_avg"], state["exp_avg_sq"] = np.zeros_like(w), np.zeros_like(w)
                if group["amsgrad"]:
                    state["max_exp_avg_sq"] = np.zeros_like(w)
            rate, eps = counts.count(state["step"], w.dtype)
            if group["maximize"]:
                g = -g
            if group["weight_decay"] != 0:
                if group["decoupled_weight_decay"]:
                    w *= scalar(1 - lr * group["weight_decay"], w.dtype)
                else:
                    g = g + group["weight_decay"] * w
            m, v = state["exp_avg"], state["exp_avg_sq"]
            m += (1 - beta1) * (g - m)
            v *= beta2
            v += (1 - beta2) * g * g
            if group["amsgrad"]:
                largest = state["max_exp_avg_sq"]
                np.maximum(largest, v, out=largest)
                v = largest
            w -= rate * (m / (np.sqrt(v) + eps))


def _factors(step: Any, lr: Any, beta1: float, beta2: float, eps: float) -> tuple[Any, Any]:
    root = np.sqrt(1 - beta2**step)
    return lr * root / (1 - beta1**step), eps * root


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves: ``p *= 1 - lr * weight_decay`` before each step."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)

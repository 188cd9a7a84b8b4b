"""Schedules made of others, and one that looks at the results."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from jitmagic.optim.lr_scheduler.scheduler import LRScheduler
from jitmagic.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau", "SequentialLR"]


class SequentialLR(LRScheduler):
    """One of ``schedulers`` after the other; the next takes over, from its own epoch 0, at each of ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler, but got none.")
        if any(each.optimizer is not optimizer for each in schedulers):
            raise ValueError("SequentialLR expects all schedulers to belong to its optimizer")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR expects one milestone less than schedulers, but got {len(schedulers)} schedulers and "
                f"{len(milestones)} milestones"
            )
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for each in self._schedulers:
            each.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"]
            scheduler.last_epoch = -1
        scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        state = {k: v for k, v in super().state_dict().items() if k != "_schedulers"}
        return {**state, "_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for each, known in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            each.load_state_dict(known)


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` when ``step(metrics)`` has seen no better number for more than ``patience`` steps.

    ``mode`` tells what is better, ``"min"`` or ``"max"``; a change must exceed ``threshold``, which counts relative to
    the best number (``threshold_mode="rel"``) or by itself (``"abs"``). After a reduction nothing is counted for
    ``cooldown`` steps. Rates stay above ``min_lr``, and changes smaller than ``eps`` are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = optimizer.param_groups
        self.optimizer = optimizer
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.cooldown_counter, self.num_bad_epochs = cooldown, 0, 0
        self.min_lrs = list(min_lr) if isinstance(min_lr, Sequence) else [min_lr] * len(groups)
        if len(self.min_lrs) != len(groups):
            raise ValueError(f"expected {len(groups)} min_lrs, got {len(self.min_lrs)}")
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = self._rates

    def step(self, metrics: Any) -> None:  # type: ignore[override]  # this one looks at results
        current = float(metrics)
        self.last_epoch += 1
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def is_better(self, current: float, best: float) -> bool:
        """Whether ``current`` is better than ``best`` by more than the threshold."""
        down = self.mode == "min"
        if self.threshold_mode == "rel":
            limit = best * (1.0 - self.threshold if down else 1.0 + self.threshold)
        else:
            limit = best - self.threshold if down else best + self.threshold
        return current < limit if down else current > limit

    def _reduce(self) -> None:
        for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, low)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

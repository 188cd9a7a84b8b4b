"""The one-cycle policy (Smith and Topin, 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jitmagic.optim.lr_scheduler.scheduler import LRScheduler
from jitmagic.optim.optimizer import Optimizer

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """Up from ``max_lr / div_factor`` to ``max_lr`` in the first ``pct_start`` of the steps, then down.

    Step it after every batch, ``total_steps`` (or ``epochs * steps_per_epoch``) times. It ends at the first rate
    divided by ``final_div_factor``. With ``cycle_momentum`` the momentum, or the first of ``betas``, goes the other way
    between ``max_momentum`` and ``base_momentum``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy!r}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        self.phases = self._phases(pct_start, three_phase)
        groups = optimizer.param_groups
        peaks = list(max_lr) if isinstance(max_lr, Sequence) else [max_lr] * len(groups)
        if len(peaks) != len(groups):
            raise ValueError(f"expected {len(groups)} values for max_lr, got {len(peaks)}")
        if cycle_momentum and not {"momentum", "betas"} & groups[0].keys():
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        if last_epoch == -1:
            for group, peak in zip(groups, peaks, strict=True):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    _set_momentum(group, max_momentum)
                    group["max_momentum"], group["base_momentum"] = max_momentum, base_momentum
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start: float, three: bool) -> list[tuple[float, str, str, str, str]]:
        """The last step of each phase, then where the rate goes from and to, and the momentum."""
        up = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
        last = self.total_steps - 1
        first = float(pct_start * self.total_steps) - 1
        if not three:
            return [(first, *up), (last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        middle = float(2 * pct_start * self.total_steps) - 2
        down = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
        return [(first, *up), (middle, *down), (last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        ends = [0.0, *(end for end, *_ in self.phases)]
        phase = next((k for k, end in enumerate(ends[1:-1]) if step <= end), len(self.phases) - 1)
        part = (step - ends[phase]) / (ends[phase + 1] - ends[phase])
        _, rate_from, rate_to, from_, to = self.phases[phase]
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                _set_momentum(group, self._between(group[from_], group[to], part))
        return [self._between(group[rate_from], group[rate_to], part) for group in groups]

    def _between(self, start: float, end: float, part: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        total = total_steps
    elif epochs is not None and steps_per_epoch is not None:
        total = epochs * steps_per_epoch
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if total <= 0 or not isinstance(total, int):
        raise ValueError(f"Expected positive integer total_steps, but got {total}")
    return total


def _set_momentum(group: dict[str, Any], value: float) -> None:
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value

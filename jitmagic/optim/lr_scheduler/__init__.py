"""Takes an optimiser, gives schedules that change its learning rates from epoch to epoch."""

from jitmagic.optim.lr_scheduler.combined import ReduceLROnPlateau, SequentialLR
from jitmagic.optim.lr_scheduler.cycles import OneCycleLR
from jitmagic.optim.lr_scheduler.scheduler import LRScheduler
from jitmagic.optim.lr_scheduler.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

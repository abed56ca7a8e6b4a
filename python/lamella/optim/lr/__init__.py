"""Learning rates that change with time. Call ``step()`` once per epoch, after the optimizer's."""

from ... import _lazy
from .compositions import ChainedScheduler, LinearWarmupLR, SequentialLR
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cycles import CyclicLR, OneCycleLR
from .decays import (
    ConstantLR,
    ExponentialLR,
    InverseTimeLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    NaturalExpLR,
    NoamLR,
    PiecewiseLR,
    PolynomialLR,
    StepLR,
)
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "InverseTimeLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "LinearWarmupLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "NaturalExpLR",
    "NoamLR",
    "OneCycleLR",
    "PiecewiseLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

__getattr__, _ = _lazy.loader(__name__, {})

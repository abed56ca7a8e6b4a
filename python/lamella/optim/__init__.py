"""Optimizers and learning rate schedules."""

from .. import _names
from .adam import Adam, AdamW
from .lr import CosineAnnealingLR, LRScheduler, StepLR
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "CosineAnnealingLR", "LRScheduler", "Optimizer", "StepLR"]

_names.explain_arguments(LRScheduler)

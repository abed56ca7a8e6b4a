"""Optimizers, learning rate schedules and averages of weights; the page docs/optimizers.md shows them."""

from .. import _lazy, _names
from . import lr, swa_utils
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .asgd import ASGD
from .layerwise import LAMB, LARS
from .lbfgs import LBFGS
from .lion import Lion
from .lr import *  # noqa: F403
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LAMB",
    "LARS",
    "LBFGS",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    *lr.__all__,
    "swa_utils",
]

__getattr__, _ = _lazy.loader(__name__, {})

_names.explain_arguments(lr.LRScheduler)
_names.explain_arguments(Optimizer)
_names.stand_on(Optimizer, _names.paddle.OF_OPTIMIZERS)
_names.stand_on(lr.LRScheduler, _names.paddle.OF_SCHEDULES)

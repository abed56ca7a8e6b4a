"""Lamella's front for programs written for OneFlow's custom operators, in C++ and in Python.

Jobs (``global_function``) run their function eagerly, with the types of their arguments checked.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401, E402

from lamella import Tensor, float16, float32, float64, int8, int32, int64, uint8
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.front import close

__version__ = "0.9.0+lamella"

__getattr__ = close(
    "oneflow",
    {
        "oneflow.nn": "the front is for custom operators; lamella.nn has layers",
        "oneflow.optimizer": (
            "a job of the type 'train' runs as it is: call backward() on its loss; lamella.optim has optimizers"
        ),
    },
)

from . import config, experimental, scope, sysconfig, typing, unittest
from ._builder import user_op_builder
from ._jobs import FunctionConfig, function_config, global_function
from ._paths import PATHS as _PATHS
from .scope import placement as device_prior_placement
from .scope import placement as fixed_placement
from .typing import ListPlaceholder as MirroredTensorDef
from .typing import Placeholder as FixedTensorDef

float = float32
double = float64


def clear_default_session() -> None:
    """Nothing to do: jobs are not compiled."""


def enable_eager_execution(value: bool = True) -> None:
    """Accepted: all is executed at once."""


def eager_execution_enabled() -> bool:
    """True."""
    return True


_add_paths("oneflow", _PATHS)

from . import compatible  # last, as it lists all modules

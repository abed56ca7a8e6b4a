"""Lamella's front for programs written for OneFlow: custom operators, jobs, and the later eager interface.

Jobs (``global_function``) are recorded once, as static programs (``lamella.static``), and run with each call. Names of
the eager interface are those of the torch front, whose words OneFlow has, but for what ``_eager`` says otherwise; both
are imported when such a name is asked for.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401, E402

from lamella import float16, float32, float64, int8, int32, int64, uint8
from lamella.compat.front import add_paths as _add_paths
from lamella.compat.front import close
from lamella.compat.front import variables_are_new as _values_are_new
from lamella.distributed import placement

__version__ = "0.9.0+lamella"

_NO_PIPELINE = "a job is fed numpy arrays: read the data with Python"

__getattr__ = close(
    "oneflow",
    {
        "oneflow.data": _NO_PIPELINE,
        "oneflow.image": _NO_PIPELINE,
        "oneflow.losses": "flow.optimizer.SGD(...).minimize(loss) takes the loss",
        "oneflow.optimizer.LARS": "there are SGD, SGDW, Adam, AdamW and RMSProp",
        "oneflow.optimizer.LAMB": "there are SGD, SGDW, Adam, AdamW and RMSProp",
        "oneflow.optimizer.LazyAdam": "there are SGD, SGDW, Adam, AdamW and RMSProp",
        "oneflow.optimizer.CustomScheduler": "a learning rate is a function of the step: take another schedule",
        "oneflow.tensorrt": "jobs run on Lamella's own operators",
    },
    beside=("oneflow._eager", "torch"),
)

from . import (
    checkpoint,
    config,
    distribute,
    env,
    experimental,
    layers,
    math,
    mock_torch,
    nn,
    optimizer,
    regularizers,
    sbp,
    scope,
    sysconfig,
    train,
    typing,
    unittest,
)
from ._builder import user_op_builder
from ._functions import (
    cast,
    concat,
    constant,
    constant_scalar,
    expand_dims,
    flatten,
    gather,
    identity,
    matmul,
    ones_like,
    reshape,
    slice,
    squeeze,
    stack,
    transpose,
    zeros_like,
)
from ._initializers import (
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    kaiming_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal,
    truncated_normal_initializer,
    variance_scaling_initializer,
    xavier_normal_initializer,
    xavier_uniform_initializer,
    zeros_initializer,
)
from ._jobs import FunctionConfig, function_config, global_function
from ._paths import PATHS as _PATHS
from ._session import clear_default_session, get_all_variables, load_variables, sync_default_session
from ._variables import get_variable, watch, watch_diff
from .scope import placement as device_prior_placement
from .scope import placement as fixed_placement
from .typing import ListPlaceholder as MirroredTensorDef
from .typing import Placeholder as FixedTensorDef

float = float32
double = float64

# In a job, `x += y` makes a new value, as everywhere in OneFlow.
_values_are_new()


def enable_eager_execution(value: bool = True) -> None:
    """Accepted: outside of jobs all is executed at once, and jobs are recorded."""


def eager_execution_enabled() -> bool:
    """False: jobs are recorded."""
    return False


_add_paths("oneflow", _PATHS)

from . import compatible  # last, as it lists all modules

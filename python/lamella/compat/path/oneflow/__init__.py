"""Lamella's front for programs written for OneFlow's custom operators, in C++ and in Python.

Jobs (``global_function``) run their function eagerly, with the types of their arguments checked.
"""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella import Tensor, float16, float32, float64, int8, int32, int64, uint8
from lamella.compat.front import close

__getattr__ = close(
    "oneflow",
    {
        "oneflow.nn": "the front is for custom operators; lamella.nn has layers",
        "oneflow.optimizer": "jobs do not train yet; lamella.optim has optimizers",
    },
)

from . import config, experimental, scope, sysconfig, typing
from ._builder import user_op_builder
from ._jobs import FunctionConfig, function_config, global_function

float = float32
double = float64

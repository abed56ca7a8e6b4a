"""Paddle's static programs: those of lamella.static."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from lamella.compat.front import close_module
from lamella.static import (
    CompiledProgram,
    CPUPlace,
    CUDAPlace,
    Executor,
    InputSpec,
    ParamAttr,
    Print,
    Program,
    Scope,
    Variable,
    accuracy,
    append_backward,
    cpu_places,
    create_global_var,
    create_parameter,
    cuda_places,
    data,
    default_main_program,
    default_startup_program,
    global_scope,
    gradients,
    load,
    load_inference_model,
    load_program_state,
    name_scope,
    program_guard,
    py_func,
    save,
    save_inference_model,
    scope_guard,
    set_program_state,
)

from . import nn
from ._averages import ExponentialMovingAverage
from ._more import BuildStrategy, auc, device_guard, load_from_file, save_to_file

__getattr__ = close_module(__name__)

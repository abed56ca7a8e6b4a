"""Programs that are recorded once and run often: Paddle's static API.

Operators that are called with a program's variables become its nodes::

    from lamella import static

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [-1, 4])
        y = static.nn.fc(x, 2, activation="tanh")
    executor = static.Executor(static.CPUPlace())
    executor.run(startup)
    (value,) = executor.run(main, feed={"x": array}, fetch_list=[y])

Its parameters are variables whose values lie in a :class:`Scope`, where the start-up program puts them.
"""

from . import nn, unique_name
from .backward import append_backward, apply_gradients, gradients, minimize
from .executor import CompiledProgram, Executor
from .feeder import DataFeeder, batch
from .files import (
    load,
    load_inference_model,
    load_program_state,
    save,
    save_inference_model,
    set_program_state,
)
from .nn import accuracy, py_func
from .nn import printed as Print  # noqa: N812
from .parameters import ParamAttr, create_global_var, create_parameter
from .places import CPUPlace, CUDAPlace, cpu_places, cuda_places
from .program import (
    Block,
    Program,
    Variable,
    data,
    default_main_program,
    default_startup_program,
    disable_static,
    enable_static,
    in_dynamic_mode,
    program_guard,
)
from .scope import Scope, global_scope, scope_guard
from .spec import InputSpec
from .unique_name import name_scope

__all__ = [
    "Block",
    "CPUPlace",
    "CUDAPlace",
    "CompiledProgram",
    "DataFeeder",
    "Executor",
    "InputSpec",
    "ParamAttr",
    "Print",
    "Program",
    "Scope",
    "Variable",
    "accuracy",
    "append_backward",
    "apply_gradients",
    "batch",
    "cpu_places",
    "create_global_var",
    "create_parameter",
    "cuda_places",
    "data",
    "default_main_program",
    "default_startup_program",
    "disable_static",
    "enable_static",
    "global_scope",
    "gradients",
    "in_dynamic_mode",
    "load",
    "load_inference_model",
    "load_program_state",
    "minimize",
    "name_scope",
    "nn",
    "program_guard",
    "py_func",
    "save",
    "save_inference_model",
    "scope_guard",
    "set_program_state",
    "unique_name",
]

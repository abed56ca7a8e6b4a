"""Paths of modules under which Paddle has the names of this front, and the modules that define them here."""

from __future__ import annotations

from lamella.compat.front import Paths

_DTYPES = "bool complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8"
_FRAMEWORK = "Program default_main_program default_startup_program program_guard"
_PROGRAMS = f"{_FRAMEWORK} Executor Scope Variable append_backward global_scope gradients name_scope scope_guard"
_GRAD_MODES = "enable_grad is_grad_enabled no_grad set_grad_enabled"
_OF_TENSORS = {"paddle": "*", "paddle._parts": "array_length array_read array_write create_array"}
_TENSOR = "array attribute creation einsum linalg logic manipulation math ops random search stat"
_LAYERS = "activation common container conv distance layers loss norm pooling rnn transformer vision"
_FUNCTIONS = "activation common conv distance extension input loss norm pooling vision"
_OPTIMIZERS = "ASGD Adadelta Adagrad Adam AdamW Adamax LBFGS Lamb Momentum NAdam RAdam RMSProp Rprop SGD"
_INITIALIZERS = {
    "assign": "Assign",
    "constant": "Constant",
    "initializer": "Initializer",
    "kaiming": "KaimingNormal KaimingUniform",
    "normal": "Normal",
    "uniform": "Uniform",
    "xavier": "XavierNormal XavierUniform",
}

PATHS: Paths = {
    "paddle.autograd.backward_mode": {"paddle.autograd": "backward"},
    "paddle.autograd.py_layer": {
        "paddle.autograd": "PyLayer PyLayerContext",
        "lamella.autograd": "once_differentiable",
    },
    "paddle.autograd.saved_tensors_hooks": {"paddle.autograd": "saved_tensors_hooks"},
    "paddle.base": {
        "paddle": "*",
        "paddle.static": "*",
        "paddle.utils": "unique_name",
        "lamella.static": "DataFeeder",
    },
    "paddle.base.backward": {"paddle.static": "append_backward gradients"},
    "paddle.base.compiler": {"paddle.static": "CompiledProgram"},
    "paddle.base.core": {"paddle": "CPUPlace CUDAPlace is_compiled_with_cuda", "paddle.static": "Scope"},
    "paddle.base.dygraph": {"paddle": f"grad {_GRAD_MODES}", "paddle.nn": "Layer", "paddle._generators": "guard"},
    "paddle.base.dygraph.base": {"paddle": f"grad {_GRAD_MODES}", "paddle._generators": "guard"},
    "paddle.base.data_feeder": {"lamella.static": "DataFeeder"},
    "paddle.base.executor": {"paddle.static": "Executor global_scope scope_guard"},
    "paddle.base.framework": {"paddle": "in_dynamic_mode", "paddle.static": f"Variable name_scope {_FRAMEWORK}"},
    "paddle.base.param_attr": {"paddle": "ParamAttr"},
    "paddle.framework": {"paddle": "*", "paddle.static": "*"},
    "paddle.framework.dtype": {"paddle": _DTYPES},
    "paddle.framework.framework": {"paddle": "get_default_dtype set_default_dtype"},
    "paddle.framework.io": {"paddle": "load save"},
    "paddle.framework.random": {"paddle": "get_rng_state seed set_rng_state"},
    **{f"paddle.nn.functional.{name}": {"paddle.nn.functional": "*"} for name in _FUNCTIONS.split()},
    **{f"paddle.nn.initializer.{name}": {"paddle.nn.initializer": names} for name, names in _INITIALIZERS.items()},
    "paddle.nn.layer": {"paddle.nn": "*"},
    **{f"paddle.nn.layer.{name}": {"paddle.nn": "*"} for name in _LAYERS.split()},
    "paddle.nn.loss": {"paddle.nn": "*"},
    "paddle.hapi": {"paddle": "Model callbacks flops summary"},
    "paddle.hapi.callbacks": {"paddle.callbacks": "*"},
    "paddle.hapi.model": {"paddle": "Model"},
    "paddle.hapi.model_summary": {"paddle": "summary"},
    "paddle.random": {"paddle": "get_rng_state seed set_rng_state"},
    "paddle.special": {"paddle": "expm1 logsumexp softmax"},
    "paddle.utils.unique_name": {"lamella.static.unique_name": "generate guard switch"},
    "paddle.static.input": {"paddle.static": "InputSpec data"},
    "paddle.static.nn.control_flow": {"paddle.static.nn": "cond while_loop"},
    "paddle.static.nn.common": {"paddle.static.nn": "batch_norm conv2d embedding fc layer_norm py_func static_pylayer"},
    **{f"paddle.optimizer.{name.lower()}": {"paddle.optimizer": name} for name in _OPTIMIZERS.split()},
    "paddle.optimizer.optimizer": {"paddle.optimizer": "Optimizer"},
    "paddle.tensor": _OF_TENSORS,
    **{f"paddle.tensor.{name}": {**_OF_TENSORS, "paddle.linalg": "*"} for name in _TENSOR.split()},
}

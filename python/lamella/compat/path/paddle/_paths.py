"""Paths of modules under which Paddle has the names of this front, and the modules that define them here."""

from __future__ import annotations

from lamella.compat.front import Paths

_DTYPES = "bool complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8"
_FRAMEWORK = "Program default_main_program default_startup_program program_guard"
_PROGRAMS = f"{_FRAMEWORK} Executor Scope Variable append_backward global_scope gradients name_scope scope_guard"
_GRAD_MODES = "enable_grad is_grad_enabled no_grad set_grad_enabled"
_TENSOR = {
    "attribute": "numel",
    "creation": (
        "arange assign clone empty empty_like eye full full_like linspace ones ones_like to_tensor zeros zeros_like"
    ),
    "linalg": "matmul transpose",
    "logic": (
        "allclose equal greater_equal greater_than is_tensor less_equal less_than logical_and logical_not logical_or "
        "not_equal"
    ),
    "manipulation": ("broadcast_to cast concat expand flatten reshape split squeeze stack unsqueeze"),
    "math": (
        "add all any clip divide floor_divide isfinite isinf isnan max maximum min minimum mod multiply neg pow prod "
        "remainder subtract sum"
    ),
    "ops": "abs cos exp log sin sqrt square tanh",
    "random": "bernoulli normal rand randint randn randperm uniform",
    "search": "argmax argmin where",
    "stat": "mean",
}
_LAYERS = {
    "activation": "GELU ReLU Sigmoid Softmax Tanh",
    "common": "Dropout Embedding Flatten Linear",
    "container": "LayerList Sequential",
    "conv": "Conv2D",
    "layers": "Layer",
    "loss": "CrossEntropyLoss MSELoss",
    "norm": "BatchNorm1D BatchNorm2D BatchNorm3D LayerNorm",
    "pooling": "AvgPool2D MaxPool2D",
}
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
        "paddle": "enable_grad no_grad CPUPlace CUDAPlace ParamAttr in_dynamic_mode",
        "paddle.static": _PROGRAMS,
        "paddle.utils": "unique_name",
        "lamella.static": "DataFeeder",
    },
    "paddle.base.backward": {"paddle.static": "append_backward gradients"},
    "paddle.base.compiler": {"paddle.static": "CompiledProgram"},
    "paddle.base.core": {"paddle": "CPUPlace CUDAPlace is_compiled_with_cuda", "paddle.static": "Scope"},
    "paddle.base.dygraph": {"paddle": f"grad {_GRAD_MODES}", "paddle.nn": "Layer"},
    "paddle.base.dygraph.base": {"paddle": f"grad {_GRAD_MODES}"},
    "paddle.base.data_feeder": {"lamella.static": "DataFeeder"},
    "paddle.base.executor": {"paddle.static": "Executor global_scope scope_guard"},
    "paddle.base.framework": {"paddle": "in_dynamic_mode", "paddle.static": f"Variable name_scope {_FRAMEWORK}"},
    "paddle.base.param_attr": {"paddle": "ParamAttr"},
    "paddle.device": {"paddle": "get_device is_compiled_with_cuda"},
    "paddle.framework": {"paddle": f"get_default_dtype seed {_DTYPES} {_GRAD_MODES}"},
    "paddle.framework.dtype": {"paddle": _DTYPES},
    "paddle.framework.framework": {"paddle": "get_default_dtype"},
    "paddle.framework.random": {"paddle": "seed"},
    "paddle.nn.functional.activation": {"paddle.nn.functional": "gelu log_softmax relu sigmoid softmax tanh"},
    "paddle.nn.functional.common": {"paddle.nn.functional": "dropout linear"},
    "paddle.nn.functional.loss": {"paddle.nn.functional": "cross_entropy mse_loss square_error_cost"},
    **{f"paddle.nn.initializer.{name}": {"paddle.nn.initializer": names} for name, names in _INITIALIZERS.items()},
    "paddle.nn.layer": {"paddle.nn": " ".join(_LAYERS.values())},
    **{f"paddle.nn.layer.{name}": {"paddle.nn": names} for name, names in _LAYERS.items()},
    "paddle.static.input": {"paddle.static": "InputSpec data"},
    "paddle.static.nn.control_flow": {"paddle.static.nn": "cond while_loop"},
    "paddle.static.nn.common": {"paddle.static.nn": "batch_norm conv2d embedding fc layer_norm py_func static_pylayer"},
    "paddle.optimizer.adam": {"paddle.optimizer": "Adam"},
    "paddle.optimizer.adamw": {"paddle.optimizer": "AdamW"},
    "paddle.optimizer.momentum": {"paddle.optimizer": "Momentum"},
    "paddle.optimizer.optimizer": {"paddle.optimizer": "Optimizer"},
    "paddle.optimizer.sgd": {"paddle.optimizer": "SGD"},
    "paddle.tensor": {"paddle": " ".join(_TENSOR.values())},
    **{f"paddle.tensor.{name}": {"paddle": names} for name, names in _TENSOR.items()},
}

"""Paths of modules under which PyTorch has the names of this front, and the modules that define them here."""

from __future__ import annotations

from lamella.compat.dialect import parse_table
from lamella.compat.front import Paths
from lamella.compat.tables import torch_nn

#: Layers by the modules of torch.nn.modules.
_LAYERS = {name: " ".join(parse_table(text)) for name, text in torch_nn.LAYERS.items()}

#: Modules of torch.nn.utils by their names there.
_UTILS = {
    "clip_grad": "clip_grad_norm_ clip_grad_value_ clip_grad_norm clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "init": "skip_init",
    "spectral_norm": "spectral_norm remove_spectral_norm",
    "weight_norm": "weight_norm remove_weight_norm",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
}

#: Classes that mark what may be quantized, where older and newer programs look for them.
#: Functions of several tensors, which PyTorch keeps in a module of their own.
_FUNCTIONAL = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul "
    "einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index"
)
_STUBS = {"torch._quantization": "DeQuantStub FakeQuantizeBase ObserverBase QuantStub QuantWrapper"}
_FLOATS = {"torch._quantization": "FloatFunctional"}

PATHS: Paths = {
    "torch.ao": {},
    "torch.ao.quantization": _STUBS,
    "torch.ao.nn": {},
    "torch.ao.nn.quantized": _FLOATS,
    "torch.nn.quantized": _FLOATS,
    "torch.quantization": _STUBS,
    "torch._tensor_str": {"torch._printing": "PRINT_OPTS _tensor_str printoptions set_printoptions"},
    "torch.autograd.anomaly_mode": {"torch.autograd": "detect_anomaly set_detect_anomaly"},
    "torch.autograd.function": {"torch.autograd": "Function FunctionCtx InplaceFunction once_differentiable"},
    "torch.autograd.functional": {
        "torch._functional": (
            "hessian hvp jacobian jvp vhp vjp _as_tuple _construct_standard_basis_for _grad_postprocess "
            "_tuple_postprocess"
        )
    },
    "torch.autograd.grad_mode": {
        "torch.autograd": "enable_grad inference_mode no_grad set_grad_enabled set_multithreading_enabled"
    },
    "torch.autograd.gradcheck": {"torch.autograd": "GradcheckError gradcheck gradgradcheck"},
    "torch.autograd.graph": {
        "lamella.autograd": (
            "Node allow_mutation_on_saved_tensors disable_saved_tensors_hooks register_multi_grad_hook save_on_cpu "
            "saved_tensors_hooks"
        ),
        "lamella.autograd.graph": "GradientEdge",
        "torch._nodes": "get_gradient_edge",
        "torch.autograd": "increment_version",
    },
    "torch.autograd.profiler": {"torch.profiler": "EventList emit_nvtx format_time profile record_function"},
    "torch.autograd.variable": {"torch.autograd": "Variable"},
    "torch._custom_ops": {"torch.library": "custom_op get_ctx impl_abstract"},
    "torch._library": {"torch.library": "custom_op infer_schema"},
    "torch._library.custom_ops": {"torch.library": "custom_op"},
    "torch._library.infer_schema": {"torch.library": "infer_schema"},
    "torch.amp.autocast_mode": {"torch.amp": "autocast custom_bwd custom_fwd"},
    "torch.amp.grad_scaler": {"torch.amp": "GradScaler OptState"},
    "torch.cuda.amp.autocast_mode": {"torch.cuda.amp": "autocast custom_bwd custom_fwd"},
    "torch.cuda.amp.grad_scaler": {"torch.cuda.amp": "GradScaler"},
    "torch.functional": {"torch": _FUNCTIONAL},
    "torch.nn.modules": {
        "torch.nn": " ".join(name for names in _LAYERS.values() for name in names.split() if not name.startswith("_"))
    },
    **{f"torch.nn.modules.{name}": {"torch.nn": layers} for name, layers in _LAYERS.items()},
    "torch.nn.modules.module": {
        "torch.nn": "Module",
        "torch.nn._states": "_EXTRA_STATE_KEY_SUFFIX _IncompatibleKeys",
        "torch.nn._hooks_of_all": (
            "register_module_backward_hook register_module_forward_hook register_module_forward_pre_hook "
            "register_module_full_backward_hook register_module_full_backward_pre_hook"
        ),
    },
    "torch.nn.modules.transformer": {
        "torch.nn": _LAYERS["transformer"],
        "torch.nn._attention": "_get_activation_fn",
        "torch.nn._parts": "_detect_is_causal_mask _generate_square_subsequent_mask _get_clones _get_seq_len",
    },
    "torch.nn.modules.rnn": {"torch.nn": _LAYERS["rnn"], "torch.nn._parts": "apply_permutation"},
    "torch.nn.modules.utils": {
        "torch.nn._states": "consume_prefix_in_state_dict_if_present",
        "torch.nn._tuples": "_ntuple _pair _quadruple _reverse_repeat_tuple _single _triple",
    },
    "torch.nn.parameter": {
        "torch.nn": "Buffer Parameter UninitializedBuffer UninitializedParameter",
        "torch.nn._module": "UninitializedTensorMixin is_lazy",
    },
    "torch.nn.parallel.scatter_gather": {"torch.nn.parallel": "gather scatter"},
    "torch.nn.parallel.data_parallel": {"torch.nn.parallel": "DataParallel data_parallel"},
    "torch.nn.parallel.distributed": {"torch.nn.parallel": "DistributedDataParallel"},
    **{f"torch.nn.utils.{name}": {"torch.nn.utils": names} for name, names in _UTILS.items()},
    "torch.optim.optimizer": {
        "torch.optim": "Optimizer",
        "torch.optim._types": (
            "ParamsT _default_to_fused_or_foreach _get_capturable_supported_devices _get_value _params_t "
            "_use_grad_for_differentiable params_t required"
        ),
    },
    **{f"torch.optim.{name.lower()}": {"torch.optim": name} for name in parse_table(torch_nn.OPTIMIZERS)},
    "torch.utils.model_zoo": {"torch.hub": "load_state_dict_from_url load_url tqdm"},
    "torch.quasirandom": {"torch._quasirandom": "SobolEngine"},
    "torch.utils._foreach_utils": {"torch._foreach": "_group_tensors_by_device_and_dtype"},
    "torch._vmap_internals": {"torch.func": "vmap _vmap"},
    "torch.optim.lbfgs": {"torch.optim": "LBFGS", "torch.optim._search": "_cubic_interpolate _strong_wolfe"},
    "torch.testing._comparison": {"torch.testing": "assert_close"},
}

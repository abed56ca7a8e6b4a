"""Names and arguments of Paddle for what is called otherwise here, with what to write.

:mod:`lamella._names` makes the errors that say so. In phrases, ``x`` is the tensor, and ``p`` the parameters.
"""

from __future__ import annotations

import re
import sys

from .. import _C

#: Functions of ``paddle`` beside those that it calls as PyTorch does.
FUNCTIONS = {
    "floor_mod": "remainder",
    "gammaln": "lgamma",
    "greater_than": "greater",
    "less_than": "less",
    "mod": "remainder",
    "to_tensor": "tensor",
}

#: Functions, methods of tensors by the same names among them, for which there is no one name.
OF_TENSORS = {
    "add_n": "sum(tensors), Python's",
    "as_complex": "lm.view_as_complex(x)",
    "as_real": "lm.view_as_real(x)",
    "broadcast_shape": "lm.broadcast_shapes(a, b)",
    "create_parameter": "lm.nn.Parameter(lm.zeros(shape))",
    "equal_all": "lm.all(x == y)",
    "gather_nd": "x[tuple(lm.unstack(index, axis=-1))]",
    "increment": "x.add_(1)",
    "index_sample": "lm.take_along_axis(x, index, axis=1)",
    "is_complex": "lm.isdtype(x.dtype, 'complex floating')",
    "is_empty": "x.size == 0",
    "is_floating_point": "lm.isdtype(x.dtype, 'real floating')",
    "is_integer": "lm.isdtype(x.dtype, 'integral')",
    "is_tensor": "isinstance(x, lm.Tensor)",
    "msort": "lm.sort(x, axis=0)",
    "multigammaln": "lm.mvlgamma(x, p)",
    "multiplex": "lm.stack(inputs)[index[:, 0], lm.arange(len(index))]",
    "rank": "x.ndim",
    "reverse": "lm.flip(x, axis)",
    "scale": "x * scale + bias",
    "scatter_nd": "lm.index_put(lm.zeros(shape), lm.unstack(index, axis=-1), updates, accumulate=True)",
    "scatter_nd_add": "lm.index_put(x, lm.unstack(index, axis=-1), updates, accumulate=True)",
    "slice": "x[start:stop]",
    "strided_slice": "x[start:stop:step]",
    "crop": "x[start:stop]",
    "transpose": "lm.permute_dims(x, perm)",
    "stanh": "scale_b * lm.tanh(scale_a * x)",
}

#: Other names of ``paddle``.
PHRASES = {
    "CPUPlace": "'cpu'",
    "CUDAPlace": "'cuda:0'",
    "DataParallel": "lm.distributed.DistributedDataParallel",
    "Model": "a loop of your own, as docs/getting-started.md has it",
    "ParamAttr": "lm.nn.init for the values, and groups of lm.optim with an lr and a weight_decay of their own",
    "assign": "x.clone(), and y.copy_(x) for an output y",
    "disable_static": "nothing: programs are eager",
    "enable_static": "lm.static, with the same names",
    "distribution": "lm.distributions",
    "get_device": "lm.get_default_device()",
    "in_dynamic_mode": "True: programs are eager",
    "is_compiled_with_cuda": "lm.cuda.is_available()",
    "jit": "lm.compile(function)",
    "metric": "lm.mean(lm.argmax(x, axis=1) == label): there are no metrics",
    "optimizer": "lm.optim",
    "regularizer": "weight_decay= of the optimizer",
    "set_device": "lm.set_default_device('cpu')",
    "shape": "x.shape",
    "standard_normal": "lm.randn(shape)",
    "summary": "lm.nn.summary(model, x)",
    "tolist": "x.tolist()",
    "vision": "lm.data.ImageFolder, and transforms of your own",
}

_CLIP = "lm.nn.utils.{} before the step"
_INIT = "lm.nn.init.{}(parameter), after the layer is made"
_RATE = "lm.optim.{}, which is given the optimizer: the rate it begins with is the optimizer's lr"

_SCHEDULES = {
    "CosineAnnealingDecay": "CosineAnnealingLR(optimizer, t_max)",
    "ExponentialDecay": "ExponentialLR(optimizer, gamma)",
    "InverseTimeDecay": "InverseTimeLR(optimizer, gamma)",
    "LambdaDecay": "LambdaLR(optimizer, lr_lambda)",
    "LinearWarmup": "LinearWarmupLR(optimizer, warmup_epochs, start_lr, end_lr, after)",
    "MultiStepDecay": "MultiStepLR(optimizer, milestones, gamma)",
    "MultiplicativeDecay": "MultiplicativeLR(optimizer, lr_lambda)",
    "NaturalExpDecay": "NaturalExpLR(optimizer, gamma)",
    "NoamDecay": "NoamLR(optimizer, d_model, warmup_steps)",
    "PiecewiseDecay": "PiecewiseLR(optimizer, boundaries, values)",
    "PolynomialDecay": "PolynomialLR(optimizer, total_iters, power, end_lr)",
    "ReduceOnPlateau": "ReduceLROnPlateau(optimizer)",
    "StepDecay": "StepLR(optimizer, step_size, gamma)",
}
_SCHEDULES = {name: _RATE.format(call) for name, call in _SCHEDULES.items()}

#: Names of packages of Paddle that the package of the same subject here lacks.
PACKAGES = {
    "amp": {
        "auto_cast": "lm.autocast(dtype='bfloat16')",
        "decorate": "nothing: parameters keep their dtype, and lm.autocast casts what operators are given",
    },
    "data": {
        "ComposeDataset": "lm.data.StackDataset(*datasets)",
        "DistributedBatchSampler": "lm.data.DistributedSampler(dataset), as the sampler= of the loader",
        "SequenceSampler": "lm.data.SequentialSampler(dataset)",
    },
    "distributed": {
        "DataParallel": "lm.distributed.DistributedDataParallel(model)",
        "init_parallel_env": "lm.distributed.init_process_group()",
    },
    "nn": {
        "BatchNorm": "lm.nn.BatchNorm2d",
        "BiRNN": "lm.nn.RNN(..., bidirectional=True), or LSTM or GRU",
        "ClipGradByGlobalNorm": _CLIP.format("clip_grad_norm_(p, max_norm)"),
        "ClipGradByNorm": _CLIP.format("clip_grad_norm_([parameter], max_norm)") + ", for each parameter",
        "ClipGradByValue": _CLIP.format("clip_grad_value_(p, clip_value)"),
        "Layer": "lm.nn.Module",
        "LayerDict": "lm.nn.ModuleDict",
        "LayerList": "lm.nn.ModuleList",
        "MaxUnPool1D": "lm.nn.MaxUnpool1d",
        "MaxUnPool2D": "lm.nn.MaxUnpool2d",
        "MaxUnPool3D": "lm.nn.MaxUnpool3d",
        "MultiHeadAttention": "lm.nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)",
        "Pad1D": "lm.nn.ConstantPad1d, ReflectionPad1d, ReplicationPad1d or CircularPad1d",
        "Pad2D": "lm.nn.ConstantPad2d, ReflectionPad2d, ReplicationPad2d or CircularPad2d",
        "Pad3D": "lm.nn.ConstantPad3d, ReflectionPad3d, ReplicationPad3d or CircularPad3d",
        "RNNCellBase": "lm.nn.Module",
        "Silu": "lm.nn.SiLU",
        "SimpleRNN": "lm.nn.RNN(input_size, hidden_size, batch_first=True)",
        "SimpleRNNCell": "lm.nn.RNNCell",
        "SpectralNorm": "lm.nn.utils.spectral_norm(layer)",
        "initializer": "lm.nn.init, whose functions fill a tensor",
        "loss": "lm.nn, where all losses are",
        "spectral_norm": "lm.nn.utils.spectral_norm(layer)",
    },
    "nn.functional": {
        "conv1d_transpose": "lm.conv_transpose1d, with the same order of axes",
        "conv2d_transpose": "lm.conv_transpose2d, with the same order of axes",
        "conv3d_transpose": "lm.conv_transpose3d, with the same order of axes",
        "diag_embed": "lm.diag_embed(x)",
        "log_loss": "lm.log_loss(input, target)",
        "logsigmoid": "lm.log_sigmoid(x)",
        "multi_label_margin_loss": "lm.multilabel_margin_loss(input, target)",
        "multi_label_soft_margin_loss": "lm.multilabel_soft_margin_loss(input, target)",
        "softmax_with_cross_entropy": "lm.cross_entropy(input, target, reduction='none')",
        "square_error_cost": "(input - target) ** 2",
        "swiglu": "lm.silu(x) * y",
        "swish": "lm.silu(x)",
        "thresholded_relu": "lm.threshold(x, threshold, value)",
        "upsample": "lm.interpolate(x, size, scale_factor, mode)",
        "zeropad2d": "lm.pad(x, [left, right, top, bottom])",
    },
    "nn.init": {
        "Assign": "parameter.copy_(lm.asarray(value)) within lm.no_grad()",
        "Bilinear": "parameter.copy_(lm.asarray(value)) within lm.no_grad()",
        "Constant": _INIT.format("constant_"),
        "Dirac": _INIT.format("dirac_"),
        "KaimingNormal": _INIT.format("kaiming_normal_"),
        "KaimingUniform": _INIT.format("kaiming_uniform_"),
        "Normal": _INIT.format("normal_"),
        "Orthogonal": _INIT.format("orthogonal_"),
        "TruncatedNormal": _INIT.format("trunc_normal_"),
        "Uniform": _INIT.format("uniform_"),
        "XavierNormal": _INIT.format("xavier_normal_"),
        "XavierUniform": _INIT.format("xavier_uniform_"),
    },
    "optim": {
        "Lamb": "lm.optim.LAMB(p, lr=rate)",
        "Momentum": "lm.optim.SGD(p, lr=rate, momentum=0.9)",
        "RMSProp": "lm.optim.RMSprop(p, lr=rate, alpha=rho)",
        **_SCHEDULES,
    },
    "optim.lr": _SCHEDULES,
}

#: What ``paddle.io`` has is in another package than ``lm.io``.
IO = frozenset({
    "BatchSampler", "ChainDataset", "ComposeDataset", "ConcatDataset", "DataLoader", "Dataset",
    "DistributedBatchSampler", "IterableDataset", "RandomSampler", "Sampler", "SequenceSampler", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "get_worker_info", "random_split",
})  # fmt: skip

#: Methods of tensors alone.
METHODS = {
    "clear_gradient": "x.clear_grad()",
    "fill_diagonal_": "x.diagonal().fill_(value)",
    "is_dense": "True: tensors are dense",
    "name": "the name that model.named_parameters() gives it",
    "ndimension": "x.ndim",
    "persistable": "lm.nn.Buffer for what a module saves",
    "place": "x.device",
    "set_value": "x.copy_(lm.asarray(value)) within lm.no_grad()",
    "trainable": "not x.stop_gradient",
    "value": "x",
}

#: Functions that write in place there, and only give a result here.
IN_PLACE = frozenset({
    "cumprod_", "cumsum_", "equal_", "flatten_", "gcd_", "greater_", "greater_equal_", "lcm_", "ldexp_", "less_",
    "less_equal_", "logical_and_", "logical_not_", "logical_or_", "logical_xor_", "logit_", "nan_to_num_",
    "not_equal_", "polygamma_", "renorm_", "reshape_", "squeeze_", "where_",
})  # fmt: skip

#: Methods of ``paddle.nn.Layer`` that modules lack.
OF_MODULES = {
    "add_parameter": "register_parameter(name, parameter)",
    "add_sublayer": "add_module(name, module), which returns nothing",
    "clear_gradients": "zero_grad()",
    "create_parameter": "lm.nn.Parameter(lm.zeros(shape))",
    "full_name": "type(module).__name__",
    "get_sublayer": "get_submodule(name)",
    "load_dict": "load_state_dict(state)",
    "named_sublayers": "named_modules(), whose first is the module itself",
    "register_forward_post_hook": "register_forward_hook(hook)",
    "set_dict": "load_state_dict(state)",
    "set_state_dict": "load_state_dict(state)",
    "set_sublayer": "set_submodule(name, module)",
    "sublayers": "modules(), whose first is the module itself, or children()",
    "to_static_state_dict": "state_dict()",
}

#: Methods of ``paddle.optimizer.Optimizer`` that optimizers lack.
OF_OPTIMIZERS = {
    "_learning_rate": "the schedule that the optimizer was given to",
    "clear_grad": "zero_grad()",
    "clear_gradients": "zero_grad()",
    "get_lr": "param_groups[0]['lr']",
    "set_lr": "group['lr'] = rate, for each of param_groups",
    "set_lr_scheduler": "a schedule that is given the optimizer, such as lm.optim.StepLR(optimizer, 10)",
    "set_state_dict": "load_state_dict(state)",
}

#: Attributes of ``paddle.optimizer.lr.LRScheduler`` that schedules lack.
OF_SCHEDULES = {
    "get_lr": "get_last_lr()[0]",
    "last_lr": "get_last_lr()[0]",
    "set_dict": "load_state_dict(state)",
    "set_state_dict": "load_state_dict(state)",
}

#: Methods of ``paddle.amp.GradScaler`` that the scaler lacks.
OF_SCALERS = {
    "get_init_loss_scaling": "get_scale()",
    "is_enable": "is_enabled()",
    "minimize": "step(optimizer) and update()",
}

#: Arguments, and what they may be called here.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "T_max": ("t_max",),
    "data_source": ("source", "dataset", "sampler"),
    "diagonal": ("k",),
    "epsilon": ("eps",),
    "incr_ratio": ("growth_factor",),
    "decr_ratio": ("backoff_factor",),
    "enable": ("enabled",),
    "incr_every_n_steps": ("growth_interval",),
    "init_loss_scaling": ("init_scale",),
    "input": ("x", "a", "x1", "anchor"),
    "keepdim": ("keepdims",),
    "label": ("target",),
    "label_lengths": ("target_lengths",),
    "labels": ("targets", "target"),
    "lamb_weight_decay": ("weight_decay",),
    "learning_rate": ("lr",),
    "logit": ("input",),
    "max": ("high", "max_val"),
    "max_norm": ("maxnorm",),
    "min": ("low", "min_val"),
    "normalize_before": ("norm_first",),
    "offset": ("k",),
    "parameters": ("params",),
    "perm": ("axes",),
    "repeat_times": ("repetitions",),
    "p": ("ord",),
    "rho": ("alpha",),
    "shifts": ("shift",),
    "use_nesterov": ("nesterov",),
    "warmup_steps": ("warmup_epochs",),
    "x": ("input", "a", "x1", "tensors", "arrays"),
    "y": ("b", "x2", "other"),
}

_OPERAND = ", and is given by position"

#: Where arguments of ``ARGUMENTS`` stand.
PLACES = {"input": _OPERAND, "x": _OPERAND, "y": _OPERAND, "parameters": ", and comes first"}

_CLIPPED = "clip before the step: lm.nn.utils.clip_grad_norm_(p, max_norm)"
_ATTR = "fill the parameter by lm.nn.init after the layer is made"
_BETAS = "give betas=(beta1, beta2)"

#: Arguments of functions and classes that have none of that meaning here.
ARGUMENT_PHRASES = {
    "align_mode": "leave it out: it is 0",
    "apply_decay_param_fun": "give two groups of parameters, one of them with weight_decay=0",
    "attn_dropout": "leave it out: dropout is that of attention as well",
    "beta1": _BETAS,
    "beta2": _BETAS,
    "bias_attr": "give bias=False for False, else " + _ATTR,
    "custom_black_list": "leave it out",
    "custom_white_list": "leave it out",
    "data_format": "leave it out: channels are axis 1",
    "decr_every_n_nan_or_inf": "leave it out: it is 1",
    "delta": "call lm.huber_loss(input, target, delta=delta)",
    "act_dropout": "leave it out: dropout is that of activations as well",
    "direction": "give bidirectional=True for 'bidirect', and batch_first=True, which Paddle's layers have",
    "exclude_from_weight_decay_fn": "give two groups of parameters, one of them with weight_decay=0",
    "exclusive": "give count_include_pad=not exclusive",
    "grad_clip": _CLIPPED,
    "lazy_mode": "leave it out: all rows move, also those without a gradient",
    "level": "leave it out: lm.autocast is level O1",
    "multi_precision": "leave it out",
    "name": "leave it out",
    "overwrite": "call lm.index_copy(x, 0, index, source), or lm.index_add to add",
    "places": "leave it out: batches are on the CPU",
    "return_list": "leave it out: batches are lists or tuples as samples are",
    "return_mask": "call the function with _with_indices at the end of its name",
    "sequence_length": "give the layer lm.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)",
    "soft_label": "give probabilities as the target",
    "sparse": "leave it out: gradients are dense",
    "time_major": "give batch_first=not time_major",
    "transpose_x": "write a.mT",
    "transpose_y": "write b.mT",
    "use_dynamic_loss_scaling": "leave it out: it is True",
    "use_shared_memory": "leave it out: arrays of workers come through shared memory",
    "use_softmax": "call lm.nll_loss(lm.log(x), target) for probabilities",
    "weight_attr": _ATTR,
}

_WITH_SIZE = re.compile(r"(\w*?)(\d)D(Transpose)?")


def of_package(name: str, package: str) -> str | None:
    """Returns what to write for a name that a package lacks, None where nothing is known."""
    if package == "io" and name in IO:
        return PACKAGES["data"].get(name, f"lm.data.{name}")
    if name in PACKAGES.get(package, {}):
        return PACKAGES[package][name]
    here = sys.modules[f"lamella.{package}"]
    sized = _WITH_SIZE.fullmatch(name)
    layer = f"{sized[1]}{sized[3] or ''}{sized[2]}d" if sized else ""  # Conv2DTranspose is ConvTranspose2d
    if layer in vars(here):
        return f"lm.{package}.{layer}"
    if package == "nn.functional" and name in vars(_C):
        return f"lm.{name}"
    return None

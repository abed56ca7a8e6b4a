"""Layers of torch.nn: forward, backward, in training and in evaluation, with names and shapes of their states."""

import torch
import torch.nn.functional as F
from recording import add, function, index, layer, x
from torch import nn

SMOOTH = {
    "CELU": [(), (0.7,)],
    "ELU": [(), (0.5,)],
    "GELU": [(), ("tanh",)],
    "Hardshrink": [(), (0.3,)],
    "Hardsigmoid": [()],
    "Hardswish": [()],
    "Hardtanh": [(), (-0.4, 0.6)],
    "LeakyReLU": [(), (0.2,)],
    "LogSigmoid": [()],
    "Mish": [()],
    "PReLU": [(), (5,)],
    "ReLU": [()],
    "ReLU6": [()],
    "SELU": [()],
    "SiLU": [()],
    "Sigmoid": [()],
    "Softplus": [(), (2.0, 1.0)],
    "Softshrink": [(), (0.2,)],
    "Softsign": [()],
    "Tanh": [()],
    "Tanhshrink": [()],
    "Threshold": [(0.1, 2.0)],
    "GLU": [(), (2,)],
    "LogSoftmax": [(1,), (-1,)],
    "Softmax": [(1,), (-1,)],
    "Softmin": [(1,)],
    "Softmax2d": [()],
    "Identity": [()],
    "Flatten": [(), (0, 1)],
    "CrossMapLRN2d": [(3,)],
    "LocalResponseNorm": [(3,), (2, 1e-2, 0.5, 2.0)],
    "ChannelShuffle": [(2,)],
    "PixelUnshuffle": [(2,)],
    "ZeroPad2d": [(1,), ((1, 2, 0, 3),)],
    "ConstantPad2d": [(1, 3.5)],
    "ReflectionPad2d": [(1,), ((1, 2, 0, 1),)],
    "ReplicationPad2d": [(2,)],
    "CircularPad2d": [(1,), ((1, 2, 0, 1),)],
    "Unfold": [(2,), (2, 1, 1, 2)],
    "AvgPool2d": [(2,), (3, 2, 1), (3, 2, 1, True, False), (2, None, 0, False, True, 3)],
    "MaxPool2d": [(2,), (3, 2, 1), (2, 1, 0, 2), (3, 2, 1, 1, False, True), (3, 2, 0, 1, True, True)],
    "LPPool2d": [(2, 2), (1, 3, 2)],
    "AdaptiveAvgPool2d": [(1,), ((3, 2),), ((None, 3),)],
    "AdaptiveMaxPool2d": [(2,), ((3, 2), True)],
    "Upsample": [
        (None, 2),
        ((5, 7), None, "bilinear"),
        (None, 2, "bicubic", True),
        (None, (1.5, 2.0), "nearest-exact"),
    ],
    "UpsamplingNearest2d": [(None, 2)],
    "UpsamplingBilinear2d": [(None, 2)],
    "BatchNorm2d": [(4,), (4, 1e-3, 0.3), (4, 1e-5, None), (4, 1e-5, 0.1, False), (4, 1e-5, 0.1, True, False)],
    "SyncBatchNorm": [],
    "InstanceNorm2d": [(4,), (4, 1e-5, 0.1, True)],
    "GroupNorm": [(2, 4), (4, 4, 1e-2, False)],
    "LayerNorm": [(6,), ((4, 6, 6),), (6, 1e-3, False), (6, 1e-5, True, False)],
    "RMSNorm": [(6,), ((6, 6), 1e-2), (6, None, False)],
    "Dropout": [(0.0,), (1.0,)],
    "Dropout2d": [(0.0,)],
    "AlphaDropout": [(0.0,)],
}

for name, settings in SMOOTH.items():
    for number, arguments in enumerate(settings):
        shape = (2, 5, 4) if name == "PReLU" else (2, 4, 6, 6)
        add(f"nn.{name}/{number}", layer(lambda n=name, a=arguments: getattr(nn, n)(*a), x(*shape)))

for number, (kind, arguments, named, shape) in enumerate(
    [
        ("Linear", (6, 3), {}, (4, 6)),
        ("Linear", (6, 3, False), {}, (2, 4, 6)),
        ("Linear", (6, 3), {}, (6,)),
        ("Conv1d", (4, 6, 3), {}, (2, 4, 9)),
        ("Conv1d", (4, 6, 3, 2, "valid", 2, 2, False), {}, (2, 4, 9)),
        ("Conv1d", (4, 6, 4), {"padding": "same", "padding_mode": "circular"}, (2, 4, 9)),
        ("Conv1d", (4, 6, 3), {}, (4, 9)),
        ("Conv2d", (4, 6, 3), {}, (2, 4, 7, 6)),
        ("Conv2d", (4, 6, (3, 2), (2, 1), (1, 2), (1, 2), 2), {}, (2, 4, 7, 6)),
        ("Conv2d", (4, 8, 3), {"groups": 4, "padding": "same", "padding_mode": "reflect"}, (2, 4, 7, 6)),
        ("Conv2d", (4, 8, 3), {"padding": 1, "padding_mode": "replicate", "bias": False}, (2, 4, 7, 6)),
        ("Conv2d", (4, 8, 3), {"padding": (1, 2), "padding_mode": "zeros"}, (4, 7, 6)),
        ("Conv3d", (2, 4, 2), {"stride": (1, 2, 1), "padding": 1}, (1, 2, 4, 5, 4)),
        ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}, (2, 4, 5)),
        ("ConvTranspose2d", (4, 6, 3), {}, (2, 4, 5, 4)),
        ("ConvTranspose2d", (4, 6, 3, 2, 1, 1, 2, False, 2), {}, (2, 4, 5, 4)),
        ("ConvTranspose3d", (2, 4, 2, 2), {}, (1, 2, 3, 3, 2)),
        ("BatchNorm1d", (6,), {}, (4, 6)),
        ("BatchNorm1d", (6,), {"momentum": None}, (4, 6, 3)),
        ("BatchNorm3d", (3,), {}, (2, 3, 2, 3, 2)),
        ("InstanceNorm1d", (4,), {"affine": True}, (2, 4, 6)),
        ("InstanceNorm1d", (4,), {}, (4, 6)),
        ("InstanceNorm3d", (2,), {"affine": True}, (2, 2, 3, 2, 3)),
        ("GroupNorm", (3, 6), {}, (4, 6)),
        ("AvgPool1d", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}, (2, 3, 8)),
        ("AvgPool3d", (2,), {"ceil_mode": True}, (1, 2, 5, 4, 5)),
        ("MaxPool1d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, (2, 3, 8)),
        ("MaxPool3d", (2,), {"stride": 1}, (1, 2, 4, 4, 3)),
        ("LPPool1d", (2, 3), {}, (2, 3, 8)),
        ("LPPool3d", (2, 2), {}, (1, 2, 4, 4, 4)),
        ("AdaptiveAvgPool1d", (3,), {}, (2, 3, 8)),
        ("AdaptiveAvgPool3d", ((2, None, 3),), {}, (1, 2, 4, 4, 5)),
        ("AdaptiveMaxPool1d", (3,), {"return_indices": True}, (2, 3, 8)),
        ("AdaptiveMaxPool3d", (2,), {}, (1, 2, 4, 4, 5)),
        ("PixelShuffle", (2,), {}, (2, 8, 3, 2)),
        ("Unflatten", (1, (2, 3)), {}, (2, 6, 3)),
        ("Fold", ((4, 5), 2), {"padding": 1, "stride": 2}, (2, 8, 9)),
        ("ReflectionPad1d", (2,), {}, (2, 3, 5)),
        ("ReflectionPad3d", (1,), {}, (1, 2, 3, 3, 3)),
        ("ReplicationPad1d", ((1, 2),), {}, (2, 3, 5)),
        ("ReplicationPad3d", (1,), {}, (1, 2, 3, 3, 3)),
        ("CircularPad1d", ((1, 2),), {}, (2, 3, 5)),
        ("CircularPad3d", (1,), {}, (1, 2, 3, 3, 3)),
        ("ConstantPad1d", (2, -1.0), {}, (2, 3, 5)),
        ("ConstantPad3d", (1, 2.0), {}, (1, 2, 3, 3, 3)),
        ("ZeroPad1d", (-1,), {}, (2, 3, 5)),
        ("ZeroPad3d", (1,), {}, (1, 2, 3, 3, 3)),
        ("Upsample", (), {"scale_factor": 2, "mode": "linear"}, (2, 3, 5)),
        ("Upsample", (), {"scale_factor": 2, "mode": "trilinear", "align_corners": True}, (1, 2, 3, 3, 3)),
        ("Upsample", (), {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True}, (1, 2, 3, 5)),
        ("Sequential", (nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 2)), {}, (4, 6)),
        ("LazyLinear", (3,), {}, (4, 6)),
        ("LazyConv2d", (3, 3), {"padding": 1}, (2, 4, 5, 5)),
        ("LazyConv1d", (3, 2), {}, (2, 4, 5)),
        ("LazyConv3d", (3, 2), {}, (2, 4, 3, 3, 3)),
        ("LazyConvTranspose1d", (3, 2), {}, (2, 4, 5)),
        ("LazyConvTranspose2d", (3, 2), {}, (2, 4, 5, 5)),
        ("LazyConvTranspose3d", (3, 2), {}, (2, 4, 3, 3, 3)),
        ("LazyBatchNorm1d", (), {}, (5, 4)),
        ("LazyBatchNorm2d", (), {}, (2, 4, 5, 5)),
        ("LazyBatchNorm3d", (), {"momentum": 0.3}, (2, 4, 3, 3, 3)),
        ("LazyInstanceNorm1d", (), {"track_running_stats": False}, (2, 4, 5)),
        ("LazyInstanceNorm2d", (), {"affine": True, "track_running_stats": False}, (2, 4, 5, 5)),
        ("LazyInstanceNorm3d", (), {"affine": False, "track_running_stats": False}, (2, 4, 3, 3, 3)),
    ]
):

    def make(kind=kind, arguments=arguments, named=named, shape=shape):
        module = getattr(nn, kind)(*arguments, **named)
        if kind.startswith("Lazy"):
            module(torch.ones(shape))
        return module

    add(f"nn.{kind}/more{number}", layer(make, x(*shape)))

add("nn.Bilinear", layer(lambda: nn.Bilinear(3, 4, 2), x(5, 3), x(5, 4)))
add("nn.Embedding", layer(lambda: nn.Embedding(7, 3, padding_idx=2), index(7, 4, 5)))
add("nn.Embedding/max_norm", layer(lambda: nn.Embedding(7, 3, max_norm=0.5), index(7, 4, 5)))
add("nn.Embedding/frequency", layer(lambda: nn.Embedding(7, 3, scale_grad_by_freq=True), index(7, 4, 5)))
add("nn.Embedding/padding_last", layer(lambda: nn.Embedding(7, 3, padding_idx=-1), index(7, 4, 5)))
for mode in ("sum", "mean", "max"):
    add(f"nn.EmbeddingBag/{mode}", layer(lambda m=mode: nn.EmbeddingBag(7, 3, mode=m), index(7, 4, 5)))
    add(
        f"nn.EmbeddingBag/{mode}/offsets",
        layer(
            lambda m=mode: nn.EmbeddingBag(7, 3, mode=m),
            index(7, 9),
            call=lambda module, each: module(each, torch.tensor([0, 3, 3, 7])),
        ),
    )
    add(
        f"nn.EmbeddingBag/{mode}/last_offset",
        layer(
            lambda m=mode: nn.EmbeddingBag(7, 3, mode=m, include_last_offset=True, padding_idx=1),
            index(7, 9),
            call=lambda module, each: module(each, torch.tensor([0, 3, 7, 9])),
        ),
    )
add(
    "nn.EmbeddingBag/weights",
    layer(
        lambda: nn.EmbeddingBag(7, 3, mode="sum"),
        index(7, 4, 5),
        x(4, 5),
        call=lambda module, each, weights: module(each, per_sample_weights=weights),
    ),
)
add("nn.CosineSimilarity", layer(lambda: nn.CosineSimilarity(), x(4, 3), x(4, 3)))
add("nn.CosineSimilarity/0", layer(lambda: nn.CosineSimilarity(0, 0.5), x(4, 3), x(4, 3)))
add("nn.PairwiseDistance", layer(lambda: nn.PairwiseDistance(), x(4, 3), x(4, 3)))
add("nn.PairwiseDistance/3", layer(lambda: nn.PairwiseDistance(3.0, 0.1, True), x(4, 3), x(4, 3)))
for axes, size in (("1d", (2, 3, 8)), ("2d", (2, 3, 6, 5)), ("3d", (1, 2, 4, 4, 4))):
    add(
        f"nn.MaxUnpool{axes}",
        layer(
            lambda a=axes: nn.ModuleList(
                [getattr(nn, f"MaxPool{a}")(2, return_indices=True), getattr(nn, f"MaxUnpool{a}")(2)]
            ),
            x(*size),
            call=lambda pair, each: pair[1](*pair[0](each), output_size=each.shape),
        ),
    )
SAMPLES = torch.tensor([[[0.3, 0.7], [0.1, 0.9]]] * 2), torch.tensor([[[0.3, 0.7, 0.2], [0.1, 0.9, 0.4]]])
add(
    "nn.FractionalMaxPool2d",
    function(
        lambda a: F.fractional_max_pool2d(a, 2, output_size=(3, 2), return_indices=True, _random_samples=SAMPLES[0]),
        x(2, 2, 7, 6),
    ),
)
add(
    "nn.FractionalMaxPool3d",
    function(lambda a: F.fractional_max_pool3d(a, 2, output_ratio=0.5, _random_samples=SAMPLES[1]), x(1, 2, 6, 6, 6)),
)
add("nn.RReLU", layer(lambda: nn.RReLU(0.2, 0.2), x(4, 3)))


def adaptive_softmax(module, hidden, target):
    """Returns the loss, log-probabilities and predictions of an adaptive softmax."""
    output, loss = module(hidden, target)
    return output, loss, module.log_prob(hidden), module.predict(hidden)


add(
    "nn.AdaptiveLogSoftmaxWithLoss",
    layer(
        lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12], div_value=2.0, head_bias=True),
        x(6, 8),
        index(20, 6),
        call=adaptive_softmax,
    ),
)


def containers(rng):
    """Returns the names that containers give their parameters, and what they hold."""
    module = nn.Module()
    module.first = nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ModuleList([nn.ReLU(), nn.Linear(3, 1)])})
    module.second = nn.ParameterList([torch.ones(2), torch.zeros(3)])
    module.third = nn.ParameterDict({"u": torch.ones(1), "v": torch.zeros(2)})
    module.register_buffer("mask", torch.ones(2, dtype=torch.bool), persistent=False)
    names = " ".join(name for name, _ in module.named_modules())
    return [names, " ".join(module.state_dict()), " ".join(dict(module.named_buffers())), len(module.second)]


add("nn.containers", containers)

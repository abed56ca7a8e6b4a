"""Every layer of lm.nn in ONNX, also with a batch size that is known only when the model runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn

from .running import check, compare, run


def x(*shape: int) -> lm.Tensor:
    return lm.randn(shape)


def classes(n: int, count: int) -> lm.Tensor:
    return lm.asarray(np.arange(n) * 7 % count)


def labels(n: int) -> lm.Tensor:
    """Classes of samples, with -1 behind them."""
    return lm.asarray(np.array([[2, 0, -1, -1], [1, -1, -1, -1]])[np.arange(n) % 2])


def signs(n: int) -> lm.Tensor:
    return lm.asarray(np.where(np.arange(n) % 2 == 0, 1.0, -1.0).astype("float32"))


#: Layers, and inputs for a number of samples. None for inputs whose number of samples is part of the model.
Case = tuple[Callable[[], nn.Module], Callable[[int], list[Any]]]
LAYERS: dict[str, list[Case]] = {
    **{
        name: [(lambda name=name: getattr(nn, name)(), lambda n: [x(n, 3)])]
        for name in [
            *(
                "CELU",
                "ELU",
                "GELU",
                "SELU",
                "Hardshrink",
                "Hardsigmoid",
                "Hardswish",
                "Hardtanh",
                "LeakyReLU",
                "RReLU",
            ),
            *("LogSigmoid", "Mish", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softplus", "Softshrink", "Softsign", "Tanh"),
            *("Tanhshrink", "Identity", "AlphaDropout", "Dropout", "FeatureAlphaDropout"),
        ]
    },
    "GLU": [(nn.GLU, lambda n: [x(n, 4)])],
    "Swish": [(nn.Swish, lambda n: [x(n, 3)])],
    "ThresholdedReLU": [(nn.ThresholdedReLU, lambda n: [x(n, 3)])],
    "Softmax2d": [(nn.Softmax2d, lambda n: [x(n, 3, 2, 2)])],
    "Maxout": [(lambda: nn.Maxout(2), lambda n: [x(n, 4, 3)])],
    "PReLU": [(nn.PReLU, lambda n: [x(n, 3)]), (lambda: nn.PReLU(3), lambda n: [x(n, 3, 2)])],
    "Threshold": [(lambda: nn.Threshold(0.1, 2.0), lambda n: [x(n, 3)])],
    "Softmax": [(nn.Softmax, lambda n: [x(n, 3)])],
    "LogSoftmax": [(nn.LogSoftmax, lambda n: [x(n, 3)])],
    "Softmin": [(nn.Softmin, lambda n: [x(n, 3)])],
    "Dropout1d": [(nn.Dropout1d, lambda n: [x(n, 3, 2)])],
    "Dropout2d": [(nn.Dropout2d, lambda n: [x(n, 3, 2, 2)])],
    "Dropout3d": [(nn.Dropout3d, lambda n: [x(n, 3, 1, 2, 2)])],
    "Flatten": [(nn.Flatten, lambda n: [x(n, 3, 2)])],
    "Linear": [
        (lambda: nn.Linear(3, 4), lambda n: [x(n, 3)]),
        (lambda: nn.Linear(3, 4, bias=False), lambda n: [x(n, 2, 3)]),
    ],
    "Bilinear": [(lambda: nn.Bilinear(3, 4, 5), lambda n: [x(n, 3), x(n, 4)])],
    "Unflatten": [(lambda: nn.Unflatten(1, (2, -1)), lambda n: [x(n, 6)])],
    "PairwiseDistance": [(nn.PairwiseDistance, lambda n: [x(n, 3), x(n, 3)])],
    "CosineSimilarity": [(nn.CosineSimilarity, lambda n: [x(n, 3), x(n, 3)])],
    **{
        f"{kind}Pad{axes}d": [
            (
                lambda kind=kind, axes=axes: getattr(nn, f"{kind}Pad{axes}d")(
                    1, *([0.5] if kind == "Constant" else [])
                ),
                lambda n, axes=axes: [x(n, 2, *[4, 3, 5][:axes])],
            )
        ]
        for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
        for axes in (1, 2, 3)
    },
    "Sequential": [(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), lambda n: [x(n, 3)])],
    "Embedding": [(lambda: nn.Embedding(5, 3, padding_idx=1), lambda n: [classes(2 * n, 5).reshape([n, 2])])],
    "EmbeddingBag": [(lambda: nn.EmbeddingBag(5, 3), lambda n: [classes(2 * n, 5).reshape([n, 2])])],
    "Conv1d": [(lambda: nn.Conv1d(2, 4, 3, padding="same"), lambda n: [x(n, 2, 6)])],
    "Conv2d": [(lambda: nn.Conv2d(2, 4, (3, 2), 2, 1, groups=2), lambda n: [x(n, 2, 6, 5)])],
    "Conv3d": [(lambda: nn.Conv3d(2, 3, 2, bias=False), lambda n: [x(n, 2, 3, 4, 3)])],
    "ConvTranspose1d": [(lambda: nn.ConvTranspose1d(2, 4, 3, 2, 1, 1), lambda n: [x(n, 2, 6)])],
    "ConvTranspose2d": [(lambda: nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, groups=2), lambda n: [x(n, 2, 6, 5)])],
    "ConvTranspose3d": [(lambda: nn.ConvTranspose3d(2, 1, 2), lambda n: [x(n, 2, 3, 4, 3)])],
    "MaxUnpool1d": [(lambda: nn.MaxUnpool1d(2), lambda n: [*lm.max_pool1d_with_indices(x(n, 2, 6), 2)])],
    "MaxUnpool2d": [(lambda: nn.MaxUnpool2d(2), lambda n: [*lm.max_pool2d_with_indices(x(n, 2, 6, 4), 2)])],
    "MaxUnpool3d": [(lambda: nn.MaxUnpool3d(2), lambda n: [*lm.max_pool3d_with_indices(x(n, 2, 2, 4, 4), 2)])],
    "MaxPool1d": [(lambda: nn.MaxPool1d(2), lambda n: [x(n, 2, 6)])],
    "MaxPool2d": [(lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), lambda n: [x(n, 2, 6, 5)])],
    "MaxPool3d": [(lambda: nn.MaxPool3d(2), lambda n: [x(n, 2, 4, 4, 5)])],
    "AvgPool1d": [(lambda: nn.AvgPool1d(2, padding=1, count_include_pad=False), lambda n: [x(n, 2, 6)])],
    "AvgPool2d": [(lambda: nn.AvgPool2d(3, divisor_override=4), lambda n: [x(n, 2, 6, 5)])],
    "AvgPool3d": [(lambda: nn.AvgPool3d(2, ceil_mode=True), lambda n: [x(n, 2, 4, 3, 5)])],
    "LPPool1d": [(lambda: nn.LPPool1d(2, 2), lambda n: [x(n, 2, 6)])],
    "LPPool2d": [(lambda: nn.LPPool2d(2, 2, 1), lambda n: [x(n, 2, 6, 5)])],
    "LPPool3d": [(lambda: nn.LPPool3d(4, 2), lambda n: [x(n, 2, 4, 3, 5)])],
    "AdaptiveAvgPool1d": [(lambda: nn.AdaptiveAvgPool1d(4), lambda n: [x(n, 2, 6)])],
    "AdaptiveAvgPool2d": [(lambda: nn.AdaptiveAvgPool2d((1, 2)), lambda n: [x(n, 2, 6, 5)])],
    "AdaptiveAvgPool3d": [(lambda: nn.AdaptiveAvgPool3d(2), lambda n: [x(n, 2, 4, 6, 2)])],
    "AdaptiveMaxPool1d": [(lambda: nn.AdaptiveMaxPool1d(4), lambda n: [x(n, 2, 6)])],
    "AdaptiveMaxPool2d": [(lambda: nn.AdaptiveMaxPool2d(3), lambda n: [x(n, 2, 6, 5)])],
    "AdaptiveMaxPool3d": [(lambda: nn.AdaptiveMaxPool3d(1), lambda n: [x(n, 2, 4, 3, 2)])],
    "BatchNorm1d": [
        (lambda: nn.BatchNorm1d(3), lambda n: [x(n, 3)]),
        (lambda: nn.BatchNorm1d(3), lambda n: [x(n, 3, 2)]),
    ],
    "BatchNorm2d": [(lambda: nn.BatchNorm2d(3, affine=False), lambda n: [x(n, 3, 2, 2)])],
    "BatchNorm3d": [(lambda: nn.BatchNorm3d(3, track_running_stats=False), lambda n: [x(n, 3, 2, 2, 1)])],
    "SyncBatchNorm": [(lambda: nn.SyncBatchNorm(3), lambda n: [x(n, 3, 2)])],
    "GroupNorm": [(lambda: nn.GroupNorm(2, 4), lambda n: [x(n, 4, 3)])],
    "InstanceNorm1d": [(lambda: nn.InstanceNorm1d(3), lambda n: [x(n, 3, 4)])],
    "InstanceNorm2d": [(lambda: nn.InstanceNorm2d(3, affine=True), lambda n: [x(n, 3, 4, 2)])],
    "InstanceNorm3d": [(lambda: nn.InstanceNorm3d(3, track_running_stats=True), lambda n: [x(n, 3, 4, 2, 2)])],
    "LayerNorm": [
        (lambda: nn.LayerNorm(4), lambda n: [x(n, 2, 4)]),
        (lambda: nn.LayerNorm((2, 4)), lambda n: [x(n, 2, 4)]),
    ],
    "RMSNorm": [(lambda: nn.RMSNorm(4), lambda n: [x(n, 2, 4)])],
    "LocalResponseNorm": [(lambda k=k: nn.LocalResponseNorm(k), lambda n: [x(n, 5, 3, 2)]) for k in (2, 3)],
    "Unfold": [(lambda: nn.Unfold((2, 3), 1, 1, 2), lambda n: [x(n, 2, 4, 5)])],
    "Fold": [(lambda: nn.Fold((3, 4), 2, padding=1), lambda n: [x(n, 8, 20)])],
    "PixelShuffle": [(lambda: nn.PixelShuffle(2), lambda n: [x(n, 8, 2, 3)])],
    "PixelUnshuffle": [(lambda: nn.PixelUnshuffle(2), lambda n: [x(n, 2, 4, 6)])],
    "Upsample": [
        (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), lambda n: [x(n, 2, 3, 4)]),
        (lambda: nn.Upsample((5, 7)), lambda n: [x(n, 2, 3, 4)]),
    ],
    "UpsamplingNearest2d": [(lambda: nn.UpsamplingNearest2d(scale_factor=2), lambda n: [x(n, 2, 3, 4)])],
    "UpsamplingBilinear2d": [(lambda: nn.UpsamplingBilinear2d((5, 7)), lambda n: [x(n, 2, 3, 4)])],
    "ChannelShuffle": [(lambda: nn.ChannelShuffle(2), lambda n: [x(n, 4, 3)])],
    "RNN": [
        (lambda: nn.RNN(3, 4, 2, "relu"), lambda n: [x(5, n, 3)]),
        (lambda: nn.RNN(3, 4, bias=False), lambda n: [x(5, n, 3)]),
    ],
    "LSTM": [
        (lambda: nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.3), lambda n: [x(5, n, 3)]),
        (lambda: nn.LSTM(3, 4, batch_first=True), lambda n: [x(n, 5, 3)]),
        (lambda: nn.LSTM(3, 4), lambda n: [x(5, n, 3), (x(1, n, 4), x(1, n, 4))]),
    ],
    "GRU": [(lambda: nn.GRU(3, 4, 2, bidirectional=True, batch_first=True), lambda n: [x(n, 5, 3)])],
    "RNNCell": [
        (lambda: nn.RNNCell(3, 4), lambda n: [x(n, 3)]),
        (lambda: nn.RNNCell(3, 4), lambda n: [x(n, 3), x(n, 4)]),
    ],
    "LSTMCell": [
        (lambda: nn.LSTMCell(3, 4), lambda n: [x(n, 3)]),
        (lambda: nn.LSTMCell(3, 4), lambda n: [x(n, 3), (x(n, 4), x(n, 4))]),
    ],
    "GRUCell": [(lambda: nn.GRUCell(3, 4, bias=False), lambda n: [x(n, 3), x(n, 4)])],
    "MultiheadAttention": [
        (lambda: nn.MultiheadAttention(4, 2, batch_first=True), lambda n: [x(n, 3, 4), x(n, 5, 4), x(n, 5, 4)]),
        (
            lambda: nn.MultiheadAttention(4, 2, batch_first=True),
            lambda n: [x(n, 3, 4), x(n, 3, 4), x(n, 3, 4), classes(3 * n, 3).reshape([n, 3]) == 1],
        ),
    ],
    "TransformerEncoderLayer": [
        (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), lambda n: [x(n, 3, 4)])
    ],
    "TransformerDecoderLayer": [
        (
            lambda: nn.TransformerDecoderLayer(4, 2, 8, batch_first=True, norm_first=True, activation="gelu"),
            lambda n: [x(n, 3, 4), x(n, 5, 4)],
        )
    ],
    "TransformerEncoder": [
        (
            lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, nn.LayerNorm(4)),
            lambda n: [x(n, 3, 4)],
        )
    ],
    "TransformerDecoder": [
        (
            lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, batch_first=True), 1),
            lambda n: [x(n, 3, 4), x(n, 5, 4)],
        )
    ],
    "Transformer": [(lambda: nn.Transformer(4, 2, 1, 1, 8, batch_first=True), lambda n: [x(n, 3, 4), x(n, 2, 4)])],
    "BCELoss": [(nn.BCELoss, lambda n: [lm.sigmoid(x(n, 3)), lm.rand([n, 3])])],
    "BCEWithLogitsLoss": [(nn.BCEWithLogitsLoss, lambda n: [x(n, 3), lm.rand([n, 3])])],
    "CosineEmbeddingLoss": [(nn.CosineEmbeddingLoss, lambda n: [x(n, 3), x(n, 3), signs(n)])],
    "CrossEntropyLoss": [(lambda: nn.CrossEntropyLoss(label_smoothing=0.1), lambda n: [x(n, 4), classes(n, 4)])],
    "CTCLoss": [
        (
            nn.CTCLoss,
            lambda n: [x(5, n, 4), classes(2 * n, 3).reshape([n, 2]) + 1, classes(n, 1) + 5, classes(n, 2) + 1],
        )
    ],
    "GaussianNLLLoss": [(nn.GaussianNLLLoss, lambda n: [x(n, 3), x(n, 3), lm.rand([n, 3]) + 0.1])],
    "HingeEmbeddingLoss": [(nn.HingeEmbeddingLoss, lambda n: [x(n), signs(n)])],
    "HuberLoss": [(nn.HuberLoss, lambda n: [x(n, 3), x(n, 3)])],
    "KLDivLoss": [(lambda: nn.KLDivLoss(reduction="batchmean"), lambda n: [x(n, 3), lm.rand([n, 3])])],
    "L1Loss": [(nn.L1Loss, lambda n: [x(n, 3), x(n, 3)])],
    "MarginRankingLoss": [(nn.MarginRankingLoss, lambda n: [x(n), x(n), signs(n)])],
    "MSELoss": [(nn.MSELoss, lambda n: [x(n, 3), x(n, 3)])],
    "MultiLabelMarginLoss": [(nn.MultiLabelMarginLoss, lambda n: [x(n, 4), labels(n)])],
    "MultiLabelSoftMarginLoss": [(nn.MultiLabelSoftMarginLoss, lambda n: [x(n, 4), classes(4 * n, 2).reshape([n, 4])])],
    "MultiMarginLoss": [(nn.MultiMarginLoss, lambda n: [x(n, 4), classes(n, 4)])],
    "NLLLoss": [(nn.NLLLoss, lambda n: [x(n, 4), classes(n, 4)])],
    "PoissonNLLLoss": [(nn.PoissonNLLLoss, lambda n: [x(n, 3), lm.rand([n, 3])])],
    "SmoothL1Loss": [(nn.SmoothL1Loss, lambda n: [x(n, 3), x(n, 3)])],
    "SoftMarginLoss": [(nn.SoftMarginLoss, lambda n: [x(n), signs(n)])],
    "TripletMarginLoss": [(nn.TripletMarginLoss, lambda n: [x(n, 3), x(n, 3), x(n, 3)])],
    "TripletMarginWithDistanceLoss": [(nn.TripletMarginWithDistanceLoss, lambda n: [x(n, 3), x(n, 3), x(n, 3)])],
}
#: Windows at random places, which the model draws itself.
RANDOM: dict[str, Case] = {
    "FractionalMaxPool2d": (lambda: nn.FractionalMaxPool2d(2, 3), lambda n: [x(n, 2, 6, 6)]),
    "FractionalMaxPool3d": (lambda: nn.FractionalMaxPool3d(2, 2), lambda n: [x(n, 2, 4, 4, 4)]),
}
#: Bases and containers, which compute nothing.
NO_LAYERS = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
#: Layers of whose operators the targets decide which run.
BY_VALUES = {"AdaptiveLogSoftmaxWithLoss"}
#: The axis of samples, where it is not the first.
SEQUENCES_FIRST = {"RNN", "LSTM", "CTCLoss"}


def cases() -> list[Any]:
    return [pytest.param(name, *case, id=f"{name}-{i}") for name, each in LAYERS.items() for i, case in enumerate(each)]


def flat(inputs: list[Any]) -> list[lm.Tensor]:
    return [t for item in inputs for t in (item if isinstance(item, tuple) else (item,))]


def axes_of(name: str, small: list[lm.Tensor], large: list[lm.Tensor]) -> dict[str, dict[int, str]]:
    """The axes that differ between two numbers of samples."""
    return {
        f"x{i}": {axis: "n" for axis, (m, n) in enumerate(zip(a.shape, b.shape, strict=True)) if m != n}
        for i, (a, b) in enumerate(zip(small, large, strict=True))
    }


@pytest.mark.parametrize(("name", "make", "inputs"), cases())
def test_layer(name: str, make: Callable[[], nn.Module], inputs: Callable[[int], list[Any]]) -> None:
    layer = make()
    layer.train()
    given = inputs(4)
    names = [f"x{i}" for i in range(len(flat(given)))]
    model = lm.onnx.export(layer, tuple(given), input_names=names)
    assert layer.training and all(child.training for child in layer.modules())
    layer.eval()
    compare(lambda *_: layer(*given), flat(given), model)
    stored = {x.name for x in model.graph.initializer}
    assert {key for key, _ in layer.named_parameters()} <= stored

    axes = axes_of(name, flat(given), flat(inputs(3)))
    dynamic = lm.onnx.export(layer, tuple(given), input_names=names, dynamic_axes=axes)
    for n in (4, 1, 6):
        if n == 1 and name == "BatchNorm3d":
            continue  # the variance of one element per channel
        again = inputs(n)
        compare(lambda *_, again=again: layer(*again), flat(again), dynamic)


@pytest.mark.parametrize("name", RANDOM)
def test_layers_that_draw(name: str) -> None:
    make, inputs = RANDOM[name]
    [given] = inputs(2)
    [got] = run(lm.onnx.export(make(), (given,)), [given])
    assert got.shape == make()(given).shape
    assert np.isin(got, given.numpy()).all()


@pytest.mark.parametrize("axes", [2, 3])
def test_windows_at_given_places(axes: int) -> None:
    function = getattr(lm, f"fractional_max_pool{axes}d")
    check(lambda a, s: function(a, 2, 3, random_samples=s), [x(2, 2, *[6] * axes), lm.rand([2, 2, axes])])


def test_every_layer_is_in_a_list() -> None:
    kinds = {name: getattr(nn, name) for name in nn.__all__ if isinstance(getattr(nn, name), type)}
    # Lazy layers are others of this list from their first call on.
    layers = {name for name, kind in kinds.items() if issubclass(kind, nn.Module) and not kind._lazy}
    assert layers == {*LAYERS, *RANDOM, *NO_LAYERS, *BY_VALUES}


def test_sequences_of_any_length() -> None:
    lstm = nn.LSTM(3, 4, batch_first=True)
    model = lm.onnx.export(lstm, (x(2, 5, 3),), dynamic_axes={"x": {0: "n", 1: "steps"}})
    for n, steps in ((2, 5), (1, 1), (3, 9)):
        given = x(n, steps, 3)
        compare(lambda t: lstm(t), [given], model)

    attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def attend(q: lm.Tensor) -> lm.Tensor:
        return attention(q, q, q, is_causal=True)[0]

    model = lm.onnx.export(attend, (x(2, 5, 4),), dynamic_axes={"q": [0, 1]})
    for n, steps in ((2, 5), (1, 1), (3, 9)):
        compare(attend, [x(n, steps, 4)], model)


def test_attention_weights() -> None:
    attention = nn.MultiheadAttention(4, 2)
    check(lambda q, k: attention(q, k, k, need_weights=True), [x(3, 2, 4), x(5, 2, 4)])

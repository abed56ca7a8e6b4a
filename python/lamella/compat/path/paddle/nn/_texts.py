"""Texts of printed layers: the settings that Paddle shows of each kind, in its order and in its words."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

#: Settings by kinds. A setting alone is written ``word=value``; with ``=`` in front only its value; with ``?`` behind
#: only where it is not the usual one; ``*`` makes it a list with an element for each axis, ``**`` two for each axis,
#: ``[]`` a list of whatever length. After ``<`` stands what the setting is called where it is given.
_LINES = """
Linear: in_features out_features dtype
Bilinear: in1_features in2_features out_features dtype
Conv: =in_channels =out_channels kernel_size* stride*? padding? padding_mode? output_padding? dilation*? groups? \
data_format
BatchNorm1D BatchNorm3D: num_features momentum epsilon data_format
BatchNorm2D SyncBatchNorm: num_features momentum epsilon data_format?
InstanceNorm1D InstanceNorm2D InstanceNorm3D: num_features epsilon
GroupNorm: num_groups num_channels epsilon
LayerNorm: normalized_shape[] epsilon
LocalResponseNorm: size alpha beta k data_format?
Dropout: p axis mode name? inplace
Dropout2D Dropout3D: p data_format
AlphaDropout FeatureAlphaDropout: p name?
Embedding: =num_embeddings =embedding_dim padding_idx? sparse scale_grad_by_freq
PReLU: num_parameters data_format init dtype
RReLU: lower upper training dtype
GELU: approximate
Silu: inplace
Hardtanh: min max
Softshrink: threshold
Softmax: axis
Unflatten: axis shape
MaxPool1D MaxPool2D MaxPool3D AvgPool1D AvgPool2D AvgPool3D: kernel_size stride padding
AdaptiveAvgPool2D AdaptiveAvgPool3D: output_size
MaxUnPool1D MaxUnPool2D MaxUnPool3D: output_size
LPPool1D LPPool2D: norm_type kernel_size stride padding
FractionalMaxPool2D FractionalMaxPool3D: output_size return_mask
Upsample: size? scale_factor? mode align_corners align_mode data_format
UpsamplingNearest2D UpsamplingBilinear2D: size? scale_factor? data_format
PixelShuffle: upscale_factor data_format?
PixelUnshuffle: downscale_factor data_format?
ChannelShuffle: groups data_format?
Unfold Fold: kernel_size<kernel_sizes dilation<dilations padding<paddings stride<strides
PairwiseDistance: p epsilon? keepdim?
SimpleRNNCell: =input_size =hidden_size activation?
LSTMCell GRUCell: =input_size =hidden_size
Pad: padding** mode value data_format
Hardsigmoid Hardswish Identity LogSigmoid Mish ReLU ReLU6 Sigmoid Softsign Swish Tanh Tanhshrink:
"""
#: Kinds that show nothing.
_SILENT = """
BCELoss BCEWithLogitsLoss BatchNorm CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss
KLDivLoss
L1Loss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss RNNTLoss
SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss ParameterDict ParameterList
"""
_AXES = re.compile(r"(\d)[Dd]")
_MODES = {"Circular": "circular", "Constant": "constant", "Reflection": "reflect", "Replication": "replicate"}
_RECURRENT = ("GRU", "LSTM", "SimpleRNN")


def _table() -> dict[str, list[str] | None]:
    table: dict[str, list[str] | None] = dict.fromkeys(_SILENT.split())
    for line in _LINES.strip().splitlines():
        kinds, _, words = line.partition(":")
        table.update((kind, words.split()) for kind in kinds.split())
    return table


_TABLE = _table()


def _line(kind: str) -> list[str] | None:
    """Returns the settings that a kind shows, None for one that shows no name either, [] for one that is not known."""
    for family in ("Conv", "Pad"):
        if re.fullmatch(rf"(Circular|Constant|Reflection|Replication|Zero)?{family}\d[Dd](Transpose)?", kind):
            return _TABLE[family]
    return _TABLE.get(kind, [])


def knows(kind: str) -> bool:
    """True if layers of a kind show what is written here."""
    return kind in _TABLE or bool(_line(kind)) or kind in _RECURRENT


def _listed(value: Any, length: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * length


class _Shown:
    """The settings of a layer: of the kind whose constructor took them."""

    def __init__(self, layer: Any, kind: str, given: dict[str, Any], usual: dict[str, Any]) -> None:
        self.layer, self.kind, self.given, self.usual = layer, kind, given, usual
        found = _AXES.search(kind)
        self.axes_are_told = found is not None
        self.axes = int(found[1]) if found else 1

    def value(self, word: str) -> Any:
        """Returns a setting as it is now, or as it was given."""
        if word == "dtype":
            return self.layer._dtype
        if word == "training":
            return self.layer.training
        if word == "mode" and word not in self.given:
            return next((mode for start, mode in _MODES.items() if self.kind.startswith(start)), "constant")
        if word == "value" and "Pad" in self.kind:
            return float(self.given.get(word, 0.0))
        now = self.layer.__dict__.get(word)
        value = now if isinstance(now, (bool, int, float, str)) else self.given.get(word)
        if word == "data_format" and self.kind.startswith("Upsampling"):
            return value or "NCHW"
        if word == "data_format" and value == "NCHW":
            return ("NCL", "NCHW", "NCDHW")[self.axes - 1] if self.axes_are_told else value
        if value is None and word == "stride" and self.kind == "LPPool2D":
            return self.given["kernel_size"]
        return value

    def text(self, token: str) -> str:
        """Returns a setting's text, "" for one that is not shown."""
        shown, _, given = token.strip("=?*[]").partition("<")
        value = self.value(given or shown)
        if "?" in token and (value is None or value == self.usual.get(shown)):
            return ""
        if "*" in token:
            value = _listed(value, self.axes * token.count("*"))
        elif "[]" in token:
            value = _listed(value, 1)
        return str(value) if token.startswith("=") else f"{shown}={value}"

    def line(self) -> str:
        """Returns the texts of all settings, and of the name that the layer may have been given."""
        tokens = _line(self.kind)
        if tokens is None:
            return ""
        texts = [self.text(token) for token in tokens]
        if self.given.get("name") is not None and "name?" not in tokens:
            texts.append(f"name={self.given['name']}")
        return ", ".join(filter(None, texts))


def _cells(layer: Any, kind: str, given: dict[str, Any], usual: dict[str, Any]) -> str:
    """Returns the text of a recurrent network: its settings, then the cells of its layers."""
    words = [str(given["input_size"]), str(given["hidden_size"])]
    words += [f"{word}={given[word]}" for word in ("num_layers", "time_major", "dropout") if given[word] != usual[word]]
    activation = given.get("activation", "tanh")
    both = given["direction"] in ("bidirect", "bidirectional")
    lines, inside = [f"{type(layer).__name__}({', '.join(words)}"], given["input_size"]
    for index in range(given["num_layers"]):
        cell = f"{kind}Cell({inside}, {given['hidden_size']}{f', activation={activation}' * (activation != 'tanh')})"
        names = ("cell_fw", "cell_bw") if both else ("cell",)
        lines += [f"  ({index}): {'BiRNN' if both else 'RNN'}(", *(f"    ({name}): {cell}" for name in names), "  )"]
        inside = given["hidden_size"] * len(names)
    return "\n".join([*lines, ")"])


def dress(kind: str, layer: Any) -> Any:
    """Has a class of layers remember what its layers are made with, and show it as Paddle does; returns the class."""
    if not knows(kind) or "_shows" in layer.__dict__:
        return layer
    layer._shows = kind
    construct: Callable[..., None] = layer.__init__
    signature = inspect.signature(construct)
    usual = {name: each.default for name, each in signature.parameters.items()}

    @functools.wraps(construct)
    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        construct(self, *args, **named)
        bound = signature.bind(self, *args, **named)
        bound.apply_defaults()
        given = dict(bound.arguments) | next((x for x in bound.arguments.values() if isinstance(x, dict)), {})
        kept = (bool, int, float, str, list, tuple)
        self.__dict__["_made_with"] = {word: value for word, value in given.items() if isinstance(value, kept)}

    layer.__init__ = __init__
    if kind in _RECURRENT:
        layer.__repr__ = lambda self: _cells(self, kind, self.__dict__["_made_with"], usual)
    else:
        layer.extra_repr = lambda self: _Shown(self, kind, self.__dict__.get("_made_with", {}), usual).line()
    return layer

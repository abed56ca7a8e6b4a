"""Names of the graph's nodes in PyTorch's manner, of those, too, that Lamella composes of other operations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

_native_grad_fn: Any = Tensor.__dict__["grad_fn"]
_native_node_name: Any = lm.autograd.Node.__dict__["name"]
_native_next: Any = lm.autograd.Node.__dict__["next_functions"]
#: What nodes are called.
Names = dict[str, str] | str | None
#: Under which a node remembers what PyTorch calls it.
_KEY = "torch.name"

#: What PyTorch calls the operators whose nodes have other names here.
_NODES = {
    "concat": "CatBackward0",
    "divide": "DivBackward0",
    "clip_between": "ClampBackward1",
    "conv1d": "ConvolutionBackward0",
    "conv2d": "ConvolutionBackward0",
    "conv3d": "ConvolutionBackward0",
    "cumulative_prod": "CumprodBackward0",
    "cumulative_sum": "CumsumBackward0",
    "gelu_erf": "GeluBackward0",
    "gelu_tanh": "GeluBackward0",
    "index": "IndexBackward0",
    "pick": "IndexBackward0",
    "power_norm": "LinalgVectorNormBackward0",
    "linear": "AddmmBackward0",
    "masked_scale": "MulBackward0",
    "matmul": "MmBackward0",
    "multiply": "MulBackward0",
    "negative": "NegBackward0",
    "max_pool2d": "MaxPool2DWithIndicesBackward0",
    "avg_pool2d": "AvgPool2DBackward0",
    "overwrite": "CopySlices",
    "permute_dims": "PermuteBackward0",
    "broadcast_to": "ExpandBackward0",
    "cast": "ToCopyBackward0",
    "reshape": "ViewBackward0",
    "pad": "ConstantPadNdBackward0",
    "sliding_window": "UnfoldBackward0",
    "smooth_l1": "SmoothL1LossBackward0",
    "subtract": "SubBackward0",
}

#: Nodes whose name follows from the only one that they hand gradients to: results that were computed in another shape.
_RESHAPED = {
    "batch_norm": "NativeBatchNormBackward0",
    "gather_rows": "EmbeddingBackward0",
    "group_norm": "NativeGroupNormBackward0",
    "layer_norm": "NativeLayerNormBackward0",
}

#: Those of :data:`COMPOSED` that have the same names along an axis.
_ANYWHERE: dict[str, Names] = {
    "sort": {"gather": "SortBackward0"},
    "topk": {"pick_along": "TopkBackward0"},
    "binary_cross_entropy": "BinaryCrossEntropyBackward0",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0",
    "huber_loss": "HuberLossBackward0",
    "mse_loss": "MseLossBackward0",
    "smooth_l1_loss": "SmoothL1LossBackward0",
    "soft_margin_loss": "SoftMarginLossBackward0",
    **{
        f"{name}_loss": {"divide": "MeanBackward0"}
        for name in ("cosine_embedding", "ctc", "hinge_embedding", "l1", "margin_ranking", "triplet_margin")
    },
}

#: By functions, what PyTorch calls the node of a result: by the name of the operation that made it, or for all; None
#: leaves it. The second one is for calls along an axis. To note a name takes a microsecond or three: these are
#: functions that a step calls once, or that take long.
COMPOSED: dict[str, tuple[Names, Names]] = {
    "max": ({"max": "MaxBackward1"}, {"reshape": "MaxBackward0"}),
    "min": ({"min": "MinBackward1"}, {"reshape": "MinBackward0"}),
    "mean": ({"divide": "MeanBackward0"}, None),
    **{name: (names, names) for name, names in _ANYWHERE.items()},
}


def node_name(name: str) -> str:
    """Returns the name of a node of the graph in PyTorch's manner."""
    if name == "AccumulateGrad":
        return name
    if name[:1].isupper():  # a class of the program's
        return f"{name}Backward"
    known = _NODES.get(name)
    return known or "".join(part.capitalize() for part in name.split("_")) + "Backward0"


def shown(node: Any) -> str:
    """Returns what PyTorch calls a node of the graph."""
    noted: str | None = node.metadata.get(_KEY)
    if noted is not None:
        return noted
    name = _native_node_name.__get__(node)
    if name == "reshape" and (inner := _native_next.__get__(node)[0][0]) is not None:
        name = _native_node_name.__get__(inner)
        return _RESHAPED.get(name, _NODES["reshape"])
    return node_name(name)


def note(made: Any, names: Names) -> None:
    """Has the node of a result go by PyTorch's name, where the operation that made it is one of those named."""
    made = made[0] if isinstance(made, tuple) else made
    if names is None or not isinstance(made, Tensor) or not made.requires_grad or lm._C._recorder() is not None:
        return
    node = _native_grad_fn.__get__(made)
    name = None if node is None else names if isinstance(names, str) else names.get(_native_node_name.__get__(node))
    if name is not None:
        node.metadata.setdefault(_KEY, name)


def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of :data:`COMPOSED`, whose results' nodes go by PyTorch's names."""
    plain, along = COMPOSED[name]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if plain is along or not (len(args) > 1 or "dim" in kwargs or "axis" in kwargs):
            note(made, plain)
        else:
            note(made, along)
        return made

    return call

"""Rules of convolutions, by batch and by channels, and of pooling and other operators on images."""

from __future__ import annotations

from ._letters import letters
from .axes import _spec
from .call import Call
from .registry import rule
from .spec import UNKNOWN, Spec

_POOLS = ("max_pool", "avg_pool", "lp_pool", "adaptive_avg_pool", "adaptive_max_pool")
_WITH_INDICES = frozenset(f"{name}{d}d_with_indices" for name in _POOLS if "max" in name for d in (1, 2, 3))
#: Operators on images, by the number of their last axes; None for all but the batch and the channels.
_IMAGES: dict[str, int | None] = {
    **{f"{name}{d}d": d for name in _POOLS for d in (1, 2, 3)},
    **{name: int(name[-len("1d_with_indices")]) for name in _WITH_INDICES},
    **dict.fromkeys(("interpolate", "dropout1d", "dropout2d", "dropout3d", "instance_norm"), None),
}


def _convolution(call: Call, transposed: bool) -> Spec | None:
    shapes, groups = call.shapes, call.arguments.get("groups", 1)
    spatial = len(shapes[1]) - 2
    if len(shapes[0]) != spatial + 2:
        return None  # one image without a batch
    rest, kernel = UNKNOWN * spatial, UNKNOWN * spatial
    weight = ("co" if transposed else "oc") + kernel
    bias = ["o"] if len(shapes) > 2 else []
    image, result = "nc" + rest, "no" + rest
    added = frozenset([2] if bias else [])
    return Spec(
        (image, weight, *bias),
        (result,),
        fixed="" if groups == 1 else "oc",
        partial={"c": "sum"},
        linear=(frozenset([0, *added]), frozenset([1, *added])),
        added=added,
    )


@rule("conv1d", "conv2d", "conv3d")
def convolution(call: Call) -> Spec | None:
    """Splits the batch, the channels of the result, and those of the image into partial sums."""
    return _convolution(call, transposed=False)


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed_convolution(call: Call) -> Spec | None:
    """Splits as a convolution does."""
    return _convolution(call, transposed=True)


@rule(*(name for name in _IMAGES if name != "instance_norm"))
def image(call: Call) -> Spec:
    """Splits the batch and the channels."""
    last = _IMAGES[call.name]
    before = 2 if last is None else call.tensors[0].ndim - last
    return _spec(call, [0], range(before), linear=call.name.startswith(("avg_pool", "adaptive_avg")))


@rule("grid_sample")
def grid_sample(call: Call) -> Spec:
    """Splits the batch, and the channels of the image."""
    rest = UNKNOWN * (call.tensors[0].ndim - 2)
    return Spec(("nc" + rest, "n" + rest + UNKNOWN), ("nc" + rest,), linear=(frozenset([0]),))


@rule("unfold", "fold", "local_response_norm")
def by_batch(call: Call) -> Spec:
    """Splits the batch."""
    return _spec(call, [0], range(1 if call.tensors[0].ndim > 2 else 0))


@rule("pad")
def pad(call: Call) -> Spec:
    """Splits axes that are not padded."""
    ndim, given = call.tensors[0].ndim, call.arguments["pad"]
    widths = [given] * (2 * ndim) if isinstance(given, int) else list(given)
    padded = {ndim - 1 - k for k in range(len(widths) // 2) if widths[2 * k] or widths[2 * k + 1]}
    zeros = call.arguments.get("mode", "constant") == "constant" and not call.arguments.get("value")
    labels = letters(ndim)
    result = "".join(UNKNOWN if k in padded else label for k, label in enumerate(labels))
    return Spec((result,), (result,), linear=(frozenset([0]),) if zeros else ())

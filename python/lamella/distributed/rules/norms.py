"""Rules of normalization."""

from __future__ import annotations

from ._letters import letters
from .call import Call
from .registry import rule
from .spec import UNKNOWN, Spec


@rule("layer_norm", "rms_norm")
def layer_norm(call: Call) -> Spec:
    """Splits the axes before those that are normalized."""
    shape = call.arguments["normalized_shape"]
    last = 1 if isinstance(shape, int) else len(shape)
    labels = letters(call.tensors[0].ndim - last) + UNKNOWN * last
    return Spec((labels, *(UNKNOWN * last for _ in call.tensors[1:])), (labels,))


@rule("group_norm")
def group_norm(call: Call) -> Spec:
    """Splits the batch."""
    labels = "n" + UNKNOWN * (call.tensors[0].ndim - 1)
    return Spec((labels, *(UNKNOWN for _ in call.tensors[1:])), (labels,))


@rule("batch_norm", "instance_norm")
def channel_norm(call: Call) -> Spec | None:
    """Splits the channels with all that belongs to them; the batch where its statistics are not taken."""
    ndim = call.tensors[0].ndim
    if ndim < 2 or (call.name == "instance_norm" and ndim < 3):
        return None
    labels = "nc" + UNKNOWN * (ndim - 2)
    if call.name == "batch_norm":
        taken = call.arguments.get("training") or call.arguments.get("running_mean") is None
    else:
        # Running statistics are means over the batch.
        taken = call.arguments.get("running_mean") is not None and call.arguments.get("use_input_stats", True)
    return Spec((labels, *("c" for _ in call.tensors[1:])), (labels,), fixed="n" if taken else "")


@rule("prelu")
def prelu(call: Call) -> Spec:
    """Splits the channels with their slopes, and any other axis."""
    labels = letters(call.tensors[0].ndim)
    slopes = labels[1] if len(labels) > 1 and call.shapes[1] != (1,) else UNKNOWN * call.tensors[1].ndim
    return Spec((labels, slopes), (labels,))

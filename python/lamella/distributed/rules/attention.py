"""Rule of attention."""

from __future__ import annotations

from ._letters import letters
from .call import Call
from .registry import rule
from .spec import UNKNOWN, Spec


@rule("scaled_dot_product_attention")
def attention(call: Call) -> Spec | None:
    """Splits the batch and the heads, and the queries where none of them looks at its place.

    Heads over processes are those of Megatron-LM (M. Shoeybi et al., arXiv:1909.08053, section 3). Where queries share
    keys in groups, heads are split where each process gets whole groups.
    """
    query, key = call.shapes[:2]
    if len(query) != len(key) or len(query) < 3:
        return None
    batch = letters(len(query) - 2, beside="qkdv")
    grouped = bool(call.arguments.get("enable_gqa"))
    if query[:-2] != key[:-2] and not (grouped and query[:-3] == key[:-3]):
        return None
    causal = bool(call.arguments.get("is_causal"))
    inputs = [batch + "qd", batch + "kd", batch + "kv"]
    result = batch + "qv"
    if len(call.tensors) > 3:
        mask = call.shapes[3]
        own = (batch + "qk")[len(query) - len(mask) :]
        whole = (*query[:-1], key[-2])[len(query) - len(mask) :]
        inputs.append("".join(x if a == b else UNKNOWN for x, a, b in zip(own, mask, whole, strict=True)))
    return Spec(
        tuple(inputs),
        (result,),
        fixed="kd" + ("q" if causal else ""),
        even=batch[-1] if query[:-2] != key[:-2] else "",
    )

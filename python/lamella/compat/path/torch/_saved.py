"""Tensors and numbers that nodes of the graph keep for backward, under PyTorch's names: ``y.grad_fn._saved_result``."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

_native_saved: Any = lm.autograd.Node.__dict__["saved_tensors"]

#: Operators by the names of what they keep, in that order; "-" is what PyTorch's nodes do not have.
_OPERATORS = {
    "self": (
        "abs acos acosh asin asinh atan atanh cos cosh digamma erf erfc gelu_erf gelu_tanh hardsigmoid hardswish "
        "lgamma log log10 log1p log2 log_sigmoid mish silu sin sinh var"
    ),
    "result": "exp log_softmax reciprocal relu rsqrt softmax sqrt",
    "- result": "sigmoid tanh",
    "self result": "cumulative_prod logsumexp max min power_norm std",
    "self other": "atan2 maximum minimum multiply",
    "input weight": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "index": "add_picks gather scatter scatter_add",
    "indices": "pick_along",
    "mat1 mat2": "linear",
    "query key value output": "scaled_dot_product_attention",
    "result1": "max_pool2d",
    "self min max": "clip_between",
    "other": "divide",
    "self alpha": "elu",
    "self min_val max_val": "hardtanh",
    "self negative_slope": "leaky_relu",
    "self mat2": "matmul",
    "self target beta": "smooth_l1",
    "tensor1 tensor2 value": "addcmul",
    "self end weight": "lerp",
    "x1 x2 result": "cdist",
    "self exponent result": "pow",
    "self beta threshold": "softplus",
    "condition": "where",
}
_NAMES = {operator: kept.split() for kept, operators in _OPERATORS.items() for operator in operators.split()}
#: Names of numbers, which are kept as tensors without axes.
_NUMBERS = {
    *("alpha", "beta", "exponent", "max", "max_val", "min", "min_val"),
    *("negative_slope", "threshold", "value", "weight"),
}
#: What an operator keeps only where a gradient of one of these operands is wanted.
_FOR: dict[str, dict[str, tuple[int, ...]]] = {
    "multiply": {"self": (1,), "other": (0,)},
    "addcmul": {"tensor1": (2,), "tensor2": (1,), "value": (1, 2)},
    "lerp": {"self": (2,), "end": (2,), "weight": (0, 1)},
}


def _kept_names(node: Any) -> list[str]:
    operation = str(node.name)
    wanted = [edge[0] is not None for edge in node.next_functions]
    rules = _FOR.get(operation, {})
    return [n for n in _NAMES[operation] if n not in rules or any(wanted[i] for i in rules[n] if i < len(wanted))]


def _value(self: Any, name: str) -> Any:
    kept, names = _native_saved.__get__(self), _kept_names(self)
    if not kept and names:
        raise RuntimeError(
            f"[{self.name()}] _saved_{name} was freed, as all that a graph keeps is by backward() or grad(): "
            "pass retain_graph=True to look at it, or to go back through the graph a second time"
        )
    if name not in names or names.index(name) >= len(kept):
        return None
    found = kept[names.index(name)]
    if name == "mat2" and str(self.name) == "linear":
        return found.mT  # PyTorch multiplies by the transposed weight, ours by the weight
    if found is None or name not in _NUMBERS or found.ndim != 0:
        return found
    number = found.item()
    if isinstance(number, float) and found.dtype == lm.float32:
        import numpy

        number = float(str(numpy.float32(number)))  # the number that was rounded to the tensor
    return None if math.isinf(number) and name in ("max", "min") else number


def _attribute(name: str) -> property:
    return property(lambda self: _value(self, name), doc="What the operation keeps for backward.")


def attributes_of(operation: str) -> dict[str, property]:
    """Returns the attributes of the nodes of an operation that show what they keep."""
    return {f"_saved_{name}": _attribute(name) for name in _NAMES.get(operation, []) if name != "-"}

"""Activations."""

from __future__ import annotations

import math
from typing import Any

import lamella as lm

from .._builder import Value, axis_of, cast, current, op, range_value, size, slice_axis, where
from .._registry import builtin
from ._pointwise import direct, expm1, is_float, log1p, pointwise
from .arithmetic import maximum_of, minimum_of

direct({"softsign": "Softsign", "hardswish": "HardSwish"})


@pointwise("relu")
def relu(x: Value) -> Value:
    """0 for negative numbers."""
    return op("Relu", x) if is_float(x) else op("Max", x, 0)


@pointwise("relu6")
def relu6(x: Value) -> Value:
    """Between 0 and 6."""
    return op("Clip", x, 0, 6)


@pointwise("gelu_erf")
def gelu_erf(x: Value) -> Value:
    """``x Φ(x)``."""
    return 0.5 * x * (op("Erf", x * math.sqrt(0.5)) + 1.0)


@pointwise("gelu_tanh")
def gelu_tanh(x: Value) -> Value:
    """``x Φ(x)``, approximated by tanh."""
    inner = (x + 0.044715 * (x * x * x)) * math.sqrt(2.0 / math.pi)
    return 0.5 * x * (op("Tanh", inner) + 1.0)


@pointwise("gelu")
def gelu(x: Value, approximate: str = "none") -> Value:
    """``x Φ(x)``."""
    return gelu_tanh(x) if approximate == "tanh" else gelu_erf(x)


@pointwise("leaky_relu")
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Value:
    """A small slope for negative numbers."""
    if isinstance(negative_slope, Value) or not isinstance(x, Value):
        x = x if isinstance(x, Value) else cast(x, negative_slope.dtype)
        return op("Where", x > 0.0, x, x * negative_slope)
    return op("LeakyRelu", x, alpha=float(negative_slope))


@builtin("prelu")
def prelu(x: Value, weight: Value) -> Value:
    """A slope of each channel's own for negative numbers."""
    weight = cast(weight, x.dtype)
    if weight.ndim == 1 and x.ndim > 2 and weight.shape[0] != 1:
        weight = op("Reshape", weight, [-1] + [1] * (x.ndim - 2))
    return op("PRelu", x, weight)


@pointwise("elu")
def elu(x: Any, alpha: Any = 1.0) -> Value:
    """``alpha (exp(x) - 1)`` for negative numbers."""
    x = x if isinstance(x, Value) else cast(x, alpha.dtype)
    return op("Where", x > 0.0, x, op("Mul", alpha, expm1(op("Min", x, 0.0))))


@pointwise("selu")
def selu(x: Value) -> Value:
    """The scaled elu."""
    return 1.0507009873554804934 * op("Where", x > 0.0, x, 1.6732632423543772848 * expm1(op("Min", x, 0.0)))


@pointwise("celu")
def celu(x: Any, alpha: Any = 1.0) -> Value:
    """``alpha (exp(x / alpha) - 1)`` for negative numbers."""
    x = x if isinstance(x, Value) else cast(x, alpha.dtype)
    return op("Where", x > 0.0, x, op("Mul", alpha, expm1(op("Min", x, 0.0) / alpha)))


@pointwise("hardshrink")
def hardshrink(x: Any, lambd: Any = 0.5) -> Value:
    """0 between the bounds."""
    x = x if isinstance(x, Value) else cast(x, lambd.dtype)
    limit = cast(lambd, x.dtype)
    return where(op("And", x >= -limit, x <= limit), 0.0, x)


@pointwise("softshrink")
def softshrink(x: Any, lambd: Any = 0.5) -> Value:
    """Nearer to 0 by ``lambd``."""
    x = x if isinstance(x, Value) else cast(x, lambd.dtype)
    limit = cast(lambd, x.dtype)
    return op("Where", x > limit, x - limit, op("Where", x < -limit, x + limit, x * 0.0))


@pointwise("tanhshrink")
def tanhshrink(x: Value) -> Value:
    """``x - tanh(x)``."""
    return x - op("Tanh", x)


@pointwise("silu")
def silu(x: Value) -> Value:
    """``x sigmoid(x)``."""
    return x * op("Sigmoid", x)


def softplus_of(x: Value) -> Value:
    """Returns ``log(1 + exp(x))``."""
    return op("Max", x, 0.0) + log1p(op("Exp", -abs(x)))


@pointwise("mish")
def mish(x: Value) -> Value:
    """``x tanh(softplus(x))``."""
    return x * op("Tanh", softplus_of(x))


@pointwise("hardsigmoid")
def hardsigmoid(x: Value) -> Value:
    """``x / 6 + 1 / 2`` between 0 and 1."""
    return op("HardSigmoid", x, alpha=1.0 / 6.0, beta=0.5)


@pointwise("softplus")
def softplus(x: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Value:
    """``log(1 + exp(beta x)) / beta``."""
    x = x if isinstance(x, Value) else cast(x, next(v for v in (beta, threshold) if isinstance(v, Value)).dtype)
    scaled = x if not isinstance(beta, Value) and beta == 1.0 else x * beta
    return op("Where", scaled > threshold, x, softplus_of(scaled) / beta)


def log_sigmoid_of(x: Value) -> Value:
    """Returns ``log(sigmoid(x))``."""
    return op("Min", x, 0.0) - log1p(op("Exp", -abs(x)))


pointwise("log_sigmoid")(log_sigmoid_of)


@builtin("glu")
def glu(x: Value, axis: int = -1) -> Value:
    """The first half, times the sigmoid of the second."""
    axis = axis_of(axis, x.ndim)
    whole = size(x, axis)
    half = whole // 2 if isinstance(whole, int) else op("Div", whole, 2)
    return slice_axis(x, axis, 0, half) * op("Sigmoid", slice_axis(x, axis, half, whole))


def _normalized(name: str, target: str, sign: int) -> None:
    @builtin(name)
    def convert(x: Value, axis: int = -1, *, meta_outputs: Any = None) -> Value:
        x = cast(x, meta_outputs.dtype)
        if not x.ndim:
            return op("Identity", op("Squeeze", op(target, op("Unsqueeze", x, [0]), axis=0), [0]))
        return op(target, -x if sign < 0 else x, axis=axis)


_normalized("softmax", "Softmax", 1)
_normalized("log_softmax", "LogSoftmax", 1)
_normalized("softmin", "Softmax", -1)


@builtin("gumbel_softmax")
def gumbel_softmax(x: Value, tau: float = 1.0, hard: bool = False, axis: int = -1) -> Value:
    """The softmax of noisy logits; the noise is drawn by the model."""
    drawn = op("RandomUniformLike", x, low=1e-7, high=1.0)
    y = op("Softmax", (x - op("Log", -op("Log", drawn))) / tau, axis=axis)
    if not hard:
        return y
    axis = axis_of(axis, x.ndim)
    best = op("ArgMax", y, axis=axis, keepdims=1)
    places = op("Reshape", range_value(size(x, axis)), [-1 if i == axis else 1 for i in range(x.ndim)])
    return cast(best.eq(places), x.dtype)


@builtin("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
def dropout(x: Value, p: float = 0.5, training: bool = True) -> Value:
    """The value itself; only plain dropout is exported in training."""
    source = current().source
    if not training or p == 0.0:
        return op("Identity", x)
    if source != "dropout":
        raise NotImplementedError(f"[{source}] ONNX has only plain dropout in training: export with training=False")
    return op("Dropout", x, cast(p, x.dtype), cast(True, lm.bool))


@pointwise("smooth_l1")
def smooth_l1(input: Any, target: Any, beta: Any) -> Value:
    """The square of small differences, the absolute value of large ones."""
    difference = abs(op("Sub", input, target))
    return op("Where", difference < beta, 0.5 * difference * difference / beta, difference - 0.5 * beta)


@pointwise("log_loss")
def log_loss(input: Any, target: Any) -> Value:
    """The binary cross entropy, with logarithms of at least -100."""
    dtype = input.dtype if isinstance(input, Value) else target.dtype
    p, t = cast(input, dtype), cast(target, dtype)
    return -(t * maximum_of(op("Log", p), -100.0) + (1.0 - t) * maximum_of(log1p(-p), -100.0))


def entropy_terms(x: Value) -> Value:
    """Returns ``-x log(x)``, 0 at 0 and minus infinity below."""
    inside = x > 0.0
    value = -x * op("Log", where(inside, x, 1.0))
    return op("Where", inside, value, where(x.eq(0.0), cast(0.0, x.dtype), -math.inf))


pointwise("entr")(entropy_terms)


@pointwise("logit")
def logit(x: Value, eps: float | None = None) -> Value:
    """``log(x / (1 - x))``."""
    if eps is not None:
        x = minimum_of(maximum_of(x, eps), 1.0 - eps)
    return op("Log", x / (1.0 - x))


@pointwise("ndtr")
def ndtr(x: Value) -> Value:
    """The standard normal distribution."""
    return 0.5 * (op("Erf", x * math.sqrt(0.5)) + 1.0)


@pointwise("erfc")
def erfc(x: Value) -> Value:
    """``1 - erf(x)``."""
    return 1.0 - op("Erf", x)


@pointwise("xlogy")
def xlogy(a: Any, b: Any) -> Value:
    """``a log(b)``, 0 where ``a`` is 0."""
    dtype = a.dtype if isinstance(a, Value) else b.dtype
    a, b = cast(a, dtype), cast(b, dtype)
    return where(op("And", a.eq(0.0), ~op("IsNaN", b)), 0.0, a * op("Log", b))


@pointwise("xlog1py")
def xlog1py(a: Any, b: Any) -> Value:
    """``a log(1 + b)``, 0 where ``a`` is 0."""
    dtype = a.dtype if isinstance(a, Value) else b.dtype
    a, b = cast(a, dtype), cast(b, dtype)
    return where(op("And", a.eq(0.0), ~op("IsNaN", b)), 0.0, a * log1p(b))

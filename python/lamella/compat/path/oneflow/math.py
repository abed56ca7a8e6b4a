"""Elementwise functions, comparisons and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

from ._builder import operator
from ._functions import matmul as matmul
from ._quotient import quotient

__getattr__ = close_module(__name__)


def _unary(name: str, native: str) -> Callable[..., Any]:
    function = getattr(lm, native)

    def run(x: Any, name: str | None = None) -> Any:
        return function(x)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Elementwise; see :func:`lamella.{native}`."
    return operator(run)


def _binary(name: str, native: str) -> Callable[..., Any]:
    function = getattr(lm, native)

    def run(x: Any, y: Any, name: str | None = None) -> Any:
        return function(x, y)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Elementwise, with broadcasting; see :func:`lamella.{native}`."
    return operator(run)


def _reduction(name: str, native: str) -> Callable[..., Any]:
    function = getattr(lm, native)

    def run(
        input_tensor: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
        result = function(input_tensor, axis=axes, keepdims=keepdims)
        if native in ("sum", "prod"):
            result = lm.astype(result, input_tensor.dtype)
        # Where nothing is left, one axis is.
        return lm.reshape(result, [1]) if not len(result.shape) else result

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Over axes, all by default, which leave one of size 1; see :func:`lamella.{native}`."
    return operator(run)


abs = _unary("abs", "abs")
acos, asin, atan = _unary("acos", "acos"), _unary("asin", "asin"), _unary("atan", "atan")
ceil, floor, rint = _unary("ceil", "ceil"), _unary("floor", "floor"), _unary("rint", "round")
cos, sin, tan = _unary("cos", "cos"), _unary("sin", "sin"), _unary("tan", "tan")
cosh, sinh, tanh = _unary("cosh", "cosh"), _unary("sinh", "sinh"), _unary("tanh", "tanh")
erf, exp, expm1 = _unary("erf", "erf"), _unary("exp", "exp"), _unary("expm1", "expm1")
gelu, relu, sigmoid = _unary("gelu", "gelu"), _unary("relu", "relu"), _unary("sigmoid", "sigmoid")
log, log1p = _unary("log", "log"), _unary("log1p", "log1p")
negative, reciprocal, sign = _unary("negative", "negative"), _unary("reciprocal", "reciprocal"), _unary("sign", "sign")
rsqrt, sqrt, square = _unary("rsqrt", "rsqrt"), _unary("sqrt", "sqrt"), _unary("square", "square")
softplus = _unary("softplus", "softplus")

add, subtract = _binary("add", "add"), _binary("subtract", "subtract")
multiply = _binary("multiply", "multiply")
floor_mod, pow = _binary("floor_mod", "remainder"), _binary("pow", "pow")
maximum, minimum = _binary("maximum", "maximum"), _binary("minimum", "minimum")


@operator
def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """Elementwise, with broadcasting; of integers an integer, toward zero."""
    return quotient(x, y)


def _comparison(name: str, native: str) -> Callable[..., Any]:
    function = getattr(lm, native)

    def run(x: Any, y: Any, name: str | None = None) -> Any:
        return lm.astype(function(x, y), lm.int8)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Elementwise, 1 or 0 in int8; see :func:`lamella.{native}`."
    return operator(run)


equal, not_equal = _comparison("equal", "equal"), _comparison("not_equal", "not_equal")
greater, greater_equal = _comparison("greater", "greater"), _comparison("greater_equal", "greater_equal")
less, less_equal = _comparison("less", "less"), _comparison("less_equal", "less_equal")

reduce_sum, reduce_mean = _reduction("reduce_sum", "sum"), _reduction("reduce_mean", "mean")
reduce_max, reduce_min = _reduction("reduce_max", "max"), _reduction("reduce_min", "min")
reduce_prod = _reduction("reduce_prod", "prod")


@operator
def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """Returns the sum of tensors of one shape."""
    if not inputs:
        raise ValueError("[add_n] expected tensors, got none")
    total = inputs[0]
    for each in inputs[1:]:
        total = total + each
    return total


@operator
def argmax(input: Any, axis: int = -1, dtype: Any = None, name: str | None = None) -> Any:
    """Returns the index of the largest element along an axis, in int32 unless ``dtype`` says otherwise."""
    return lm.astype(lm.argmax(input, axis=axis), lm.int32 if dtype is None else dtype)


@operator
def clip_by_value(values: Any, min_value: Any = None, max_value: Any = None, name: str | None = None) -> Any:
    """Returns the elements within bounds."""
    return lm.clip(values, min_value, max_value)


@operator
def top_k(input: Any, axis: int = -1, k: int = 1, sorted: bool = True, name: str | None = None) -> Any:
    """Returns the indices of the ``k`` largest elements along an axis, in int32."""
    return lm.astype(lm.topk(input, k, axis=axis)[1], lm.int32)

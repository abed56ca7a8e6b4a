"""Rules of operators that compute each element from the elements at its place."""

from __future__ import annotations

import functools

import lamella as lm
from lamella import _C

from ._letters import broadcast_letters, letters
from .call import Call
from .registry import rule
from .spec import Spec

#: Operators that compute element by element, beside those that the list of operators calls elementwise.
_LIKE = (
    *("cast", "astype", "clone", "contiguous", "to_device", "clip", "real", "imag", "complex", "polar", "positive"),
    *("deg2rad", "rad2deg", "polygamma", "isclose", "nan_to_num", "isposinf", "isneginf", "isreal", "xlog1py", "entr"),
    *("ndtr", "mvlgamma", "ldexp", "float_power", "gcd", "lcm", "frexp", "gelu", "relu6", "masked_fill"),
    *("add_", "sub_", "mul_", "div_", "copy_", "fill_", "masked_fill_", "zero_"),
    *("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "randint_like"),
    *("uniform_", "normal_", "exponential_", "bernoulli_", "random_", "cauchy_", "log_normal_", "geometric_"),
    *("dropout", "alpha_dropout", "bernoulli", "poisson"),
    *("i0", "i0e", "i1", "i1e", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0"),
    *("scaled_modified_bessel_k1", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"),
    *("airy_ai", "erfcx", "ndtri", "log_ndtr", "logit", "gammainc", "gammaincc"),
    *("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w"),
    *("shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v"),
    *("shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"),
    "legendre_polynomial_p",
)
#: Those of one tensor that are linear.
_LINEAR = frozenset({"negative", "positive", "real", "imag", "conj", "clone", "contiguous", "to_device", "deg2rad"})
_LINEAR |= {"rad2deg", "zeros_like", "zero"}
_CASTS = frozenset({"cast", "astype"})


def _is_linear_type(dtype: lm.DType) -> bool:
    return lm.isdtype(dtype, ("real floating", "complex floating"))


def linear_in(call: Call) -> list[set[int]]:
    """Returns the sets of tensors in which an elementwise call is linear together."""
    name, tensors = call.name.removesuffix("_"), call.tensors
    if not all(_is_linear_type(x.dtype) for x in tensors if x.dtype != lm.bool) or not tensors:
        return []
    every = set(range(len(tensors)))
    if name in _LINEAR:
        return [every]
    if name in _CASTS:
        return [every] if _is_linear_type(call.results()[0].dtype) else []
    if name in ("add", "subtract", "sub"):
        return [every] if len(tensors) == 2 else []
    if name in ("multiply", "mul"):
        return [{i} for i in every]
    if name in ("divide", "div"):
        return [set(call.places(next(iter(call.arguments))))] if call.places(next(iter(call.arguments))) else []
    if name == "copy":
        return [every] if len(tensors) == 2 else []
    if name == "where":
        return [every - {0}] if len(tensors) == 3 else []
    if name == "masked_scale":
        return [{1}]
    if name == "masked_fill":
        value = call.arguments.get("value")
        return [{0}] if not isinstance(value, lm.Tensor) and value == 0 else []
    return []


def elementwise(call: Call) -> Spec:
    """Splits along any axis of the result; partial sums go through where the operator is linear."""
    results = call.results()
    shape = results[0].shape
    labels = letters(len(shape))
    inputs = broadcast_letters(call.shapes, shape, labels)
    linear = tuple(frozenset(one) for one in linear_in(call))
    return Spec(tuple(inputs), (labels,) * len(results), linear=linear)


@functools.cache
def elementwise_names() -> frozenset[str]:
    """Returns the names of the operators that the list of operators calls elementwise."""
    return frozenset(operator["name"] for operator in _C.operators() if operator["elementwise"])


rule(*_LIKE)(elementwise)

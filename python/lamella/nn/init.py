"""Starting values. Each function overwrites its tensor, records nothing, and returns the tensor.

Sources: Glorot & Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks"
(Xavier, also known as Glorot); He et al. 2015, "Delving deep into rectifiers" (Kaiming, also known as He); Saxe et al.
2013, "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks" (orthogonal); Martens 2010,
"Deep learning via Hessian-free optimization" (sparse).

Numbers are drawn on the tensor's device, from ``generator``, or from the device's default one where that is ``None``.
A generator of another device is a ValueError.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import lamella as lm

from .. import _lazy
from .._arguments import expect_tensors
from .._names import explain_arguments_of


@explain_arguments_of
def constant_(tensor: lm.Tensor, value: float) -> lm.Tensor:
    """Sets every element to ``value``."""
    expect_tensors("constant_", tensor=tensor)
    with _at_once():
        tensor.fill_(value)
    return tensor


def zeros_(tensor: lm.Tensor) -> lm.Tensor:
    """Sets every element to 0."""
    return constant_(tensor, 0)


def ones_(tensor: lm.Tensor) -> lm.Tensor:
    """Sets every element to 1."""
    return constant_(tensor, 1)


@explain_arguments_of
def uniform_(
    tensor: lm.Tensor, low: float = 0.0, high: float = 1.0, *, generator: lm.Generator | None = None
) -> lm.Tensor:
    """Uniform in ``[low, high)``."""
    if not _draws("uniform_", tensor):
        return tensor
    with _at_once():
        values = lm.uniform(
            tuple(tensor.shape), low, high, dtype=_drawn_dtype(tensor), device=tensor.device, generator=generator
        )
        tensor.copy_(values)
    return tensor


def normal_(
    tensor: lm.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: lm.Generator | None = None
) -> lm.Tensor:
    """Normal with the given mean and standard deviation."""
    if not _draws("normal_", tensor):
        return tensor
    with _at_once():
        values = lm.normal(
            tuple(tensor.shape), mean, std, dtype=_drawn_dtype(tensor), device=tensor.device, generator=generator
        )
        tensor.copy_(values)
    return tensor


@explain_arguments_of
def trunc_normal_(
    tensor: lm.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    *,
    generator: lm.Generator | None = None,
) -> lm.Tensor:
    """Normal with the given mean and standard deviation, under the condition that numbers lie in ``[low, high]``.

    The bounds are values, not multiples of ``std``. See :func:`lamella.truncated_normal`.
    """
    if not _draws("trunc_normal_", tensor):
        return tensor
    with _at_once():
        values = lm.truncated_normal(
            tuple(tensor.shape),
            mean,
            std,
            low,
            high,
            dtype=_drawn_dtype(tensor),
            device=tensor.device,
            generator=generator,
        )
        tensor.copy_(values)
    return tensor


def eye_(tensor: lm.Tensor) -> lm.Tensor:
    """Ones on the diagonal of a matrix and zeros elsewhere, so that a linear layer keeps as much as it can.

    Raises:
        ValueError: the tensor has not two axes.
    """
    expect_tensors("eye_", tensor=tensor)
    if tensor.ndim != 2:
        raise ValueError(f"[eye_] the tensor has two axes, not the shape {list(tensor.shape)}")
    with _at_once():
        tensor.copy_(lm.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor: lm.Tensor, groups: int = 1) -> lm.Tensor:
    """Ones at the kernels' centers, so that a convolution keeps as many channels of each group as it can.

    Source: Zagoruyko and Komodakis 2017, "DiracNets".

    Args:
        tensor: shape ``(out, in, *kernel)``, with one to three axes of a kernel.
        groups: groups of the convolution, which divide ``out``.

    Raises:
        ValueError: the tensor has another number of axes, or ``groups`` does not divide ``out``.
    """
    expect_tensors("dirac_", tensor=tensor)
    shape = tuple(tensor.shape)
    if len(shape) not in (3, 4, 5):
        raise ValueError(f"[dirac_] the tensor has 3, 4 or 5 axes, not the shape {list(shape)}")
    if groups < 1 or shape[0] % groups:
        raise ValueError(f"[dirac_] groups divides the channels: {groups} does not divide {shape[0]}")
    constant_(tensor, 0)
    out = shape[0] // groups
    center = tuple(size // 2 for size in shape[2:])
    kept = lm.arange(min(out, shape[1]), device=tensor.device)
    if tensor.size:
        with _at_once():
            for group in range(groups):
                tensor[(kept + group * out, kept, *center)] = 1
    return tensor


def orthogonal_(tensor: lm.Tensor, gain: float = 1.0, *, generator: lm.Generator | None = None) -> lm.Tensor:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times ``gain``.

    A tensor with more axes counts as a matrix of its first axis and all others. The matrix is uniform among all such
    matrices, as signs of the factorization's diagonal are made positive (Mezzadri 2007, "How to generate random
    matrices from the classical compact groups").

    Raises:
        ValueError: the tensor has fewer than two axes.
    """
    draws = _draws("orthogonal_", tensor)
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError(f"[orthogonal_] the tensor has at least two axes, not the shape {list(shape)}")
    if not draws or not tensor.size:
        return tensor
    rows, columns = shape[0], math.prod(shape[1:])
    with _at_once():
        drawn = lm.normal(
            (max(rows, columns), min(rows, columns)),
            dtype=_drawn_dtype(tensor),
            device=tensor.device,
            generator=generator,
        )
        q, r = lm.linalg.qr(drawn)
        q = q * lm.where(lm.linalg.diagonal(r) < 0, -1.0, 1.0)
        tensor.copy_(lm.reshape((q if rows >= columns else q.T) * gain, shape))
    return tensor


def sparse_(
    tensor: lm.Tensor, sparsity: float, std: float = 0.01, *, generator: lm.Generator | None = None
) -> lm.Tensor:
    """Normal with standard deviation ``std``, but for a share of each column, at random places, which is 0.

    Args:
        tensor: shape ``(out, in)``.
        sparsity: the share of each column that is 0, rounded up to a number of elements.
        std: the standard deviation of the others.
        generator: where the numbers come from, see the module.

    Raises:
        ValueError: the tensor has not two axes, or ``sparsity`` is not between 0 and 1.
    """
    draws = _draws("sparse_", tensor)
    if tensor.ndim != 2:
        raise ValueError(f"[sparse_] the tensor has two axes, not the shape {list(tensor.shape)}")
    if not 0.0 <= sparsity <= 1.0:
        raise ValueError(f"[sparse_] sparsity is a share between 0 and 1, not {sparsity}")
    if not draws or not tensor.size:
        return tensor
    zeros = math.ceil(sparsity * tensor.shape[0])
    normal_(tensor, 0.0, std, generator=generator)
    with _at_once():
        order = lm.argsort(lm.rand(tuple(tensor.shape), device=tensor.device, generator=generator), axis=0)
        places = lm.argsort(order, axis=0)
        tensor.copy_(lm.where(places < zeros, 0.0, tensor))
    return tensor


def xavier_uniform_(tensor: lm.Tensor, gain: float = 1.0, *, generator: lm.Generator | None = None) -> lm.Tensor:
    """Uniform in ``±gain * sqrt(6 / (fan_in + fan_out))``."""
    bound = gain * math.sqrt(6.0 / _fan_sum(tensor))
    return uniform_(tensor, -bound, bound, generator=generator)


def xavier_normal_(tensor: lm.Tensor, gain: float = 1.0, *, generator: lm.Generator | None = None) -> lm.Tensor:
    """Normal with standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / _fan_sum(tensor)), generator=generator)


def kaiming_uniform_(
    tensor: lm.Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: lm.Generator | None = None,
) -> lm.Tensor:
    """Uniform in ``±gain * sqrt(3 / fan)``.

    Args:
        tensor: shape ``(out, in, ...)``.
        a: the negative slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance of the forward pass, "fan_out" that of the backward pass.
        nonlinearity: what follows, see :func:`calculate_gain`.
        generator: where the numbers come from, see the module.
    """
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: lm.Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: lm.Generator | None = None,
) -> lm.Tensor:
    """Normal with standard deviation ``gain / sqrt(fan)``; arguments as in :func:`kaiming_uniform_`."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


_GAINS = {
    **dict.fromkeys(("linear", "identity", "sigmoid"), 1.0),
    **dict.fromkeys((f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)), 1.0),
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def calculate_gain(nonlinearity: str, a: float | None = None) -> float:
    """Returns the factor that keeps the variance through a function.

    Args:
        nonlinearity: "linear", "identity", "conv1d" and its kin, "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        a: the negative slope of a leaky ReLU, 0.01 where it is None.

    Raises:
        ValueError: no gain is known for the function.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if a is None else a
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        known = ", ".join(map(repr, [*_GAINS, "leaky_relu"]))
        raise ValueError(f"[calculate_gain] no gain is known for {nonlinearity!r}, but for {known}")
    return _GAINS[nonlinearity]


def fans(tensor: lm.Tensor) -> tuple[int, int]:
    """Returns the inputs and outputs of one unit of a weight of shape ``(out, in, ...)``.

    Raises:
        ValueError: the weight has fewer than two axes.
    """
    expect_tensors("init", tensor=tensor)
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError(f"[init] fan-in and fan-out need at least two axes, the tensor has shape {list(shape)}")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _fan_sum(tensor: lm.Tensor) -> int:
    """Returns the sum of both fans; 1 for a tensor without elements, of which nothing is drawn."""
    return max(sum(fans(tensor)), 1)


def _kaiming_std(tensor: lm.Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"[init] mode is 'fan_in' or 'fan_out', not {mode!r}")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def _draws(op: str, tensor: lm.Tensor) -> bool:
    """Checks that a tensor can hold random numbers; False on the device ``meta``, where none are drawn."""
    expect_tensors(op, tensor=tensor)
    if not lm.isdtype(tensor.dtype, ("real floating", "complex floating")):
        raise TypeError(f"[{op}] the tensor is of a floating-point dtype, not {tensor.dtype.name}")
    return tensor.device != "meta"


def _drawn_dtype(tensor: lm.Tensor) -> Any:
    """Draws in the tensor's own precision where the generator has it, in float32 elsewhere."""
    return lm.float64 if tensor.dtype == lm.float64 else lm.float32


@contextlib.contextmanager
def _at_once() -> Iterator[None]:
    """Computes with recording off, of gradients and of graphs: a parameter has values while a graph is built."""
    recorder = lm._C._set_recorder(None)
    try:
        with lm.no_grad():
            yield
    finally:
        lm._C._set_recorder(recorder)


#: Names under which libraries other than PyTorch have these functions.
glorot_uniform_, glorot_normal_ = xavier_uniform_, xavier_normal_
he_uniform_, he_normal_ = kaiming_uniform_, kaiming_normal_

__getattr__, _ = _lazy.loader(__name__, {})

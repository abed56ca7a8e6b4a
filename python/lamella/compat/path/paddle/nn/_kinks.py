"""Functions with kinks, whose derivatives there are Paddle's choice among those of both sides."""

from __future__ import annotations

import lamella as lm
from lamella import Tensor


def leaky_relu(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """``x``, below 0 ``negative_slope * x``: the derivative at 0 is 1."""
    return lm.where(x < 0, x * negative_slope, x)


def rrelu(
    x: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = True,
    name: str | None = None,
) -> Tensor:
    """``x``, below 0 times a slope that is drawn for each element in training, else the mean of both ends.

    Raises:
        ValueError: not ``0 <= lower <= upper <= 1``.
    """
    if not 0 <= lower <= upper <= 1:
        raise ValueError(f"[rrelu] slopes are 0 <= lower <= upper <= 1, not {lower} and {upper}")
    if training:
        return lm.nn.functional.rrelu(x, lower, upper, True)
    return leaky_relu(x, (lower + upper) / 2)


def hardshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """0 where the magnitude of ``x`` is below the threshold, else ``x``, also at the threshold."""
    return lm.where(lm.abs(x) < threshold, lm.zeros_like(x), x)


def hardsigmoid(x: Tensor, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None) -> Tensor:
    """``slope * x + offset`` between 0 and 1, with no derivative at the ends."""
    y = x * slope + offset
    return lm.where(lm.logical_and(y > 0, y < 1), y, lm.clip(y.detach(), 0.0, 1.0))


def selu(
    x: Tensor, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, name: str | None = None
) -> Tensor:
    """``scale * x``, below 0 ``scale * alpha * (exp(x) - 1)`` (Klambauer et al. 2017).

    Raises:
        ValueError: ``scale`` is at most 1, or ``alpha`` below 0.
    """
    if scale <= 1.0 or alpha < 0:
        raise ValueError(f"[selu] scale is above 1 and alpha at least 0, not {scale} and {alpha}")
    if (scale, alpha) == (1.0507009873554805, 1.6732632423543772):
        return lm.selu(x)
    above = x > 0
    return lm.where(above, x, alpha * lm.expm1(lm.where(above, lm.zeros_like(x), x))) * scale


def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """The largest of each ``groups`` channels (Goodfellow et al. 2013, "Maxout networks"): the first of equal ones."""
    axis %= x.ndim
    grouped = lm.unflatten(x, axis, (-1, groups))
    first = lm.argmax(grouped, axis=axis + 1, keepdims=True)
    return lm.squeeze(lm.take_along_axis(grouped, first, axis=axis + 1), axis + 1)


def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The powers by which other scores come nearer to the label's than ``margin``, as mean over the classes.

    A score just at the margin has the derivative of those beyond it.

    Raises:
        ValueError: the reduction is unknown, or there is not a weight for each class.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[multi_margin_loss] reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    classes = input.shape[1]
    if weight is not None and weight.shape[0] != classes:
        raise ValueError(f"[multi_margin_loss] weight has {weight.shape[0]} elements for {classes} classes")
    column = lm.reshape(label, (-1, 1)).astype(lm.int64)
    near = margin - lm.take_along_axis(input, column, axis=1) + input
    terms = lm.where(near < 0, lm.zeros_like(near), near)
    losses = lm.mean(terms**p, axis=1) - margin**p / classes
    if weight is not None:
        losses = losses * lm.take(weight, lm.reshape(column, (-1,)), axis=0)
    return losses if reduction == "none" else lm.mean(losses) if reduction == "mean" else lm.sum(losses)

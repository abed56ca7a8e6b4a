"""Functions of networks whose arguments take more than one form, or are functions themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import _C
from .._arguments import expect_tensors
from .._C import Tensor

__all__ = [
    "ctc_loss",
    "rrelu",
    "triplet_margin_with_distance_loss",
]


def _lengths(given: Tensor | Sequence[int]) -> Tensor:
    return given if isinstance(given, Tensor) else _C.asarray(list(given), dtype="int64")


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006).

    Minus the logarithm of the probability of a target sequence, over all its alignments to the steps. log_probs is
    [steps, sequences, classes], or [steps, classes] for one sequence; it is normalized along the classes once more, so
    that the gradient is that of unnormalized scores. targets is [sequences, longest], or [all lengths together]; the
    lengths, a tensor or a sequence, hold an integer for each sequence. reduction 'mean' divides each loss by its
    target's length, then averages; 'sum' adds, 'none' gives one for each sequence. A target that does not fit into its
    steps has an infinite loss, or with zero_infinity 0, and then no gradient.

    ValueError for shapes and lengths that do not fit, IndexError for a target that is no class, TypeError for targets
    or lengths that are not of integers.
    """
    steps, labels = _lengths(input_lengths), _lengths(target_lengths)
    return _C.ctc_loss(log_probs, targets, steps, labels, blank, reduction, zero_infinity)


def rrelu(
    x: Tensor,
    /,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    *,
    generator: _C.Generator | None = None,
) -> Tensor:
    """`x` above 0, x times a slope elsewhere (Xu et al., 2015, "Empirical evaluation of rectified activations").

    In training each element draws its slope from [lower, upper); otherwise it is the mean of the two.

    ValueError where `lower` is above `upper`; TypeError for complex numbers.
    """
    expect_tensors("rrelu", x=x)
    if not lower <= upper:
        raise ValueError(f"[rrelu] lower must not be above upper, got {lower} and {upper}")
    if not training:
        return _C.leaky_relu(x, (lower + upper) / 2)
    values = x if _C.isdtype(x.dtype, "real floating") else _C.leaky_relu(x, 1.0)
    slopes = _C.rand(values.shape, dtype=values.dtype, device=values.device, generator=generator)
    return _C.where(values > 0, values, values * (slopes * (upper - lower) + lower))


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)) with any distance d, `pairwise_distance` for None.

    With `swap`, the distance of positive and negative counts instead of anchor's and negative's where it is smaller
    (Balntas et al., 2016). reduction is 'mean', 'sum' or 'none'.

    ValueError for a margin that is not above 0, or where the tensors have not as many axes as each other.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(
            f"[triplet_margin_with_distance_loss] reduction must be 'mean', 'sum' or 'none', got {reduction!r}"
        )
    if not margin > 0:
        raise ValueError(f"[triplet_margin_with_distance_loss] margin must be above 0, got {margin}")
    expect_tensors("triplet_margin_with_distance_loss", anchor=anchor, positive=positive, negative=negative)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ValueError(
            "[triplet_margin_with_distance_loss] anchor, positive and negative must have as many axes, got the shapes "
            f"{anchor.shape}, {positive.shape} and {negative.shape}"
        )
    distance = distance_function or _C.pairwise_distance
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    # At the margin itself the gradient is that of the side where the loss is not 0.
    terms = _C.clip(margin + near - far, 0)
    return terms if reduction == "none" else _C.sum(terms) if reduction == "sum" else _C.mean(terms)

"""Losses as layers. Each stands for the function of :mod:`lamella` that it names, where formulas and details are.

``reduction`` is "mean" or "sum" over the batch, or "none" for one loss each; anything else is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable

import lamella as lm

from .module import Module


class _Loss(Module):
    """Base of losses whose settings, beside the reduction, are the attributes that `_settings` names."""

    _reductions: tuple[str, ...] = ("mean", "sum", "none")
    _settings: tuple[str, ...] = ()

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in self._reductions:
            allowed = ", ".join(repr(name) for name in self._reductions[:-1])
            raise ValueError(
                f"[{type(self).__name__}] reduction is {allowed} or {self._reductions[-1]!r}, not {reduction!r}"
            )
        self.reduction = reduction

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in (*self._settings, "reduction"))


class _WeightedLoss(_Loss):
    """Base of losses with a weight, which is a buffer: it moves with the module and is saved with it."""

    weight: lm.Tensor | None

    def __init__(self, weight: lm.Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if weight is not None and not isinstance(weight, lm.Tensor):
            raise TypeError(f"[{type(self).__name__}] weight is a Tensor or None, not {type(weight).__name__}")
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """The negative log likelihood of the right class, given unnormalized scores: :func:`lamella.cross_entropy`.

    ``loss(input, target)`` takes scores of shape ``(n, classes, ...)`` and classes of shape ``(n, ...)``, integers in
    ``[0, classes)``, or probabilities of the shape of ``input``.

    Args:
        weight: a weight for each class.
        ignore_index: a class number that counts for nothing.
        reduction: "mean" or "sum" over the batch, or "none" for one loss each.
        label_smoothing: the share of the target that is spread over all classes.
    """

    _settings = ("ignore_index", "label_smoothing")

    def __init__(
        self,
        weight: lm.Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of shape ``(n, ...)`` where the reduction is "none"."""
        return lm.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_WeightedLoss):
    """:func:`lamella.nll_loss`: minus the log-probability of the right class."""

    _settings = ("ignore_index",)

    def __init__(self, weight: lm.Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``target`` where the reduction is "none"."""
        return lm.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of two tensors of one shape, see :func:`lamella.mse_loss`."""

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The magnitude of the difference of two tensors of one shape, see :func:`lamella.l1_loss`."""

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """:func:`lamella.smooth_l1_loss`: squared below ``beta``, linear above."""

    _settings = ("beta",)

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """:func:`lamella.huber_loss`: squared below ``delta``, linear above."""

    _settings = ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """:func:`lamella.binary_cross_entropy`, of probabilities."""

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """:func:`lamella.binary_cross_entropy_with_logits`; ``pos_weight`` weighs the positive targets."""

    pos_weight: lm.Tensor | None

    def __init__(
        self, weight: lm.Tensor | None = None, reduction: str = "mean", pos_weight: lm.Tensor | None = None
    ) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(_Loss):
    """:func:`lamella.kl_div`; the reduction may also be "batchmean"."""

    _reductions = ("mean", "batchmean", "sum", "none")
    _settings = ("log_target",)

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """:func:`lamella.poisson_nll_loss`."""

    _settings = ("log_input", "full", "eps")

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


class GaussianNLLLoss(_Loss):
    """:func:`lamella.gaussian_nll_loss`."""

    _settings = ("full", "eps")

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: lm.Tensor, target: lm.Tensor, var: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class SoftMarginLoss(_Loss):
    """:func:`lamella.soft_margin_loss`, for targets of 1 and -1."""

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """:func:`lamella.hinge_embedding_loss`, for targets of 1 and -1."""

    _settings = ("margin",)

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``input`` where the reduction is "none"."""
        return lm.hinge_embedding_loss(input, target, self.margin, self.reduction)


class MarginRankingLoss(_Loss):
    """:func:`lamella.margin_ranking_loss`, for targets of 1 and -1."""

    _settings = ("margin",)

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: lm.Tensor, input2: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of the inputs where the reduction is "none"."""
        return lm.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class CosineEmbeddingLoss(_Loss):
    """:func:`lamella.cosine_embedding_loss`, for targets of 1 and -1."""

    _settings = ("margin",)

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: lm.Tensor, input2: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``target`` where the reduction is "none"."""
        return lm.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class TripletMarginLoss(_Loss):
    """:func:`lamella.triplet_margin_loss`."""

    _settings = ("margin", "p", "eps", "swap")

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: lm.Tensor, positive: lm.Tensor, negative: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or one for each row where the reduction is "none"."""
        return lm.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """:func:`lamella.triplet_margin_with_distance_loss`."""

    _settings = ("margin", "swap")

    def __init__(
        self,
        *,
        distance_function: Callable[[lm.Tensor, lm.Tensor], lm.Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: lm.Tensor, positive: lm.Tensor, negative: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or one for each distance where the reduction is "none"."""
        return lm.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class MultiMarginLoss(_WeightedLoss):
    """:func:`lamella.multi_margin_loss`."""

    _settings = ("p", "margin")

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: lm.Tensor | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, reduction)
        self.p = p
        self.margin = margin

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of the shape of ``target`` where the reduction is "none"."""
        return lm.multi_margin_loss(input, target, self.p, self.margin, self.weight, self.reduction)


class MultiLabelMarginLoss(_Loss):
    """:func:`lamella.multilabel_margin_loss`: hinges between the classes of a sample and all others.

    ``loss(input, target)`` takes scores of shape ``(n, classes)`` or ``(classes,)``, and integers of that shape: the
    classes of a sample first and, where there are fewer, -1 behind them.
    """

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or of shape ``(n,)`` where the reduction is "none"."""
        return lm.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """:func:`lamella.multilabel_soft_margin_loss`: the mean over classes of binary cross-entropies of logits."""

    def forward(self, input: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
        """Returns the loss: 0-d, or without the last axis of ``input`` where the reduction is "none"."""
        return lm.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """Connectionist temporal classification, see :func:`lamella.ctc_loss`."""

    _settings = ("blank", "zero_infinity")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: lm.Tensor, targets: lm.Tensor, input_lengths: lm.Tensor, target_lengths: lm.Tensor
    ) -> lm.Tensor:
        """Returns the loss: 0-d, or one for each sequence where the reduction is "none"."""
        return lm.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )

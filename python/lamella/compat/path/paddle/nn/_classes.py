"""Losses of very many classes, and of sequences whose places are not known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import Tensor

from ._base import Layer
from ._losses import reduced


def hsigmoid_loss(
    input: Tensor,
    label: Tensor,
    num_classes: int,
    weight: Tensor,
    bias: Tensor | None = None,
    path_table: Tensor | None = None,
    path_code: Tensor | None = None,
    is_sparse: bool = False,
    name: Any = None,
) -> Tensor:
    """The cost of the ways from the root of a binary tree to classes, ``(n, 1)`` (Morin & Bengio 2005).

    Args:
        input: ``(n, features)``.
        label: the classes, ``(n,)`` or ``(n, 1)``.
        num_classes: number of classes: leaves of a complete tree whose nodes are numbered from its root on.
        weight: a row for each inner node, ``(num_classes - 1, features)``.
        bias: a number for each inner node, or None.
        path_table: the nodes on the way to each label of a tree of the caller's own, ``(n, length)``; -1 behind it.
        path_code: the turns at these nodes, 0 or 1.
        is_sparse: not used.
        name: not used.
    """
    if path_table is None or path_code is None:
        places = lm.reshape(label, (-1, 1)).astype("int64") + num_classes
        steps = lm.arange(int(math.log2(max(2 * num_classes - 1, 1))))
        nodes = lm.bitwise_right_shift(places, steps + 1) - 1
        turns, inside = lm.bitwise_and(lm.bitwise_right_shift(places, steps), lm.tensor(1)), nodes >= 0
    else:
        nodes, turns, inside = path_table, path_code, path_table >= 0
    rows = lm.where(inside, nodes, lm.zeros_like(nodes))
    scores = lm.sum(weight[rows] * lm.expand_dims(input, 1), axis=-1)
    if bias is not None:
        scores = scores + lm.reshape(bias, (-1,))[rows]
    # Behind the end of a way scores are 0, and count log(2), as in Paddle.
    scores = lm.where(inside, lm.clip(scores, -40.0, 40.0), lm.zeros_like(scores))
    cost = lm.softplus(scores) - turns.astype(scores.dtype) * scores
    return lm.sum(cost, axis=1, keepdims=True)


class HSigmoidLoss(Layer):
    """The loss of :func:`hsigmoid_loss` with the weights of the tree's nodes."""

    def __init__(
        self,
        feature_size: int,
        num_classes: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        is_custom: bool = False,
        is_sparse: bool = False,
        name: Any = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        count = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([count, feature_size], weight_attr)
        self.bias = None if bias_attr is False else self.create_parameter([count, 1], bias_attr, is_bias=True)

    def forward(self, input: Tensor, label: Tensor, path_table: Any = None, path_code: Any = None) -> Tensor:
        """Returns the cost of each label, ``(n, 1)``."""
        return hsigmoid_loss(input, label, self.num_classes, self.weight, self.bias, path_table, path_code)


def margin_cross_entropy(
    logits: Tensor,
    label: Tensor,
    margin1: float = 1.0,
    margin2: float = 0.5,
    margin3: float = 0.0,
    scale: float = 64.0,
    group: Any = None,
    return_softmax: bool = False,
    reduction: str | None = "mean",
) -> Any:
    """Cross entropy of cosines, of which those of the labels are made less (Deng et al. 2019, "ArcFace").

    The cosine of a label's angle t becomes ``cos(margin1 * t + margin2) - margin3``, then all are times ``scale``.
    """
    column = lm.reshape(label, (-1, 1)).astype("int64")
    angle = lm.acos(lm.take_along_axis(logits, column, axis=1))
    less = lm.cos(margin1 * angle + margin2) - margin3
    right = lm.arange(logits.shape[1]) == column
    scores = scale * lm.where(right, less, logits)
    loss = -lm.take_along_axis(lm.log_softmax(scores, axis=1), column, axis=1)
    made = reduced("margin_cross_entropy", loss, reduction or "none")
    return (made, lm.softmax(scores, axis=1)) if return_softmax else made


def class_center_sample(label: Tensor, num_classes: int, num_samples: int, group: Any = None) -> tuple[Tensor, Tensor]:
    """Returns labels counted among a sample of classes, and the sample: all that occur, and others at random.

    An et al. 2021, "Partial FC: training 10 million identities on a single machine".
    """
    found = lm.unique(label)
    others = lm.randperm(num_classes)
    others = others[lm.logical_not(lm.isin(others, found))][: max(num_samples - found.shape[0], 0)]
    return lm.searchsorted(found, label), lm.concat([found, others.astype(found.dtype)])


def adaptive_log_softmax_with_loss(
    input: Tensor,
    label: Tensor,
    head_weight: Tensor,
    tail_weights: Sequence[Sequence[Tensor]],
    cutoffs: Sequence[int],
    head_bias: Tensor | None = None,
    name: Any = None,
) -> tuple[Tensor, Tensor]:
    """Returns the logarithms of labels' probabilities and their mean cost (Grave et al. 2017).

    Args:
        input: ``(n, features)``.
        label: the classes, ``(n,)``, the frequent ones first.
        head_weight: of the classes below the first cutoff, and of the clusters of others, ``(features, count)``.
        tail_weights: for each cluster, two matrices, one behind the other.
        cutoffs: the first class of each cluster, and the number of classes, which need not be there.
        head_bias: of the columns of ``head_weight``.
        name: not used.
    """
    scores = lm.matmul(input, head_weight)
    head = lm.log_softmax(scores if head_bias is None else scores + head_bias, axis=1)
    first = cutoffs[0]
    column = lm.expand_dims(label.astype("int64"), 1)
    found = lm.take_along_axis(head, lm.clip(column, 0, first - 1), axis=1)
    for number, (one, two) in enumerate(tail_weights):
        low = cutoffs[number]
        high = low + two.shape[1]
        tail = lm.log_softmax(lm.matmul(lm.matmul(input, one), two), axis=1)
        place = lm.clip(column - low, 0, high - low - 1)
        inside = lm.logical_and(column >= low, column < high)
        cost = lm.take_along_axis(tail, place, axis=1) + lm.expand_dims(head[:, first + number], 1)
        found = lm.where(inside, cost, found)
    output = lm.squeeze(found, 1)
    return output, -lm.mean(output)


def rnnt_loss(
    input: Tensor,
    label: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    fastemit_lambda: float = 0.001,
    reduction: str = "mean",
    name: Any = None,
) -> Tensor:
    """The cost of all ways to say a label while time goes on (Graves 2012, "Sequence transduction with RNNs").

    Args:
        input: logarithms of probabilities, ``(n, times, longest label + 1, classes)``.
        label: ``(n, longest label)``.
        input_lengths: number of times of each example.
        label_lengths: number of its labels.
        blank: the class that says nothing and goes on in time.
        fastemit_lambda: gradients of labels count so much more (Yu et al. 2021, "FastEmit"); the loss stays.
        reduction: "mean" over examples, "sum" or "none".
        name: not used.
    """
    pauses = input[:, :, :, blank]
    places = lm.expand_dims(lm.expand_dims(label.astype("int64"), 1), -1)
    shape = (*tuple(input.shape)[:2], label.shape[1], 1)
    said = lm.squeeze(lm.take_along_axis(input[:, :, :-1], lm.broadcast_to(places, shape), axis=3), -1)
    said = said * (1 + fastemit_lambda) - (said * fastemit_lambda).detach()
    # Along the labels, each time is a sum of what has been said: the rest is a sum of exponentials.
    behind = lm.concat([lm.zeros_like(said[:, :, :1]), lm.cumsum(said, axis=2)], axis=2)
    row, rows = behind[:, 0], [behind[:, 0]]
    for time in range(1, input.shape[1]):
        row = behind[:, time] + lm.logcumsumexp(row + pauses[:, time - 1] - behind[:, time], axis=1)
        rows.append(row)
    last = lm.stack(rows, axis=1) + pauses
    each = lm.arange(input.shape[0])
    loss = -last[each, input_lengths.astype("int64") - 1, label_lengths.astype("int64")]
    return reduced("rnnt_loss", loss, reduction)


class RNNTLoss(Layer):
    """The loss of :func:`rnnt_loss`."""

    def __init__(
        self, blank: int = 0, fastemit_lambda: float = 0.001, reduction: str = "mean", name: Any = None
    ) -> None:
        super().__init__()
        self.options = (blank, fastemit_lambda, reduction)

    def forward(self, input: Tensor, label: Tensor, input_lengths: Tensor, label_lengths: Tensor) -> Tensor:
        """Returns the loss."""
        return rnnt_loss(input, label, input_lengths, label_lengths, *self.options)

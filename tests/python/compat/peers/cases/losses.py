"""Losses, as layers and as functions, with all reductions, weights and options."""

import torch
import torch.nn.functional as F
from recording import add, fixed, function, index, just, layer, tensor, x
from torch import nn

REDUCTIONS = ("none", "mean", "sum")


def signs(*shape):
    """Returns a maker of numbers that are 1 or -1."""
    return lambda rng: tensor(rng, *shape).sign()


def bools(*shape):
    """Returns a maker of numbers that are 0 or 1."""
    return lambda rng: (tensor(rng, *shape) > 0).float()


def probabilities(*shape):
    """Returns a maker of distributions along the last axis."""
    return lambda rng: tensor(rng, *shape).softmax(-1)


W = torch.tensor([0.5, 2.0, 1.0, 0.25, 1.5])
PLAIN = {
    "L1Loss": [({}, x(4, 5), fixed(4, 5))],
    "MSELoss": [({}, x(4, 5), x(4, 5))],
    "SmoothL1Loss": [({}, x(4, 5), fixed(4, 5)), ({"beta": 0.3}, x(4, 5), x(4, 5)), ({"beta": 0.0}, x(4, 5), x(4, 5))],
    "HuberLoss": [({}, x(4, 5), fixed(4, 5)), ({"delta": 0.4}, x(4, 5), x(4, 5))],
    "BCELoss": [
        ({}, x(4, 5, low=0.05, high=0.95), bools(4, 5)),
        ({"weight": W}, x(4, 5, low=0.0, high=1.0), fixed(4, 5, low=0.0, high=1.0)),
    ],
    "BCEWithLogitsLoss": [
        ({}, x(4, 5), bools(4, 5)),
        ({"weight": W}, x(4, 5), x(4, 5, low=0.0, high=1.0)),
        ({"pos_weight": W}, x(4, 5), bools(4, 5)),
        ({"pos_weight": W, "weight": W}, x(4, 5), bools(4, 5)),
    ],
    "CrossEntropyLoss": [
        ({}, x(4, 5), index(5, 4)),
        ({"weight": W}, x(4, 5), index(5, 4)),
        ({"weight": W, "label_smoothing": 0.1}, x(4, 5), index(5, 4)),
        ({"label_smoothing": 0.2}, x(4, 5, 3, 2), index(5, 4, 3, 2)),
        ({"ignore_index": 2, "weight": W}, x(6, 5), index(5, 6)),
        ({"ignore_index": 2, "label_smoothing": 0.3}, x(6, 5), index(5, 6)),
        ({"label_smoothing": 0.1, "weight": W, "ignore_index": 1}, x(6, 5, 2), index(5, 6, 2)),
        ({}, x(4, 5), probabilities(4, 5)),
        ({"weight": W, "label_smoothing": 0.1}, x(4, 5), probabilities(4, 5)),
        ({"weight": W}, x(2, 5, 3), fixed(2, 5, 3, low=0.0, high=1.0)),
        ({}, x(5), index(5)),
        ({}, x(5), probabilities(5)),
    ],
    "NLLLoss": [
        ({}, x(4, 5), index(5, 4)),
        ({"weight": W}, x(4, 5), index(5, 4)),
        ({"weight": W, "ignore_index": 2}, x(6, 5, 2, 2), index(5, 6, 2, 2)),
        ({}, x(5), index(5)),
    ],
    "KLDivLoss": [
        ({}, x(4, 5), probabilities(4, 5)),
        ({"log_target": True}, x(4, 5), x(4, 5)),
        ({}, x(4, 5), bools(4, 5)),
    ],
    "PoissonNLLLoss": [
        ({}, x(4, 5), index(6, 4, 5)),
        ({"log_input": False, "full": True}, x(4, 5, low=0.1, high=3.0), fixed(4, 5, low=0.0, high=5.0)),
        ({"full": True, "eps": 1e-3}, x(4, 5), fixed(4, 5, low=0.0, high=5.0)),
    ],
    "GaussianNLLLoss": [
        ({}, x(4, 5), fixed(4, 5), x(4, 5, low=0.1, high=2.0)),
        ({"full": True, "eps": 0.5}, x(4, 5), x(4, 5), x(4, 1, low=0.1, high=2.0)),
        ({}, x(4, 5), x(4, 5), x(4, low=0.1, high=2.0)),
    ],
    "HingeEmbeddingLoss": [({}, x(4, 5), signs(4, 5)), ({"margin": 0.3}, x(4, 5), signs(4, 5))],
    "SoftMarginLoss": [({}, x(4, 5), signs(4, 5))],
    "MarginRankingLoss": [({}, x(7), x(7), signs(7)), ({"margin": 0.5}, x(7), x(7), signs(7))],
    "CosineEmbeddingLoss": [
        ({}, x(6, 5), x(6, 5), signs(6)),
        ({"margin": 0.4}, x(6, 5), x(6, 5), signs(6)),
        ({"margin": 0.4}, x(5), x(5), just(torch.tensor(-1))),
    ],
    "MultiLabelMarginLoss": [
        ({}, x(2, 5), just(torch.tensor([[3, 0, -1, 1, 2], [1, 2, 4, -1, 0]]))),
        ({}, x(5), just(torch.tensor([3, 0, -1, 1, 2]))),
    ],
    "MultiLabelSoftMarginLoss": [({}, x(4, 5), bools(4, 5)), ({"weight": W}, x(4, 5), bools(4, 5))],
    "MultiMarginLoss": [
        ({}, x(4, 5), index(5, 4)),
        ({"p": 2, "margin": 0.4, "weight": W}, x(4, 5), index(5, 4)),
        ({}, x(5), index(5)),
    ],
    "TripletMarginLoss": [
        ({}, x(4, 5), x(4, 5), x(4, 5)),
        ({"margin": 2.0, "p": 1, "swap": True, "eps": 1e-3}, x(4, 5), x(4, 5), x(4, 5)),
        ({}, x(5), x(5), x(5)),
    ],
    "TripletMarginWithDistanceLoss": [
        ({}, x(4, 5), x(4, 5), x(4, 5)),
        ({"distance_function": F.l1_loss, "swap": True, "margin": 0.5}, x(4, 5), x(4, 5), x(4, 5)),
    ],
}
for name, settings in PLAIN.items():
    for number, (options, *inputs) in enumerate(settings):
        for reduction in ("none", "mean", "sum", "batchmean") if name == "KLDivLoss" else REDUCTIONS:
            # The state of a loss with weights names these; only values are of interest here.
            add(
                f"loss.{name}/{number}/{reduction}",
                function(
                    lambda *args, n=name, o=options, r=reduction: getattr(nn, n)(**o, reduction=r)(*args), *inputs
                ),
            )
add("loss.state", layer(lambda: nn.CrossEntropyLoss(weight=torch.ones(5)), x(4, 5), index(5, 4)))
add(
    "loss.state/bce", layer(lambda: nn.BCEWithLogitsLoss(torch.ones(5), pos_weight=torch.ones(5)), x(4, 5), bools(4, 5))
)

LENGTHS = (torch.tensor([6, 5, 6]), torch.tensor([3, 2, 0]))
for reduction in REDUCTIONS:
    for infinite in (False, True):
        add(
            f"loss.CTCLoss/{reduction}/{infinite}",
            function(
                lambda logits, targets, r=reduction, z=infinite: nn.CTCLoss(blank=1, reduction=r, zero_infinity=z)(
                    logits.log_softmax(-1), targets * 2, *LENGTHS
                ),
                x(6, 3, 5),
                index(3, 3, 4),
            ),
        )
    add(
        f"loss.CTCLoss/{reduction}/joined",
        function(
            lambda logits, targets, r=reduction: F.ctc_loss(
                logits.log_softmax(-1), targets + 1, *LENGTHS, reduction=r, zero_infinity=True
            ),
            x(6, 3, 5),
            index(4, 5),
        ),
    )
add(
    "loss.CTCLoss/impossible",
    function(
        lambda logits: nn.CTCLoss(zero_infinity=True)(
            logits.log_softmax(-1), torch.tensor([[1, 1, 1]]), torch.tensor([3]), torch.tensor([3])
        ),
        x(3, 1, 4),
    ),
)
for average, reduce in ((None, None), (True, None), (False, None), (None, False), (True, True)):
    add(
        f"loss.older/{average}/{reduce}",
        function(lambda a, b, s=average, r=reduce: F.mse_loss(a, b, size_average=s, reduce=r), x(3, 2), x(3, 2)),
    )

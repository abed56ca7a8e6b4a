"""The network, and its layer written in Python."""

from __future__ import annotations

import digits_layers

import lamella as lm
from lamella import nn


class Swish(lm.PyLayer):
    """``x * sigmoid(beta * x)`` with one trainable ``beta`` for each column of ``x``.

    Source: Ramachandran et al. 2017, "Searching for activation functions".
    """

    @staticmethod
    def forward(ctx, x: lm.Tensor, beta: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x, beta)
        return x * lm.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, dy: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
        x, beta = ctx.saved_tensor()
        s = lm.sigmoid(beta * x)
        dx = dy * s * (1 + beta * x * (1 - s))
        # One beta serves a whole column: its gradient is the sum over the batch.
        dbeta = lm.sum(dy * x * x * s * (1 - s), axis=0)
        return dx, dbeta


class Digits(nn.Module):
    """Scores of the ten digits for images of 64 pixels: ``(n, 64)`` to ``(n, 10)``."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.second = nn.Linear(128, 64)
        self.beta = nn.Parameter(lm.ones((64,)))
        self.out = nn.Linear(64, 10)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        x = digits_layers.scaled_tanh(self.first(x), 1.7159, 2 / 3)  # written in C++: scaled_tanh.cc
        x = Swish.apply(self.second(x), self.beta)  # written in Python, above
        return self.out(x)

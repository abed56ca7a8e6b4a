"""Paddle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle

from benchmarks.adapters import Trainer


class Identity(paddle.autograd.PyLayer):
    """Returns a copy of its input.

    Paddle 3.3 takes an input returned as it is for an in-place change, which a leaf does not allow; with
    mark_not_inplace the layer runs, but no gradient reaches its input.
    """

    @staticmethod
    def forward(ctx: Any, x: paddle.Tensor) -> paddle.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, dy: paddle.Tensor) -> paddle.Tensor:
        return dy


class Tanh(paddle.autograd.PyLayer):
    """tanh, written with ops."""

    @staticmethod
    def forward(ctx: Any, x: paddle.Tensor) -> paddle.Tensor:
        y = paddle.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: paddle.Tensor) -> paddle.Tensor:
        (y,) = ctx.saved_tensor()
        return dy * (1 - paddle.square(y))


class PaddleAdapter:
    """See benchmarks.adapters.Adapter."""

    relu = staticmethod(paddle.nn.functional.relu)
    tanh = staticmethod(paddle.tanh)
    reshape = staticmethod(paddle.reshape)
    Identity = Identity
    Tanh = Tanh

    def __init__(self) -> None:
        paddle.set_device("cpu")

    def version(self) -> str:
        return str(paddle.__version__)

    def set_threads(self, count: int) -> None:
        """Paddle has no call for it: it takes the environment's OMP_NUM_THREADS, which the driver sets."""

    def tensor(self, array: np.ndarray, wants_grad: bool = False) -> paddle.Tensor:
        return paddle.to_tensor(array, stop_gradient=not wants_grad)

    def numpy(self, tensor: paddle.Tensor) -> np.ndarray:
        return tensor.numpy()

    def clear_grad(self, variable: str) -> str:
        return f"{variable}.clear_gradient(False)"

    def mlp(self, layers: Sequence[tuple[np.ndarray, np.ndarray]], rate: float) -> Trainer:
        modules: list[paddle.nn.Layer] = []
        for weight, bias in layers:
            linear = paddle.nn.Linear(*weight.shape)
            linear.weight.set_value(weight)
            linear.bias.set_value(bias)
            modules += [linear, paddle.nn.ReLU()]
        model = paddle.nn.Sequential(*modules[:-1])
        optimizer = paddle.optimizer.SGD(learning_rate=rate, parameters=model.parameters())
        loss = paddle.nn.functional.cross_entropy
        return Trainer(model, model.parameters(), loss, optimizer.clear_grad, optimizer.step)


ADAPTER = PaddleAdapter()

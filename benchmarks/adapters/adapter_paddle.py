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


class Layers:
    """Paddle's layers under PyTorch's names."""

    Module = paddle.nn.Layer
    Sequential = paddle.nn.Sequential
    Conv2d = paddle.nn.Conv2D
    MaxPool2d = paddle.nn.MaxPool2D
    LayerNorm = paddle.nn.LayerNorm
    Flatten = paddle.nn.Flatten
    ReLU = paddle.nn.ReLU
    GELU = paddle.nn.GELU

    @staticmethod
    def Linear(inputs: int, outputs: int, bias: bool = True) -> paddle.nn.Linear:  # noqa: N802
        return paddle.nn.Linear(inputs, outputs, bias_attr=None if bias else False)


class PaddleAdapter:
    """See benchmarks.adapters.Adapter."""

    relu = staticmethod(paddle.nn.functional.relu)
    tanh = staticmethod(paddle.tanh)
    reshape = staticmethod(paddle.reshape)
    Identity = Identity
    Tanh = Tanh
    nn = Layers

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

    def self_attention(self, qkv: paddle.Tensor, heads: int, causal: bool = False) -> paddle.Tensor:
        batch, tokens, width = qkv.shape
        q, k, v = paddle.unbind(paddle.reshape(qkv, [batch, tokens, 3, heads, width // (3 * heads)]), axis=2)
        # It wants the heads behind the tokens.
        y = paddle.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return paddle.reshape(y, [batch, tokens, width // 3])

    def trainer(
        self, model: paddle.nn.Layer, weights: Sequence[np.ndarray], loss: str, optimizer: str, rate: float
    ) -> Trainer:
        parameters = model.parameters()
        for parameter, value in zip(parameters, weights, strict=True):
            parameter.set_value(value)
        updater = getattr(paddle.optimizer, optimizer)(learning_rate=rate, parameters=parameters)
        return Trainer(model, parameters, getattr(paddle.nn.functional, loss), updater.clear_grad, updater.step)


ADAPTER = PaddleAdapter()

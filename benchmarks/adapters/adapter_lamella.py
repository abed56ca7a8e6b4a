"""Lamella."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import lamella as lm
from benchmarks import custom_ops
from benchmarks.adapters import Trainer


class Identity(lm.PyLayer):
    """Returns its input."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        return dy


class Tanh(lm.PyLayer):
    """tanh, written with ops."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        y = lm.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (y,) = ctx.saved_tensor()
        return dy * (1 - lm.square(y))


class LamellaAdapter:
    """See benchmarks.adapters.Adapter."""

    modules: ClassVar[dict[str, Any]] = {"lm": lm, "permute": lm.permute_dims}
    relu = staticmethod(lm.relu)
    tanh = staticmethod(lm.tanh)
    exp = staticmethod(lm.exp)
    sigmoid = staticmethod(lm.sigmoid)
    cross_entropy = staticmethod(lm.cross_entropy)
    reshape = staticmethod(lm.reshape)
    Identity = Identity
    Tanh = Tanh
    nn = lm.nn

    def version(self) -> str:
        return lm.__version__

    def set_threads(self, count: int) -> None:
        """Lamella takes the environment's OMP_NUM_THREADS, which the driver sets."""

    def tensor(self, array: np.ndarray, wants_grad: bool = False) -> lm.Tensor:
        return lm.tensor(array, stop_gradient=not wants_grad)

    def cast(self, tensor: lm.Tensor, dtype: str) -> lm.Tensor:
        return lm.cast(tensor, dtype)

    def numpy(self, tensor: lm.Tensor) -> np.ndarray:
        values = tensor.detach()
        return (lm.cast(values, "float32") if values.dtype == lm.bfloat16 else values).numpy()

    def schema_op(self) -> Any:
        from lamella import sysconfig

        stamp = Path(sysconfig.get_lib(), "liblamella.so").stat()
        flags = [*sysconfig.get_compile_flags(), *sysconfig.get_link_flags()]
        lm.ops.load_library(custom_ops.library("lamella", f"{lm.__version__} {stamp.st_mtime_ns}", flags))
        return lm.ops.benchmark.scale

    def custom_op(self) -> Any:
        @lm.library.custom_op("benchmark::copy", mutates_args=())
        def copy(x: lm.Tensor) -> lm.Tensor:
            return x.clone()

        return copy

    def clear_grad(self, variable: str) -> str:
        return f"{variable}.grad = None"

    def self_attention(self, qkv: lm.Tensor, heads: int, causal: bool = False) -> lm.Tensor:
        batch, tokens, width = qkv.shape
        parts = lm.split(lm.reshape(qkv, (batch, tokens, 3 * heads, width // (3 * heads))), 3, axis=2)
        q, k, v = (lm.swapaxes(part, 1, 2) for part in parts)
        y = lm.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return lm.reshape(lm.swapaxes(y, 1, 2), (batch, tokens, width // 3))

    def trainer(
        self, model: lm.nn.Module, weights: Sequence[np.ndarray], loss: str, optimizer: str, rate: float
    ) -> Trainer:
        parameters = list(model.parameters())
        with lm.no_grad():
            for parameter, value in zip(parameters, weights, strict=True):
                parameter.copy_(lm.tensor(value.T if value.ndim == 2 else value))
        updater = getattr(lm.optim, optimizer)(parameters, lr=rate)
        shown = [p.detach().T if p.ndim == 2 else p for p in parameters]
        return Trainer(model, shown, getattr(lm, loss), updater.zero_grad, updater.step)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def with_gradient(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        def both(x: lm.Tensor, *others: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
            *others_, dy = others
            y = function(x, *others_)
            (dx,) = lm.grad([y], [x], [dy])
            return y, dx

        return self.compiled(both)

    def training_step(self, trainer: Trainer) -> Callable[[Any, Any], Any]:
        model, loss = trainer.model, trainer.loss
        # Compiled functions know an optimizer's methods where they are called of the optimizer.
        optimizer: lm.optim.Optimizer = trainer.step.__self__  # type: ignore[attr-defined]  # a bound method

        def step(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            optimizer.zero_grad()
            cost: lm.Tensor = loss(model(x), target)
            cost.backward()
            optimizer.step()
            return cost

        return self.compiled(step)


ADAPTER = LamellaAdapter()

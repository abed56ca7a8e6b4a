"""PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from benchmarks import custom_ops
from benchmarks.adapters import Trainer


class Identity(torch.autograd.Function):
    """Returns its input."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> torch.Tensor:
        return dy


class Tanh(torch.autograd.Function):
    """tanh, written with ops."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> torch.Tensor:
        (y,) = ctx.saved_tensors
        return dy * (1 - torch.square(y))


class TorchAdapter:
    """See benchmarks.adapters.Adapter."""

    modules: ClassVar[dict[str, Any]] = {
        "torch": torch,
        "F": torch.nn.functional,
        "np": np,
        "permute": torch.permute,
    }
    relu = staticmethod(torch.relu)
    tanh = staticmethod(torch.tanh)
    exp = staticmethod(torch.exp)
    sigmoid = staticmethod(torch.sigmoid)
    cross_entropy = staticmethod(torch.nn.functional.cross_entropy)
    reshape = staticmethod(torch.reshape)
    Identity = Identity
    Tanh = Tanh
    nn = torch.nn

    def version(self) -> str:
        return torch.__version__

    def set_threads(self, count: int) -> None:
        torch.set_num_threads(count)

    def tensor(self, array: np.ndarray, wants_grad: bool = False) -> torch.Tensor:
        return torch.tensor(array, requires_grad=wants_grad)

    def cast(self, tensor: torch.Tensor, dtype: str) -> torch.Tensor:
        return tensor.to(getattr(torch, dtype))

    def numpy(self, tensor: torch.Tensor) -> np.ndarray:
        values = tensor.detach().resolve_conj()
        return (values.float() if values.dtype == torch.bfloat16 else values).numpy()

    def schema_op(self) -> Any:
        home = Path(torch.__file__).parent
        strings = int(torch._C._GLIBCXX_USE_CXX11_ABI)
        flags = ["-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={strings}", f"-I{home / 'include'}"]
        flags += [f"-I{home / 'include/torch/csrc/api/include'}", f"-L{home / 'lib'}", "-lc10", "-ltorch_cpu"]
        torch.ops.load_library(custom_ops.library("torch", torch.__version__, flags))
        return torch.ops.benchmark.scale

    def custom_op(self) -> Any:
        @torch.library.custom_op("benchmark::copy", mutates_args=())
        def copy(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        return copy

    def clear_grad(self, variable: str) -> str:
        return f"{variable}.grad = None"

    def self_attention(self, qkv: torch.Tensor, heads: int, causal: bool = False) -> torch.Tensor:
        batch, tokens, width = qkv.shape
        q, k, v = qkv.view(batch, tokens, 3, heads, width // (3 * heads)).permute(2, 0, 3, 1, 4).unbind()
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return y.transpose(1, 2).reshape(batch, tokens, width // 3)

    def trainer(
        self, model: torch.nn.Module, weights: Sequence[np.ndarray], loss: str, optimizer: str, rate: float
    ) -> Trainer:
        parameters = list(model.parameters())
        with torch.no_grad():
            for parameter, value in zip(parameters, weights, strict=True):
                parameter.copy_(torch.tensor(value.T if value.ndim == 2 else value))
        updater = getattr(torch.optim, optimizer)(parameters, lr=rate)
        shown = [p.detach().T if p.ndim == 2 else p for p in parameters]
        return Trainer(model, shown, getattr(torch.nn.functional, loss), updater.zero_grad, updater.step)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def with_gradient(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        forward = self.compiled(function)

        def both(x: torch.Tensor, *others: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            *others_, dy = others
            y = forward(x, *others_)
            (dx,) = torch.autograd.grad(y, x, dy)
            return y, dx

        return both

    def training_step(self, trainer: Trainer) -> Callable[[Any, Any], Any]:
        """The cost and the optimizer's step are compiled on their own: a compiled function ends at `backward()`."""
        model, _, loss, clear, _ = trainer
        cost_of = self.compiled(lambda x, target: loss(model(x), target))
        update = self.compiled(trainer.step)

        def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            clear()
            cost: torch.Tensor = cost_of(x, target)
            cost.backward()
            update()
            return cost

        return step


ADAPTER = TorchAdapter()

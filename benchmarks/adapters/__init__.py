"""One thin adapter per framework, so that a workload is written once."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

FRAMEWORKS = ("lamella", "torch", "paddle")
#: The frameworks of benchmarks.compiled, in the order of its table; their adapters are CompiledAdapters.
COMPILED_FRAMEWORKS = ("lamella-compiled", "lamella", "torch", "torch-compiled", "jax")
#: What `import torch` finds in benchmarks.ported: Lamella's front, or PyTorch.
PORTED_FRAMEWORKS = ("lamella-front", "torch")


class Trainer(NamedTuple):
    """A model with its loss and optimizer."""

    model: Callable[[Any], Any]
    #: Weights as [in, out], on the parameters' own memory if the framework stores them otherwise, and biases.
    weights: list[Any]
    loss: Callable[[Any, Any], Any]
    clear: Callable[[], object]
    step: Callable[[], object]


class Adapter(Protocol):
    """Interface that a workload needs of a framework. Tensors are float32 (labels int64) and live on the CPU."""

    #: Names for the expressions of the sweep: the framework's modules, and `permute(x, axes)`.
    modules: Mapping[str, Any]
    #: Elementary functions, under the names that the workloads use.
    relu: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    reshape: Callable[[Any, tuple[int, ...]], Any]
    #: Custom layers, each a class with `apply`. `Identity` returns its input, or the next best thing; `Tanh` is written
    #: with the framework's ops, saves its output, and has `dy * (1 - square(y))` as its gradient.
    Identity: Any
    Tanh: Any
    #: Layers of the framework under PyTorch's names, those that benchmarks.networks uses.
    nn: Any

    def version(self) -> str:
        """The framework's version."""

    def set_threads(self, count: int) -> None:
        """Limits the framework's own threads."""

    def tensor(self, array: np.ndarray, wants_grad: bool = False) -> Any:
        """Returns a leaf tensor with a copy of `array`."""

    def cast(self, tensor: Any, dtype: str) -> Any:
        """Returns the tensor in a dtype that numpy may not have."""

    def numpy(self, tensor: Any) -> np.ndarray:
        """Returns the tensor's values; those of bfloat16 in float32."""

    def schema_op(self) -> Any:
        """Returns the operator of benchmarks.custom_ops, as the framework's table of operators has it. Not Paddle's."""

    def custom_op(self) -> Any:
        """Returns an operator registered from Python, whose kernel copies its argument. Not Paddle's."""

    def clear_grad(self, variable: str) -> str:
        """Returns the statement that drops the gradient of a leaf, in the cheapest way that the framework has."""

    def self_attention(self, qkv: Any, heads: int, causal: bool = False) -> Any:
        """Attention: [batch, tokens, 3 * width], the queries, keys and values, to [..., width].

        A `causal` one lets each token see itself and those before it.
        """

    def trainer(
        self,
        model: Any,
        weights: Sequence[np.ndarray],
        loss: Literal["cross_entropy", "mse_loss"],
        optimizer: Literal["SGD", "Adam"],
        rate: float,
    ) -> Trainer:
        """Gives the model its weights, which are in its own order (linear ones as [in, out]), and the rest around it.

        The optimizer is made with nothing but the rate.
        """


class CompiledAdapter(Adapter, Protocol):
    """An Adapter with what benchmarks.compiled needs. Functions return when their results have been computed."""

    exp: Callable[[Any], Any]
    sigmoid: Callable[[Any], Any]
    #: The mean over rows: (logits [rows, classes], labels [rows]).
    cross_entropy: Callable[[Any, Any], Any]

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function of tensors as the framework compiles it, or as it is where that is what is measured."""

    def with_gradient(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        """Returns a function of (x, *others, dy): the value of `function(x, *others)`, and its gradient for x."""

    def training_step(self, trainer: Trainer) -> Callable[[Any, Any], Any]:
        """Returns a function of (x, target) that makes a step and returns the cost before it."""


def load(framework: str) -> Adapter:
    """Imports the framework and returns its adapter."""
    known = dict.fromkeys((*FRAMEWORKS, *COMPILED_FRAMEWORKS, *PORTED_FRAMEWORKS))
    if framework not in known:
        raise ValueError(f"unknown framework {framework!r}: expected one of {', '.join(known)}")
    module = f"benchmarks.adapters.adapter_{framework.replace('-', '_')}"
    adapter: Adapter = importlib.import_module(module).ADAPTER
    return adapter

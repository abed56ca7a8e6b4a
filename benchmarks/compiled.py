"""Compiled functions: `benchmarks/run compiled` times Lamella's beside Lamella without them, PyTorch's and JAX's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks import networks
from benchmarks.agreement import TOLERANCE
from benchmarks.workloads import Work, Workload

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.adapters import CompiledAdapter

#: Runs of a statement before its results are compared: Lamella's third is the first that runs compiled code.
_RUNS = 4
#: Elements of a chain's tensors.
_ELEMENTS = 4_000_000
#: Rows and classes.
_LOGITS = (4096, 32_000)
#: (tokens, batch) of the language model, (batch, tokens) of the transformers.
_SENTENCES, _TEXTS = (35, 20), (4, networks.GPT[1])
#: Those that compile.
_COMPILERS = ("lamella-compiled", "torch-compiled", "jax")

#: All workloads by name, in the order of the table.
COMPILED: dict[str, Workload] = {}


def _add(
    name: str,
    title: str,
    prepare: Callable[[Any], Work],
    goal: float | None = None,
    *,
    against: str = "torch",
    tolerance: float = TOLERANCE,
) -> None:
    COMPILED[name] = Workload(name, title, prepare, goal=goal, against=against, tolerance=tolerance)


def _normal(*shape: int, seed: int) -> np.ndarray:
    import numpy as np  # here, as the driver reads this table without numpy

    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _integers(*shape: int, below: int, seed: int) -> np.ndarray:
    import numpy as np

    return np.random.default_rng(seed).integers(0, below, shape)


# Chains
# ---------------------------------------------------------------------------------------------------------------------


def _sums(fw: CompiledAdapter) -> Callable[..., Any]:
    return lambda x, w, b: (((x * w + b) * 0.5 + x) * w - b) * 2.0 + 1.0


def _functions(fw: CompiledAdapter) -> Callable[..., Any]:
    return lambda x, w, b: fw.sigmoid(fw.exp(fw.tanh(x * w + b) * 0.5) - b) * w


def _forward(fw: CompiledAdapter, make: Callable[[CompiledAdapter], Callable[..., Any]]) -> Work:
    variables = {name: fw.tensor(_normal(_ELEMENTS, seed=i)) for i, name in enumerate("xwb")}
    return Work("y = f(x, w, b)", {**variables, "f": fw.compiled(make(fw))}, ("y",), _RUNS)


def _backward(fw: CompiledAdapter, make: Callable[[CompiledAdapter], Callable[..., Any]]) -> Work:
    names = ("x", "w", "b", "dy")
    variables = {name: fw.tensor(_normal(_ELEMENTS, seed=i), name == "x") for i, name in enumerate(names)}
    return Work("y, dx = f(x, w, b, dy)", {**variables, "f": fw.with_gradient(make(fw))}, ("y", "dx"), _RUNS)


_add("sums", "8 sums and products of 4 million elements", lambda fw: _forward(fw, _sums), 0.25)
_add("sums_backward", "the same, forward and backward", lambda fw: _backward(fw, _sums), 0.17)
_add(
    "functions",
    "5 sums and products, tanh, exp, sigmoid, 4 million elements",
    lambda fw: _forward(fw, _functions),
    0.25,
)
_add("functions_backward", "the same, forward and backward", lambda fw: _backward(fw, _functions), 0.17)


def _cross_entropy(fw: CompiledAdapter) -> Work:
    import numpy as np

    rows, classes = _LOGITS
    variables = {
        "x": fw.tensor(_normal(rows, classes, seed=0), True),
        "labels": fw.tensor(_integers(rows, below=classes, seed=1)),
        "dy": fw.tensor(np.ones((), np.float32)),
        "f": fw.with_gradient(fw.cross_entropy),
    }
    return Work("y, dx = f(x, labels, dy)", variables, ("y", "dx"), _RUNS)


_add("softmax_cross_entropy", "softmax cross-entropy, 4096x32000, forward and backward", _cross_entropy, 0.5)


# Training steps
# ---------------------------------------------------------------------------------------------------------------------


def _step(
    fw: CompiledAdapter,
    model: Any,
    weights: list[np.ndarray],
    x: np.ndarray,
    target: np.ndarray,
    *,
    loss: Any = "cross_entropy",
    optimizer: Any = "SGD",
    rate: float = 0.01,
) -> Work:
    """A training step, with the cost before the last one and the weights after it to compare."""
    trainer = fw.trainer(model, weights, loss, optimizer, rate)
    variables = {"x": fw.tensor(x), "target": fw.tensor(target), "weights": trainer.weights}
    results = ("cost", *(f"weights[{i}]" for i in range(len(weights))))
    return Work("cost = step(x, target)", {**variables, "step": fw.training_step(trainer)}, results, _RUNS)


def _mlp(batch: int) -> Callable[[CompiledAdapter], Work]:
    def prepare(fw: CompiledAdapter) -> Work:
        x, labels = _normal(batch, networks.MLP_SIZES[0], seed=10), _integers(batch, below=10, seed=11)
        return _step(fw, networks.mlp(fw), networks.mlp_weights(), x, labels)

    return prepare


def _convolutional(fw: CompiledAdapter) -> Work:
    x, labels = _normal(64, 1, 28, 28, seed=10), _integers(64, below=10, seed=11)
    weights = networks.convolutional_weights()
    return _step(fw, networks.convolutional(fw), weights, x, labels, optimizer="Adam", rate=0.001)


def _transformer(fw: CompiledAdapter) -> Work:
    x, target = (_normal(8, 64, networks.TRANSFORMER[0], seed=seed) for seed in (10, 11))
    weights = networks.transformer_weights()
    return _step(fw, networks.transformer(fw), weights, x, target, loss="mse_loss", optimizer="Adam", rate=0.001)


def _language_model(fw: CompiledAdapter) -> Work:
    words = networks.LANGUAGE_MODEL[0]
    x, target = _integers(*_SENTENCES, below=words, seed=10), _integers(*_SENTENCES, below=words, seed=11)
    weights = networks.language_model_weights()
    return _step(fw, networks.language_model(fw), weights, x, target.reshape(-1), rate=1.0)


def _gpt(fw: CompiledAdapter) -> Work:
    words = networks.GPT[0]
    x, target = _integers(*_TEXTS, below=words, seed=10), _integers(*_TEXTS, below=words, seed=11)
    return _step(fw, networks.gpt(fw), networks.gpt_weights(), x, target.reshape(-1))


#: Of training steps with Adam, whose first ones make much of the rounding of small gradients.
_LOOSE = 1e-3

_add("step_mlp1", "MLP 784-256-256-10, SGD step, batch 1", _mlp(1), 0.4, against="lamella")
_add("step_mlp64", "MLP 784-256-256-10, SGD step, batch 64", _mlp(64), 0.8)
_add("step_mlp1024", "MLP 784-256-256-10, SGD step, batch 1024", _mlp(1024))
_add("step_transformer", "transformer block 256 wide, 8x64 tokens, Adam step", _transformer, 0.8, tolerance=_LOOSE)
_add("step_convolutional", "convolutional network, 28x28, Adam step, batch 64", _convolutional, 0.8, tolerance=_LOOSE)
_add("step_lstm", "LSTM language model 200x2, 10,000 words, 20x35 tokens, SGD step", _language_model, 0.6)


# First runs, in fresh processes
# ---------------------------------------------------------------------------------------------------------------------


def _add_first_runs(name: str, title: str, prepare: Callable[[Any], Work]) -> None:
    cold = Workload(f"{name}_cold", f"{title}, first 3 runs", prepare, kind="cold", frameworks=_COMPILERS)
    cached = replace(cold, name=f"{name}_cached", title="the same, with what the cache has", kind="cached")
    COMPILED.update({cold.name: cold, cached.name: cached})


_add_first_runs(
    "functions", "5 sums and products, tanh, exp, sigmoid, backward", COMPILED["functions_backward"].prepare
)
_add_first_runs("gpt", "GPT of 4 layers, 4x64 tokens, SGD step", _gpt)

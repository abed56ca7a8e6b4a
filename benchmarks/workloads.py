"""Workloads: each is written once, over the adapters, so that every framework does the same work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from benchmarks import networks
from benchmarks.agreement import TOLERANCE

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.adapters import Adapter, Trainer


@dataclass(frozen=True)
class Work:
    """A workload made ready in one framework."""

    #: Timed statement: it is compiled into a loop, with the names of `variables` as its local variables.
    statement: str
    variables: dict[str, Any]
    #: Expressions whose values, after one run of the statement, must agree between the frameworks.
    results: tuple[str, ...]
    #: Number of runs of the statement before that: a compiled one is not compiled in its first.
    runs: int = 1


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    name: str
    title: str
    #: Makes it ready; None for an import.
    prepare: Callable[[Adapter], Work] | None
    #: The number of ops in one run of the statement, where times are told per op.
    ops: int = 1
    #: The ratio to another framework's time that Lamella aims at.
    goal: float | None = None
    #: The framework that the goal is about.
    against: str = "torch"
    #: Name that a pattern may match beside the workload's own: that of the operator.
    group: str = ""
    #: Tolerance of results: see benchmarks.agreement.
    tolerance: float = TOLERANCE
    #: Measured quantity: the time of the statement in a loop; or, in fresh processes, that of an import, the peak of
    #: memory, or the time of the first runs of the statement, with nothing compiled ahead, or with what an earlier
    #: process has left in the framework's cache.
    kind: Literal["time", "import", "memory", "cold", "cached"] = "time"
    #: The frameworks that can do it; all where None.
    frameworks: tuple[str, ...] | None = None

    def is_for(self, framework: str) -> bool:
        """True if the framework can run the workload."""
        return self.frameworks is None or framework in self.frameworks


#: All workloads by name, in the order of the table.
WORKLOADS: dict[str, Workload] = {}


def _workload(
    name: str, title: str, *, goal: float | None = None, ops: int = 1, frameworks: tuple[str, ...] | None = None
) -> Callable[[Callable[[Adapter], Work]], Callable[[Adapter], Work]]:
    def register(prepare: Callable[[Adapter], Work]) -> Callable[[Adapter], Work]:
        assert name not in WORKLOADS, f"two workloads are named {name}"
        WORKLOADS[name] = Workload(name, title, prepare, ops, goal, frameworks=frameworks)
        return prepare

    return register


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    import numpy as np  # here, as the driver reads this table without numpy

    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# Small ops: what a call costs. Inputs want no gradient unless the title says "recorded"; gradient mode is on.
# ---------------------------------------------------------------------------------------------------------------------


@_workload("add", "a + b, 2x3", goal=0.15)
def _add(fw: Adapter) -> Work:
    variables = {"a": fw.tensor(_normal(2, 3)), "b": fw.tensor(_normal(2, 3, seed=1))}
    return Work("a + b", variables, ("a + b",))


@_workload("add_recorded", "a + b, 2x3, recorded", goal=0.15)
def _add_recorded(fw: Adapter) -> Work:
    variables = {"a": fw.tensor(_normal(2, 3), wants_grad=True), "b": fw.tensor(_normal(2, 3, seed=1), wants_grad=True)}
    return Work("a + b", variables, ("a + b",))


@_workload("relu", "relu(x), 2x3", goal=0.2)
def _relu(fw: Adapter) -> Work:
    return Work("relu(x)", {"x": fw.tensor(_normal(2, 3)), "relu": fw.relu}, ("relu(x)",))


@_workload("reshape", "reshape(x, (3, 2)), 2x3", goal=0.2)
def _reshape(fw: Adapter) -> Work:
    return Work("reshape(x, (3, 2))", {"x": fw.tensor(_normal(2, 3)), "reshape": fw.reshape}, ("reshape(x, (3, 2))",))


@_workload("index", "x[0], 2x3", goal=0.2)
def _index(fw: Adapter) -> Work:
    return Work("x[0]", {"x": fw.tensor(_normal(2, 3))}, ("x[0]",))


@_workload("sum", "x.sum(), 2x3", goal=0.2)
def _sum(fw: Adapter) -> Work:
    return Work("x.sum()", {"x": fw.tensor(_normal(2, 3))}, ("x.sum()",))


@_workload("matmul8", "a @ b, 8x8", goal=0.2)
def _matmul8(fw: Adapter) -> Work:
    return Work("a @ b", {"a": fw.tensor(_normal(8, 8)), "b": fw.tensor(_normal(8, 8, seed=1))}, ("a @ b",))


# Operators of the user's, called through the table of operators.
_WITH_REGISTRY = ("lamella", "torch")


@_workload("schema_op", "an operator registered in C++, one CPU kernel, 2x3", goal=0.25, frameworks=_WITH_REGISTRY)
def _schema_op(fw: Adapter) -> Work:
    return Work("scale(x, 2.0)", {"x": fw.tensor(_normal(2, 3)), "scale": fw.schema_op()}, ("scale(x, 2.0)",))


@_workload("custom_op", "a custom_op in Python that copies, 2x3", goal=0.25, frameworks=_WITH_REGISTRY)
def _custom_op(fw: Adapter) -> Work:
    return Work("copy(x)", {"x": fw.tensor(_normal(2, 3)), "copy": fw.custom_op()}, ("copy(x)",))


# The tape
# ---------------------------------------------------------------------------------------------------------------------


def _chain(fw: Adapter, shared: bool) -> Work:
    variables = {
        "x": fw.tensor(_normal(2, 3), wants_grad=True),
        "b": fw.tensor(_normal(2, 3, seed=1), wants_grad=shared),
        "dy": fw.tensor(_normal(2, 3, seed=2)),
        "times": range(100),
    }
    clear = [fw.clear_grad("x")] + ([fw.clear_grad("b")] if shared else [])
    lines = [*clear, "y = x", "for _ in times: y = y + b", "y.backward(dy)"]
    return Work("\n".join(lines), variables, ("y", "x.grad", *(["b.grad"] if shared else [])))


@_workload("chain", "100 times y = y + b, forward and backward, per op", goal=0.12, ops=100)
def _chain_constant(fw: Adapter) -> Work:
    return _chain(fw, shared=False)


@_workload("chain_shared", "the same, b wants a gradient too, per op", goal=0.12, ops=100)
def _chain_shared(fw: Adapter) -> Work:
    return _chain(fw, shared=True)


def _layers(fw: Adapter, layer: Any, count: int) -> Work:
    variables = {
        "x": fw.tensor(_normal(2, 3), wants_grad=True),
        "dy": fw.tensor(_normal(2, 3, seed=1)),
        "Layer": layer,
        "times": range(count),
    }
    apply = "y = Layer.apply(x)" if count == 1 else "y = x\nfor _ in times: y = Layer.apply(y)"
    return Work(f"{fw.clear_grad('x')}\n{apply}\ny.backward(dy)", variables, ("y", "x.grad"))


@_workload("pylayer_identity", "100 identity PyLayers, 2x3, forward and backward, per layer", goal=0.15, ops=100)
def _pylayer_identity(fw: Adapter) -> Work:
    return _layers(fw, fw.Identity, 100)


@_workload(
    "pylayer_tanh", "100 tanh PyLayers written with ops, 2x3, forward and backward, per layer", goal=0.15, ops=100
)
def _pylayer_tanh(fw: Adapter) -> Work:
    return _layers(fw, fw.Tanh, 100)


@_workload("pylayer_identity_one", "one identity PyLayer and backward()")
def _pylayer_identity_one(fw: Adapter) -> Work:
    return _layers(fw, fw.Identity, 1)


@_workload("pylayer_tanh_one", "one tanh PyLayer and backward()")
def _pylayer_tanh_one(fw: Adapter) -> Work:
    return _layers(fw, fw.Tanh, 1)


# Training and large tensors
# ---------------------------------------------------------------------------------------------------------------------


def _step(trainer: Trainer, x: Any, target: Any) -> Work:
    """A training step, with the cost before it and the weights after it to compare."""
    variables = {**trainer._asdict(), "x": x, "target": target}
    statement = "clear()\ncost = loss(model(x), target)\ncost.backward()\nstep()"
    return Work(statement, variables, ("cost", *(f"weights[{i}]" for i in range(len(trainer.weights)))))


def _labels(fw: Adapter, batch: int) -> Any:
    import numpy as np

    return fw.tensor(np.random.default_rng(11).integers(0, 10, batch))


def _mlp(fw: Adapter, batch: int) -> Work:
    trainer = fw.trainer(networks.mlp(fw), networks.mlp_weights(), "cross_entropy", "SGD", 0.01)
    return _step(trainer, fw.tensor(_normal(batch, networks.MLP_SIZES[0], seed=10)), _labels(fw, batch))


@_workload("mlp1", "MLP 784-256-256-10, SGD step, batch 1", goal=0.2)
def _mlp1(fw: Adapter) -> Work:
    return _mlp(fw, 1)


@_workload("mlp64", "MLP 784-256-256-10, SGD step, batch 64", goal=0.5)
def _mlp64(fw: Adapter) -> Work:
    return _mlp(fw, 64)


@_workload("mlp1024", "MLP 784-256-256-10, SGD step, batch 1024", goal=0.75)
def _mlp1024(fw: Adapter) -> Work:
    return _mlp(fw, 1024)


def _convolutional(fw: Adapter) -> Work:
    weights = networks.convolutional_weights()
    trainer = fw.trainer(networks.convolutional(fw), weights, "cross_entropy", "Adam", 0.001)
    return _step(trainer, fw.tensor(_normal(64, 1, 28, 28, seed=10)), _labels(fw, 64))


def _transformer(fw: Adapter) -> Work:
    width = networks.TRANSFORMER[0]
    trainer = fw.trainer(networks.transformer(fw), networks.transformer_weights(), "mse_loss", "Adam", 0.001)
    return _step(trainer, fw.tensor(_normal(8, 64, width, seed=10)), fw.tensor(_normal(8, 64, width, seed=11)))


_workload("convolutional", "convolutional network 1-32-64, 28x28, Adam step, batch 64", goal=0.6)(_convolutional)
_workload("transformer", "transformer block 256 wide, 4 heads, 8x64 tokens, Adam step", goal=0.65)(_transformer)


def _large(fw: Adapter, function: Callable[[Any], Any]) -> Work:
    elements = 4_000_000
    variables = {
        "x": fw.tensor(_normal(elements), wants_grad=True),
        "dy": fw.tensor(_normal(elements, seed=1)),
        "f": function,
    }
    return Work(f"{fw.clear_grad('x')}\ny = f(x)\ny.backward(dy)", variables, ("y", "x.grad"))


@_workload("relu4m", "relu over 4 million elements, forward and backward", goal=0.5)
def _relu4m(fw: Adapter) -> Work:
    return _large(fw, fw.relu)


@_workload("tanh4m", "tanh over 4 million elements, forward and backward", goal=0.5)
def _tanh4m(fw: Adapter) -> Work:
    return _large(fw, fw.tanh)


# In fresh processes
# ---------------------------------------------------------------------------------------------------------------------

WORKLOADS["import"] = Workload("import", "import, in a fresh process", None, goal=0.1, kind="import")
WORKLOADS["convolutional_memory"] = Workload(
    "convolutional_memory", "the convolutional network's step, peak memory", _convolutional, goal=0.9, kind="memory"
)
WORKLOADS["transformer_memory"] = Workload(
    "transformer_memory", "the transformer block's step, peak memory", _transformer, goal=0.9, kind="memory"
)

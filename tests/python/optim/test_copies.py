"""Everything that holds state, copied and pickled, and compared by what it does next."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim

TAKE: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    **{f"pickle {p}": lambda x, p=p: pickle.loads(pickle.dumps(x, protocol=p)) for p in range(2, 6)},
    "twice": lambda x: copy.deepcopy(pickle.loads(pickle.dumps(x))),
}
OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "amsgrad": lambda p: optim.Adam(p, lr=0.1, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "Adamax": lambda p: optim.Adamax(p, lr=0.1),
    "NAdam": lambda p: optim.NAdam(p, lr=0.1, momentum_decay=0.1),
    "RAdam": lambda p: optim.RAdam(p, lr=0.1, betas=(0.8, 0.9)),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.1),
    "Adadelta": lambda p: optim.Adadelta(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5),
    "Rprop": lambda p: optim.Rprop(p, lr=0.1),
    "ASGD": lambda p: optim.ASGD(p, lr=0.1, t0=1.0),
    "Lion": lambda p: optim.Lion(p, lr=0.1),
    "LAMB": lambda p: optim.LAMB(p, lr=0.1),
    "LARS": lambda p: optim.LARS(p, lr=0.1),
    "Adafactor": lambda p: optim.Adafactor(p, lr=0.1),
}


def data(*shape: int, seed: int = 0) -> lm.Tensor:
    return lm.asarray(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def network() -> nn.Module:
    lm.random.seed(3)
    return nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6), nn.PReLU(), nn.LayerNorm([6]), nn.Dropout(0.2), nn.Linear(6, 2)
    )


class Training:
    """A model, its optimizer, schedule and scaler, as programs keep them together."""

    def __init__(self, make: Callable[[Any], optim.Optimizer]) -> None:
        self.net = network()
        parameters = list(self.net.parameters())
        self.optimizer = make([{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.05}])
        self.schedule = optim.StepLR(self.optimizer, 2, 0.5)
        self.scaler = lm.amp.GradScaler(init_scale=8.0, growth_interval=2)
        self.steps = 0

    def step(self) -> float:
        lm.random.seed(self.steps)
        self.optimizer.zero_grad()
        loss = (self.net(data(5, 4, seed=self.steps)) ** 2).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.schedule.step()
        self.steps += 1
        return loss.item()

    def numbers(self) -> list[Any]:
        found = [t.detach().numpy().tolist() for t in (*self.net.parameters(), *self.net.buffers())]
        return [found, self.schedule.get_last_lr(), self.scaler.get_scale()]


@pytest.mark.parametrize("take", TAKE)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_training_goes_on_in_the_copy_as_in_the_original(name: str, take: str, before: int) -> None:
    training = Training(OPTIMIZERS[name])
    for _ in range(before):
        training.step()
    copied, kept = TAKE[take](training), TAKE[take](training)
    found = training.numbers()
    losses = [copied.step() for _ in range(4)]
    assert training.numbers() == kept.numbers() == found
    assert [training.step() for _ in range(4)] == losses
    assert copied.numbers() == training.numbers() != found
    assert [kept.step() for _ in range(4)] == losses


@pytest.mark.parametrize("take", TAKE)
def test_a_pair_of_model_and_optimizer_stays_one(take: str) -> None:
    net = nn.Linear(2, 2)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(data(3, 2)).sum().backward()
    optimizer.step()
    other, its_optimizer = TAKE[take]((net, optimizer))
    assert its_optimizer.param_groups[0]["params"][0] is other.weight
    assert set(its_optimizer.state) == {id(other.weight), id(other.bias)}
    assert its_optimizer.state[id(other.weight)]["momentum_buffer"].tolist() == (
        optimizer.state[id(net.weight)]["momentum_buffer"].tolist()
    )


@pytest.mark.parametrize("take", TAKE)
def test_a_step_that_is_under_way(take: str) -> None:
    """Gradients that wait for a step, and a scaler between unscale_ and step."""
    training = Training(OPTIMIZERS["Adam"])
    training.step()
    loss = (training.net(data(5, 4, seed=7)) ** 2).mean()
    training.scaler.scale(loss).backward()
    training.scaler.unscale_(training.optimizer)
    copied = TAKE[take](training)
    for each in (training, copied):
        with pytest.raises(RuntimeError, match="twice"):
            each.scaler.unscale_(each.optimizer)
        each.scaler.step(each.optimizer)
        each.scaler.update()
    assert copied.numbers() == training.numbers()


def test_a_shallow_copy_of_an_optimizer_keeps_books_of_its_own() -> None:
    parameter = nn.Parameter(data(3))
    optimizer = optim.Adam([parameter], lr=0.1)
    parameter.grad = data(3, seed=1)
    optimizer.step()
    other = copy.copy(optimizer)
    assert other.param_groups[0]["params"][0] is parameter
    found = optimizer.state[id(parameter)]["exp_avg"].tolist()
    other.param_groups[0]["lr"] = 7.0
    other.step()
    assert optimizer.state[id(parameter)]["exp_avg"].tolist() == found
    assert optimizer.state[id(parameter)]["step"] == 1
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_a_shallow_copy_of_a_module_registers_for_itself() -> None:
    net = network()
    other = copy.copy(net)
    assert next(other.parameters()) is next(net.parameters())
    other.extra = nn.Parameter(data(3))
    other.register_buffer("more", data(2))
    assert "extra" not in dict(net.named_parameters())
    assert "more" not in dict(net.named_buffers())
    assert not hasattr(net, "extra")


def own(parameter: nn.Parameter) -> Any:
    return parameter.tag


@pytest.mark.parametrize("take", TAKE)
def test_tensors_with_attributes_gradients_and_cycles(take: str) -> None:
    x = nn.Parameter(data(3))
    x.grad = data(3, seed=1)
    x.tag = {"me": x, "other": lm.ones([2])}
    frozen = nn.Parameter(data(2), stop_gradient=True)
    y, z = TAKE[take]([x, frozen])
    assert type(y) is nn.Parameter and y.tag["me"] is y and y is not x
    assert y.tolist() == x.tolist() and y.grad.tolist() == x.grad.tolist()
    assert y.grad is not x.grad and z.stop_gradient and not y.stop_gradient
    y.grad.add_(1)
    y.tag["other"].add_(1)
    with lm.no_grad():
        y.add_(1)
    assert x.tag["other"].tolist() == [1, 1]
    assert x.tolist() == data(3).tolist() and x.grad.tolist() == data(3, seed=1).tolist()


@pytest.mark.parametrize("take", TAKE)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int8", "bool", "float16", "uint64"])
def test_shared_memory_stays_shared(take: str, dtype: str) -> None:
    base = lm.asarray(np.arange(12) % 2).reshape([3, 4]).astype(dtype)
    parts = {
        "base": base,
        "row": base[1],
        "columns": base[:, ::2],
        "turned": base.T,
        "last": base[2:, 3:],
        "whole": base.detach(),
        "alone": base.clone(),
    }
    copied = TAKE[take](parts)
    for name, part in copied.items():
        assert part.dtype == parts[name].dtype and part.tolist() == parts[name].tolist()
        assert part.strides == parts[name].strides
    before = parts["base"].tolist()
    copied["row"].fill_(1)
    copied["last"].fill_(1)
    assert copied["base"].tolist()[1] == copied["whole"].tolist()[1] == [1] * 4
    assert copied["base"].tolist()[2][3] == copied["turned"].tolist()[3][2] == 1
    assert copied["columns"].tolist()[1] == [1, 1]
    assert copied["alone"].tolist() == before == parts["base"].tolist()


@pytest.mark.parametrize("take", TAKE)
def test_tied_weights_and_views_of_parameters(take: str) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(5, 3)
            self.out = nn.Linear(3, 5)
            self.out.weight = self.table.weight
            self.register_buffer("first", self.table.weight.detach()[0])

        def forward(self, x: lm.Tensor) -> lm.Tensor:
            return self.out(self.table(x)) + self.first.sum()

    globals()["Tied"] = Tied
    Tied.__qualname__ = "Tied"
    net = Tied()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    other, its = TAKE[take]((net, optimizer))
    for each, steps in ((net, optimizer), (other, its)):
        for _ in range(3):
            steps.zero_grad()
            (each(lm.asarray([0, 1, 4])) ** 2).sum().backward()
            steps.step()
    assert other.out.weight is other.table.weight
    assert other.first.tolist() == other.table.weight[0].tolist() == net.first.tolist()
    assert other.out.bias.tolist() == net.out.bias.tolist()


@pytest.mark.parametrize("take", TAKE)
def test_recorded_writes_into_a_copy(take: str) -> None:
    x = lm.ones([3])
    y = TAKE[take](x)
    w = lm.ones([3], dtype="float32")
    w.stop_gradient = False
    y.mul_(w * 2)
    y.sum().backward()
    assert w.grad.tolist() == [2, 2, 2]
    assert x.tolist() == [1, 1, 1]


def test_a_pickle_from_elsewhere_reaches_no_memory_beyond_its_own() -> None:
    memory = lm.zeros([16], dtype="uint8")
    place = lm._C._tensor_in_memory
    assert place(memory, "float32", [2], [1], 8).tolist() == [0, 0]
    for shape, strides, offset in [
        *(([5], [1], 0), ([2], [1], 12), ([2], [-1], 0), ([1], [1], 2), ([1], [1], -4), ([1], [1], 20)),
        *(([2**62, 4], [2**62, 1], 0), ([2], [2**62], 0), ([2, 2], [1], 0), ([-1], [1], 0)),
    ]:
        with pytest.raises(ValueError, match=r"\["):
            place(memory, "float32", shape, strides, offset)
    with pytest.raises(ValueError, match="tensor of bytes"):
        place(lm.zeros([4]), "float32", [1], [1], 0)


@pytest.mark.parametrize("take", {**TAKE, "copy": copy.copy})
def test_generators(take: str) -> None:
    for generator in (lm.Generator(seed=5), lm.random.default_generator()):
        lm.rand([3], generator=generator)
        generator.fork()
        other = ({**TAKE, "copy": copy.copy})[take](generator)
        assert other.get_state() == generator.get_state()
        assert lm.rand([5], generator=other).tolist() == lm.rand([5], generator=generator).tolist()
        lm.rand([5], generator=other)
        assert other.get_state() != generator.get_state()
        assert other.fork().get_state() == generator.fork().get_state()


def modules() -> list[type[nn.Module]]:
    """Every layer that has its parameters as soon as it is made; tests of lazy ones are in nn/test_lazy.py."""
    found = [c for _, c in inspect.getmembers(nn, inspect.isclass) if issubclass(c, nn.Module) and c is not nn.Module]
    assert len(found) > 100
    return [c for c in found if not c._lazy]


ARGUMENTS: list[tuple[Any, ...]] = [
    (), (4,), (4, 4), (4, 4, 2), (2, 4), ([4],), (2, 4, 3), ((4, 4), 2), (0.5,), ([lm.nn.Linear(4, 4)],), (0.5, 0.5),
    (4, 8, [2, 4]), (1, (2, 2)), (lm.nn.TransformerEncoderLayer(4, 2, 4), 2),
]  # fmt: skip


#: Arguments of layers that are large without any.
SMALL: dict[type[nn.Module], tuple[Any, ...]] = {nn.Transformer: (4, 2, 1, 1, 4)}


@pytest.mark.parametrize("take", ["deepcopy", "pickle"])
@pytest.mark.parametrize("layer", modules(), ids=lambda c: c.__name__)
def test_every_layer(layer: type[nn.Module], take: str) -> None:
    for arguments in [SMALL[layer]] if layer in SMALL else ARGUMENTS:
        try:
            made = layer(*arguments)
        except (TypeError, ValueError):
            continue
        break
    else:
        pytest.fail(f"no arguments for {layer.__name__}")
    made.eval()
    other = TAKE[take](made)
    assert repr(other) == repr(made) and not other.training
    state, its = made.state_dict(), other.state_dict()
    assert list(state) == list(its)
    for name in state:
        assert state[name].tolist() == its[name].tolist()
        assert its[name].data_ptr() != state[name].data_ptr() or state[name].size == 0
    with lm.no_grad():
        for parameter in other.parameters():
            parameter.fill_(0.25)
    for name, value in made.state_dict().items():
        assert value.tolist() == state[name].tolist()


@pytest.mark.parametrize("name", [*OPTIMIZERS, "LBFGS"])
def test_a_training_goes_on_from_a_file(name: str, tmp_path: Any) -> None:
    """Optimizer and schedules of schedules, by io.save: numbers, None and tuples among the options included."""

    def made(value: Any) -> tuple[Any, Any, Any]:
        x = nn.Parameter(value)
        optimizer = OPTIMIZERS.get(name, optim.LBFGS)([x])
        parts = [optim.LinearLR(optimizer), optim.ChainedScheduler([optim.StepLR(optimizer, 1)])]
        return x, optimizer, optim.SequentialLR(optimizer, parts, [2])

    def advance(x: Any, optimizer: Any, schedule: Any) -> list[Any]:
        def closure() -> lm.Tensor:
            optimizer.zero_grad()
            loss = (x * x).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
            schedule.step()
        return [x.tolist(), schedule.get_last_lr()]

    first = made(data(2, 3))
    advance(*first)
    path = str(tmp_path / "state.safetensors")
    lm.io.save({"optimizer": first[1].state_dict(), "schedule": first[2].state_dict()}, path)
    state = lm.io.load(path)
    second = made(first[0].detach().clone())
    second[1].load_state_dict(state["optimizer"])
    second[2].load_state_dict(state["schedule"])
    assert advance(*second) == advance(*first)


def test_what_belongs_to_no_tensor():
    class Counting(optim.SGD):
        def step(self, closure=None):
            self.state["steps"] = self.state.get("steps", 0) + 1
            return super().step(closure)

    def made():
        optimizer = Counting([nn.Parameter([1.0])], lr=0.1, momentum=0.9)
        optimizer.param_groups[0]["params"][0].grad = lm.ones([1])
        return optimizer

    one = made()
    one.step()
    loaded = made()
    loaded.load_state_dict(one.state_dict())
    for other in (loaded, copy.copy(one), copy.deepcopy(one)):
        other.step()
        assert other.state["steps"] == 2 and one.state["steps"] == 1

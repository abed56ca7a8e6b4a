"""Compiled functions whose work on a CUDA device is captured into graphs: in the emulation."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import _C, nn, optim
from support import emulation

pytestmark = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

#: Two calls are observed, two replays run operator by operator, and the next one is captured.
FIRST_LAUNCH = 5
CALLS = FIRST_LAUNCH + 3


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: Any) -> Iterator[None]:
    """Keeps compiled programs in a folder that is empty at first."""
    before = _C._native_settings()
    lm.graph.set_native("background", cache=tmp_path_factory.mktemp("programs"))
    yield
    _C._set_native_settings(*before)


def numbers(*shape: int, seed: int = 3, dtype: str = "float32") -> lm.Tensor:
    return lm.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype)).to("cuda")


def assert_equal(found: Any, wanted: Any) -> None:
    """Compares tensors bit by bit, and all that a program can ask of them."""
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_equal(a, b)
        return
    if not isinstance(wanted, lm.Tensor):
        assert found == wanted
        return
    kind = [(x.dtype, x.shape, x.strides, x.device, x.stop_gradient, x.is_leaf) for x in (found, wanted)]
    assert kind[0] == kind[1]
    np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())


def assert_close(found: Any, wanted: Any) -> None:
    for a, b in zip(tensors_in(found), tensors_in(wanted), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-4, 1e-6)


def tensors_in(value: Any) -> list[lm.Tensor]:
    return [x for item in value for x in tensors_in(item)] if isinstance(value, (list, tuple)) else [value]


def reports(compiled: Any) -> list[Any]:
    return [report for graph in lm.compile.explain(compiled).cuda_graphs for report in graph]


def launches(compiled: Any) -> int:
    return sum(report.launches for report in reports(compiled))


def reasons(compiled: Any) -> str:
    return "\n".join(report.reason for report in reports(compiled))


def network(*, bias: bool = True, norm: bool = False) -> nn.Module:
    lm.random.seed(2)
    layers = [nn.Linear(4, 6, bias), *([nn.BatchNorm1d(6)] if norm else []), nn.ReLU(), nn.Linear(6, 3, bias)]
    return nn.Sequential(*layers).to("cuda")


# Functions without gradients


Made = tuple[Callable[..., Any], Callable[[int], tuple[lm.Tensor, ...]]]
CAPTURED: dict[str, Callable[[], Made]] = {}
#: Functions that are left to their operators, and why.
REFUSED: dict[str, tuple[str, Callable[[], Made]]] = {}


def captured(make: Callable[[], Made]) -> Callable[[], Made]:
    CAPTURED[make.__name__] = make
    return make


def refused(reason: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    def note(make: Callable[[], Made]) -> Callable[[], Made]:
        REFUSED[make.__name__] = (reason, make)
        return make

    return note


def one(k: int) -> tuple[lm.Tensor, ...]:
    return (numbers(5, 4, seed=k),)


@captured
def products_and_rows():
    w = numbers(4, 6)
    return lambda x: lm.softmax(lm.relu(x @ w + 1), -1).sum(0), one


@captured
def picked_rows():
    return lambda x, i: lm.softmax(nn.functional.embedding(i, x) + lm.take(x, i, axis=0), -1), lambda k: (
        numbers(5, 4, seed=k),
        lm.asarray(np.random.default_rng(k).integers(0, 5, 7)).to("cuda"),
    )


@captured
def several_arguments():
    return lambda x, y: (lm.matmul(x, y) * 2 - x.sum()).cumsum(0), lambda k: (
        numbers(5, 4, seed=k),
        numbers(4, 3, seed=-k % 7),
    )


@captured
def a_network():
    net = network()
    return lambda x: net(x), one


@captured
def a_norm_that_counts():
    net = network(norm=True)

    def function(x: lm.Tensor) -> Any:
        return net(x), net[1].running_mean.clone(), net[1].running_var.clone()

    return function, one


@captured
def a_tensor_that_is_written():
    total = lm.zeros([4], device="cuda")

    def function(x: lm.Tensor) -> lm.Tensor:
        total.add_(x.sum(0))
        return total * x + 1

    return function, one


@captured
def writes_to_what_it_makes():
    def function(x: lm.Tensor) -> lm.Tensor:
        y = x @ x.swapaxes(0, 1)
        y.add_(1)
        y[0] = 7.0
        return y.sum(1) * y

    return function, one


@captured
def other_layouts_of_arguments():
    return lambda x, y: (x @ y).exp() + 1, lambda k: (
        numbers(4, 5, seed=k).swapaxes(0, 1),
        numbers(9, 13, seed=k)[1::2, 2::3],
    )


@captured
def arguments_that_are_repeated():
    return lambda x: lm.matmul(x.broadcast_to([5, 4]), numbers_of_4x3) + 1, lambda k: (
        numbers(1, 4, seed=k).broadcast_to([5, 4]),
    )


numbers_of_4x3 = None if emulation.library() is None else numbers(4, 3)


@captured
def other_layouts_of_results():
    return lambda x: ((x @ numbers_of_4x3).swapaxes(0, 1), (x * x).sum(0, keepdims=True).broadcast_to([3, 4])), one


@captured
def other_dtypes():
    return lambda x: (lm.argmax(x @ x.swapaxes(0, 1), 1), (x > 0).sum(), x.to("float16") * 3), lambda k: (
        numbers(5, 4, seed=k, dtype="float64"),
    )


@captured
def numbers_without_axes():
    return lambda x: (x * 2).exp() @ numbers_of_4x3 * x.sum(), lambda k: (numbers(4, seed=k),)


@captured
def nothing():
    return lambda x: (x @ numbers_of_4x3).exp(), lambda k: (numbers(0, 4, seed=k),)


@captured
def a_step_of_python_between():
    def function(x: lm.Tensor) -> lm.Tensor:
        y = lm.softmax(x @ numbers_of_4x3, -1)
        if y.sum() > 0:
            y = lm.matmul(y, y.swapaxes(0, 1)) * 2
        return y.cumsum(0)

    return function, one


@captured
def dropout():
    return lambda x: nn.functional.dropout(lm.softmax(x, -1), 0.5).sum(0), one


@captured
def random_numbers_alone():
    return lambda x: lm.matmul(x, lm.rand([4, 3], device="cuda")), one


@captured
def draws_of_all_kinds():
    def function(x: lm.Tensor) -> Any:
        normal, order = lm.randn([7], device="cuda"), lm.multinomial(x.exp(), 2)
        counts, gamma = lm.poisson(x.exp()), lm.randint(0, 10, [3, 2], device="cuda")
        return (
            lm.matmul(x, lm.rand([4, 2], dtype="float64", device="cuda").astype("float32")),
            normal,
            order,
            counts,
            gamma,
        )

    return function, one


@refused("the same numbers of its generator")
def numbers_of_another_generator():
    generator = lm.Generator("cuda", 3)
    return lambda x: lm.matmul(x, lm.rand([4, 3], device="cuda", generator=generator)), one


@refused("a result shows memory of a tensor from outside")
def a_view_of_an_argument():
    return lambda x: (x @ numbers_of_4x3, x.swapaxes(0, 1)), one


@refused("two results show the same memory")
def results_that_share_memory():
    def function(x: lm.Tensor) -> Any:
        y = x @ numbers_of_4x3
        return y, y.swapaxes(0, 1)

    return function, one


@refused("writes in place to what it is given")
def writes_to_an_argument():
    def function(x: lm.Tensor) -> lm.Tensor:
        y = lm.softmax(x, -1)
        x.add_(y)
        return y.cumsum(0)

    return function, one


@refused("on cpu, which has no graphs")
def on_the_cpu():
    return lambda x: lm.softmax(x @ x.swapaxes(0, 1), -1), lambda k: (numbers(5, 4, seed=k).to("cpu"),)


@refused("runs Python code")
def to_the_cpu():
    return lambda x: x.to("cpu"), one


@refused("the host would wait")
def errors_of_elements():
    return lambda x: lm.linalg.cholesky(x @ x.swapaxes(0, 1) + lm.eye(5, device="cuda") * 9).sum(0), one


def replayed(function: Callable[..., Any], inputs: Callable[[int], Any], calls: int = CALLS) -> list[Any]:
    """Results of calls, all of which are held until the end; and the inputs after them."""
    lm.random.seed(11)
    found = []
    with lm.no_grad():
        for k in range(calls):
            given = inputs(k)
            found.append((function(*given), given))
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_functions_are_launched(name):
    function, inputs = CAPTURED[name]()
    wanted = replayed(function, inputs)
    function, inputs = CAPTURED[name]()
    compiled = lm.compile(function, cuda_graphs=True)
    assert_equal(replayed(compiled, inputs), wanted)
    assert launches(compiled) >= CALLS + 1 - FIRST_LAUNCH, lm.compile.explain(compiled)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_would_not_do_runs_without_one(name):
    reason, make = REFUSED[name]
    wanted = replayed(*make())
    function, inputs = make()
    compiled = lm.compile(function, cuda_graphs=True)
    assert_equal(replayed(compiled, inputs), wanted)
    assert re.search(reason, reasons(compiled)), lm.compile.explain(compiled)
    assert len(lm.compile.explain(compiled).graphs) == 1


def test_a_call_is_one_launch_and_copies():
    compiled = lm.compile(CAPTURED["several_arguments"]()[0], cuda_graphs=True)
    x, y = numbers(5, 4), numbers(4, 3)
    counts: list[dict[str, int]] = []
    for _ in range(CALLS):
        with emulation.counted() as counted:
            compiled(x, y)
        counts.append(counted)
    assert counts[-1] == {"launches": 1, "on device": 3}
    assert counts[0]["launches"] > 3


def test_without_the_option_nothing_is_captured():
    compiled = lm.compile(CAPTURED["a_network"]()[0])
    replayed(compiled, one)
    assert reports(compiled) == []
    assert "CUDA graph" not in str(lm.compile.explain(compiled))


# Training


def steps(kind: str) -> Callable[[nn.Module, Any, Any], Callable[..., Any]]:
    def make(net: nn.Module, optimizer: Any, kept: list[Any]) -> Callable[..., Any]:
        def first(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            optimizer.zero_grad()
            loss = ((net(x) - target) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        def between(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            loss = nn.functional.mse_loss(net(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()

        def with_results(x: lm.Tensor, target: lm.Tensor) -> Any:
            y = net(x)
            loss = ((y - target) ** 2).sum()
            loss.backward()
            return loss, y, y.argmax(1)

        def with_a_seed(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            y = net(x)
            optimizer.zero_grad()
            y.backward(target)
            optimizer.step()
            return y.detach()

        def clipped(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            loss = ((net(x) - target) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            return loss.detach()

        def of_classes(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), target.argmax(1))
            loss.backward()
            optimizer.step()
            return loss

        def to_zero(x: lm.Tensor, target: lm.Tensor) -> lm.Tensor:
            loss = ((net(x) - target) ** 2).mean()
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
            return loss

        return {
            "first": first, "between": between, "with results": with_results, "with a seed": with_a_seed,
            "clipped": clipped, "of classes": of_classes, "to zero": to_zero,
        }[kind]  # fmt: skip

    return make


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda params: optim.SGD(params, lr=0.1),
    "momentum": lambda params: optim.SGD(params, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda params: optim.Adam(params, lr=0.05),
}


def trained(compiled: Callable[[Any], Any], kind: str, optimizer_of: Any, *, norm: bool = False) -> tuple[Any, Any]:
    """Everything that training has given, with gradients that were held, and the function."""
    net = network(norm=norm)
    optimizer = optimizer_of(net.parameters())
    schedule = optim.lr.StepLR(optimizer, 3)
    function = compiled(steps(kind)(net, optimizer, []))
    found: list[Any] = []
    for k in range(CALLS):
        result = function(numbers(5, 4, seed=k), numbers(5, 3, seed=k + 50))
        schedule.step()
        grads = [p.grad for p in net.parameters()]
        # Where gradients go on, they are one tensor that each step adds to.
        found.append((result, [g.clone() for g in grads] if kind in ("with results", "to zero") else grads))
    return [found, [p.detach() for p in net.parameters()], list(net.buffers())], function


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["first", "between", "with results", "with a seed", "clipped", "of classes"])
def test_steps_are_launched(kind, name):
    eager, _ = trained(lambda f: f, kind, OPTIMIZERS[name])
    found, function = trained(lambda f: lm.compile(f, cuda_graphs=True), kind, OPTIMIZERS[name])
    assert_equal(found, trained(lm.compile, kind, OPTIMIZERS[name])[0])
    assert launches(function) == CALLS + 1 - FIRST_LAUNCH, lm.compile.explain(function)
    assert_close(found, eager)  # joined operators sum gradients in another order


def test_a_step_with_a_norm_that_counts():
    wanted, _ = trained(lm.compile, "between", OPTIMIZERS["adam"], norm=True)
    found, function = trained(lambda f: lm.compile(f, cuda_graphs=True), "between", OPTIMIZERS["adam"], norm=True)
    assert_equal(found, wanted)
    assert launches(function) == CALLS + 1 - FIRST_LAUNCH, lm.compile.explain(function)


def test_steps_that_set_gradients_to_zero_run_without_a_graph():
    wanted, _ = trained(lm.compile, "to zero", OPTIMIZERS["sgd"])
    found, function = trained(lambda f: lm.compile(f, cuda_graphs=True), "to zero", OPTIMIZERS["sgd"])
    assert_equal(found, wanted)
    assert launches(function) == 0 and "on the tape" in reasons(function), lm.compile.explain(function)


def test_a_step_is_two_launches_and_copies():
    net = network()
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    step = lm.compile(steps("between")(net, optimizer, []), cuda_graphs=True)
    x, target = numbers(5, 4), numbers(5, 3)
    for _ in range(CALLS):
        with emulation.counted() as counts:
            step(x, target)
    # Copies of x, target, the loss and four gradients.
    assert counts == {"launches": 2, "on device": 7}


def test_another_pass_through_a_launched_one_is_an_error():
    net = network()
    step = lm.compile(steps("with results")(net, None, []), cuda_graphs=True)
    for k in range(CALLS):
        loss, y, _ = step(numbers(5, 4, seed=k), numbers(5, 3))
    assert launches(step) > 0
    for x in (loss, y.sum(), loss + net[0].weight.sum()):
        with pytest.raises(RuntimeError, match="within a CUDA graph of a compiled function"):
            x.backward()


def test_two_passes_through_the_same_tape():
    weight = numbers(4, 3)
    weight.stop_gradient = False

    def step(x: lm.Tensor) -> lm.Tensor:
        y = (weight + x).sum(0)  # keeps nothing for its gradient
        y.sum().backward()
        (y * 2).sum().backward()
        return y.detach()

    found = []
    for function in (step, lm.compile(step, cuda_graphs=True)):
        weight.grad = None
        results = [function(numbers(4, 3, seed=k)) for k in range(CALLS)]
        found.append((results, weight.grad))
    assert_equal(found[1], found[0])
    assert "gradients flow later through a result" in reasons(function)


def test_gradients_that_come_later_run_without_a_graph():
    net = network()
    compiled = lm.compile(net, cuda_graphs=True)
    for k in range(CALLS):
        x = numbers(5, 4, seed=k)
        grads = []
        for f in (net, compiled):
            for p in net.parameters():
                p.grad = None
            (f(x) ** 2).sum().backward()
            grads.append([p.grad for p in net.parameters()])
        assert_equal(grads[1], grads[0])
    assert launches(compiled) == 0 and "on the tape" in reasons(compiled)


@pytest.mark.parametrize("kind", ["tensor", "after"])
def test_hooks_of_leaves_are_called(kind):
    net = network()
    step = lm.compile(steps("first")(net, optim.SGD(net.parameters(), lr=0.1), []), cuda_graphs=True)
    for k in range(CALLS):
        step(numbers(5, 4, seed=k), numbers(5, 3))
    before = launches(step)
    assert before > 0
    seen: list[Any] = []
    weight = net[0].weight
    hook = (weight.register_hook if kind == "tensor" else weight.register_post_accumulate_grad_hook)(
        lambda x: seen.append(x)
    )
    step(numbers(5, 4), numbers(5, 3))
    assert len(seen) == 1 and launches(step) == before
    hook.remove()
    step(numbers(5, 4), numbers(5, 3))
    assert len(seen) == 1


# What changes between calls


def forward() -> tuple[nn.Module, Any]:
    net = network()
    compiled = lm.compile(net, cuda_graphs=True)
    replayed(compiled, one)
    assert launches(compiled) > 0
    return net, compiled


def check(net: Any, compiled: Any, x: lm.Tensor) -> int:
    """Compares calls, and returns how many of three are launched."""
    before = launches(compiled)
    with lm.no_grad():
        for _ in range(3):
            assert_equal(compiled(x), net(x))
    return launches(compiled) - before


def test_parameters_that_change():
    net, compiled = forward()
    x = numbers(5, 4)
    with lm.no_grad():
        net[0].weight.mul_(2)
    assert check(net, compiled, x) == 3
    net.load_state_dict({name: value * 3 for name, value in net.state_dict().items()})
    assert check(net, compiled, x) == 3


def test_parameters_that_move():
    net, compiled = forward()
    x = numbers(5, 4)
    for _ in range(3):
        _C._exchange_tensors(net[0].weight, (net[0].weight * 2).detach())  # as x.data = y of the dialect for PyTorch
        others = [lm.full([6, 4], 99.0, device="cuda") for _ in range(4)]
        check(net, compiled, x)
        net[0].weight = nn.Parameter(net[0].weight.detach() * 3)
        check(net, compiled, x)
        assert float(sum(other.sum() for other in others)) == 4 * 24 * 99


def test_settings_are_compared():
    net, compiled = forward()
    x = numbers(5, 4)
    before = lm.get_float32_matmul_precision()
    lm.set_float32_matmul_precision("high")
    try:
        assert check(net, compiled, x) == 1
    finally:
        lm.set_float32_matmul_precision(before)
    assert check(net, compiled, x) == 3


def test_streams_have_graphs_of_their_own():
    net, compiled = forward()
    x = numbers(5, 4)
    stream = lm.cuda.Stream()
    stream.wait_stream(lm.cuda.current_stream())
    with lm.cuda.stream(stream):
        assert check(net, compiled, x) == 1
    lm.cuda.current_stream().wait_stream(stream)
    assert check(net, compiled, x) == 3


def test_other_sizes_have_graphs_of_their_own():
    net, compiled = forward()
    for size in (7, 8, 9):
        x = numbers(size, 4)
        for _ in range(3):
            check(net, compiled, x)
        assert check(net, compiled, x) == 3


def test_recording_and_flags_are_compared():
    net, compiled = forward()
    before = launches(compiled)
    assert not compiled(numbers(5, 4)).stop_gradient
    net[0].weight.stop_gradient = True
    with lm.no_grad():
        assert_equal(compiled(numbers(5, 4)), net(numbers(5, 4)))
    with lm.no_grad(), lm.autocast("cuda", dtype=lm.bfloat16):
        assert compiled(numbers(5, 4)).dtype == lm.bfloat16
    assert launches(compiled) == before


def test_a_write_is_counted():
    total, scale = lm.zeros([4], device="cuda"), lm.ones([4], device="cuda")
    scale.stop_gradient = False

    def function(x: lm.Tensor) -> lm.Tensor:
        total.add_(x.sum(0))
        return total * x + 1

    compiled = lm.compile(function, cuda_graphs=True)
    for k in range(CALLS):
        before = total.inplace_version
        y = scale * total  # keeps total for the gradient
        compiled(*one(k))
        assert total.inplace_version == before + 1
        with pytest.raises(RuntimeError, match="overwritten by"):
            y.sum().backward()
    assert launches(compiled) > 0


def test_an_argument_that_shows_what_is_written():
    total = lm.zeros([5, 4], device="cuda")

    def function(x: lm.Tensor) -> lm.Tensor:
        total.add_(lm.softmax(x, -1))
        return x @ numbers_of_4x3

    compiled = lm.compile(function, cuda_graphs=True)
    replayed(compiled, one)
    before = launches(compiled)
    assert before > 0
    shown = total.detach()
    with lm.no_grad():
        found, wanted = compiled(shown), total @ numbers_of_4x3
    assert_equal(found, wanted)


# Code that has to run in every call


def test_operators_with_kernels_in_python_are_called():
    calls: list[int] = []
    library = lm.library.Library("graphed", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: calls.append(1) or x * 2, "CompositeImplicitAutograd")
    function = lambda x: lm.softmax(lm.ops.graphed.twice(lm.softmax(x, -1) @ numbers_of_4x3) + 1, -1).cumsum(0)  # noqa: E731
    wanted = replayed(function, one)
    calls.clear()
    compiled = lm.compile(function, cuda_graphs=True)
    assert_equal(replayed(compiled, one), wanted)
    assert launches(compiled) > 0  # what stands before and behind it
    calls.clear()
    assert_equal(replayed(compiled, one), wanted)
    assert len(calls) == CALLS and "no built-in operator" in reasons(compiled)


def test_layers_that_are_called():
    calls: list[int] = []

    class Noted(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            calls.append(1)
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * 2

    function = lambda x: Noted.apply(lm.softmax(x @ numbers_of_4x3, -1).cumsum(0)) + 1  # noqa: E731
    wanted = replayed(function, one)
    calls.clear()
    compiled = lm.compile(function, cuda_graphs=True)
    assert_equal(replayed(compiled, one), wanted)
    assert len(calls) == CALLS


def test_a_captured_function_within_a_capture():
    _, compiled = forward()
    x = numbers(5, 4)
    graph = lm.cuda.CUDAGraph()
    with lm.no_grad(), lm.cuda.graph(graph):
        y = compiled(x)
    x.copy_(numbers(5, 4, seed=9))
    graph.replay()
    with lm.no_grad():
        assert_equal(y, compiled(x))


def test_threads():
    net, compiled = forward()
    inputs = [numbers(5, 4, seed=k) for k in range(4)]
    with lm.no_grad():
        wanted = [net(x) for x in inputs]
    wrong: list[Any] = []

    def work(k: int) -> None:
        with lm.no_grad():
            found = [compiled(inputs[k]) for _ in range(30)]
        wrong.extend(y for y in found if not np.array_equal(y.numpy(), wanted[k].numpy()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# The option


def test_memory_goes_with_the_function():
    x = numbers(64, 64)
    w = numbers(64, 64)
    compiled = lm.compile(lambda x: lm.softmax(x @ w, -1) @ w, cuda_graphs=True)
    lm.softmax(x @ w, -1) @ w  # loads what stays loaded
    gc.collect()
    lm.cuda.empty_cache()
    before = lm.cuda.memory_reserved(), lm.cuda.memory_allocated()
    for _ in range(CALLS):
        compiled(x)
    assert launches(compiled) > 0
    lm.cuda.empty_cache()
    assert lm.cuda.memory_reserved() > before[0]
    gone = weakref.ref(compiled)
    del compiled
    gc.collect()
    assert gone() is None
    lm.cuda.empty_cache()
    assert (lm.cuda.memory_reserved(), lm.cuda.memory_allocated()) == before


def test_forms_of_the_option():
    @lm.compile(cuda_graphs=True)
    def decorated(x: lm.Tensor) -> lm.Tensor:
        return lm.softmax(x, -1).cumsum(0)

    net = lm.compile(network(), cuda_graphs=True)
    plain = lm.compile(network())
    forms = [
        decorated, net, copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net)),
        lm.compile(plain, cuda_graphs=True), lm.compile(net),
    ]  # fmt: skip
    for form in forms:
        replayed(form, one)
        assert launches(form) > 0
    replayed(plain, one)
    assert reports(plain) == []


def test_what_is_said():
    net = network()
    step = lm.compile(steps("between")(net, optim.SGD(net.parameters(), lr=0.1), []), cuda_graphs=True)
    for k in range(CALLS):
        step(numbers(5, 4, seed=k), numbers(5, 3))
    said = str(lm.compile.explain(step))
    assert re.search(r"steps from 'lamella::linear' \(.*\) to 'backward' \(.*\): a CUDA graph, launched 4 times", said)
    assert re.search(r"'Optimizer.zero_grad' \(.*\): no CUDA graph: it runs Python code in every call", said)


def test_the_order_holds_for_work_that_starts_as_late_as_it_may():
    environment = {**os.environ, "LAMELLA_EMULATION_DEFERRED": "1"}
    tests = "launched or stream or move or counted"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests, __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

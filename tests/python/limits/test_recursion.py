"""Recursion that has no end, of every kind that a user's functions can bring about, ends in Python's RecursionError."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import lamella as lm
from lamella.autograd import checkpoint, jacobian, jvp, saved_tensors_hooks, vmap
from lamella.library import custom_op

ENDLESS: dict[str, Callable[[], Any]] = {}


def endless(function: Callable[[], Any]) -> Callable[[], Any]:
    ENDLESS[function.__name__] = function
    return function


def leaf() -> lm.Tensor:
    return lm.tensor([1.0, 2.0], stop_gradient=False)


@endless
def layers_forward() -> None:
    class Endless(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return Endless.apply(x)

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy

    Endless.apply(leaf())


@endless
def layers_backward() -> None:
    class Endless(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            with lm.enable_grad():
                Endless.apply(leaf()).sum().backward()
            return dy

    Endless.apply(leaf()).sum().backward()


@endless
def layers_backward_that_calls_grad() -> None:
    class Endless(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            with lm.enable_grad():
                x = leaf()
                return lm.grad(Endless.apply(x).sum(), x, create_graph=True)

    x = leaf()
    lm.grad(Endless.apply(x).sum(), x)


@endless
def layers_jvp() -> None:
    class Endless(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy

        @staticmethod
        def jvp(ctx: Any, tangent: lm.Tensor) -> Any:
            return jvp(Endless.apply, (leaf(),), (tangent,))[1]

    jvp(Endless.apply, (leaf(),), (leaf(),))


@endless
def tensor_hook() -> None:
    def hook(g: lm.Tensor) -> None:
        with lm.enable_grad():
            y = leaf() * 2
            y.register_hook(hook)
            y.sum().backward()

    y = leaf() * 2
    y.register_hook(hook)
    y.sum().backward()


@endless
def hook_of_the_same_graph() -> None:
    def hook(g: lm.Tensor) -> None:
        with lm.enable_grad():
            total = y.sum()
        total.backward(retain_graph=True)

    y = leaf() * 2
    y.register_hook(hook)
    y.sum().backward(retain_graph=True)


@endless
def accumulated_hook() -> None:
    def hook(x: lm.Tensor) -> None:
        with lm.enable_grad():
            total = (x * 2).sum()
        total.backward()

    x = leaf()
    x.register_post_accumulate_grad_hook(hook)
    (x * 2).sum().backward()


@endless
def node_hooks() -> None:
    def run(*_: Any) -> None:
        with lm.enable_grad():
            y = leaf() * 2
            y.grad_fn.register_prehook(run)
            y.sum().backward()

    run()


@endless
def checkpoint_in_checkpoint() -> None:
    def block(x: lm.Tensor) -> lm.Tensor:
        return checkpoint(block, x)

    checkpoint(block, leaf()).sum().backward()


@endless
def checkpoint_that_computes_again() -> None:
    def block(x: lm.Tensor) -> lm.Tensor:
        if again:
            checkpoint(block, leaf(), determinism_check="none").sum().backward()
        return x.exp() * x

    again: list[int] = []
    y = checkpoint(block, leaf(), determinism_check="none")
    again.append(1)
    y.sum().backward()


@endless
def packing() -> None:
    def pack(x: lm.Tensor) -> lm.Tensor:
        with lm.enable_grad(), saved_tensors_hooks(pack, lambda packed: packed):
            (leaf() * leaf()).sum()
        return x

    with saved_tensors_hooks(pack, lambda packed: packed):
        (leaf() * leaf()).sum()


@endless
def unpacking() -> None:
    def unpack(x: lm.Tensor) -> lm.Tensor:
        total().backward()
        return x

    def total() -> lm.Tensor:
        with lm.enable_grad(), saved_tensors_hooks(lambda x: x, unpack):
            return (leaf().exp() * leaf()).sum()

    total().backward()


@endless
def mapped() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        return vmap(f)(lm.stack([x]))

    vmap(f)(leaf())


@endless
def forward_mode() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        return jvp(f, (x,), (x,))[1]

    f(lm.ones([2]))


@endless
def jacobians() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        return jacobian(f, x).sum()

    f(lm.ones([2]))


@custom_op("limits::endless", mutates_args=())
def endless_kernel(x: lm.Tensor) -> lm.Tensor:
    return endless_kernel(x) * 1


@custom_op("limits::endless_gradient", mutates_args=())
def endless_gradient(x: lm.Tensor) -> lm.Tensor:
    return lm.asarray(x.numpy() * 1)


def gradient_of_it(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
    with lm.enable_grad():
        endless_gradient(leaf()).sum().backward()
    return dy


endless_gradient.register_autograd(gradient_of_it)


@endless
def custom_operator() -> None:
    endless_kernel(lm.ones([2]))


@endless
def custom_operator_backward() -> None:
    endless_gradient(leaf()).sum().backward()


@endless
def module() -> None:
    class Endless(lm.nn.Module):
        def forward(self, x: lm.Tensor) -> lm.Tensor:
            return self(x * 1)

    Endless()(leaf())


@pytest.mark.parametrize("name", ENDLESS)
def test_ends_in_a_recursion_error(name):
    with pytest.raises(RecursionError):
        ENDLESS[name]()
    check_all_is_well()


@pytest.mark.parametrize("name", ["layers_backward", "tensor_hook", "layers_forward", "checkpoint_in_checkpoint"])
def test_on_another_thread(name):
    caught: list[BaseException] = []

    def run() -> None:
        try:
            ENDLESS[name]()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [type(error) for error in caught] == [RecursionError]
    check_all_is_well()


def check_all_is_well() -> None:
    """The next pass starts clean."""
    assert lm.is_grad_enabled()
    x = leaf()
    lm.tanh(x * 3).sum().backward()
    assert x.grad is not None and abs(x.grad[0].item() - 3 * (1 - 0.995054754**2)) < 1e-5


@pytest.mark.parametrize("levels", [1000, 5000])
def test_what_is_meant_to_be_deep_works(levels):
    class Nested(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor, depth: int) -> lm.Tensor:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            if not ctx.depth:
                return dy * 3
            with lm.enable_grad():
                x = leaf()
                return dy * lm.grad(Nested.apply(x, ctx.depth - 1).sum(), x)

    x = leaf()
    Nested.apply(x, levels).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3]


def test_the_bound_follows_pythons():
    def hook(g: lm.Tensor) -> None:
        reached.append(1)
        with lm.enable_grad():
            y = leaf() * 2
            y.register_hook(hook)
            y.sum().backward()

    counts = []
    before = sys.getrecursionlimit()
    for limit in (300, 600):
        reached: list[int] = []
        sys.setrecursionlimit(limit)
        try:
            y = leaf() * 2
            y.register_hook(hook)
            with pytest.raises(RecursionError, match="passes are nested"):
                y.sum().backward()
        finally:
            sys.setrecursionlimit(before)
        counts.append(len(reached))
    assert 300 < counts[0] < 300 * 10 and 1.5 < counts[1] / counts[0] < 2.5

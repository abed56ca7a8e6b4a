"""Tensors that a checkpoint's function refers to, written to before it runs again: an error, not silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import checkpoint
from support.tensors import vec

Function = Callable[[lm.Tensor, lm.Tensor], lm.Tensor]


class Product(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, w: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        x, w = ctx.saved_tensors
        return dy * w, dy * x


#: What a function may do with a tensor w that is no argument: all read it, by every kind of operator.
READS: dict[str, Function] = {
    "saved": lambda x, w: x * w,
    "not saved": lambda x, w: lm.exp(x + w),
    "far from what is saved": lambda x, w: lm.exp(lm.sin(x + w) + 1),
    "a constant made of it": lambda x, w: x * (w.detach() * 2 + 1),
    "made without recording": lambda x, w: x * without_recording(w),
    "compared": lambda x, w: lm.where(w > 1.5, x * x, x),
    "a view": lambda x, w: x * w[:],
    "turned": lambda x, w: (x * w.reshape([2, 1])).sum(0),
    "joined": lambda x, w: lm.exp(lm.concat([x, w])),
    "product": lambda x, w: lm.exp(lm.matmul(w, x)),
    "indexed by": lambda x, w: lm.exp(x)[lm.astype(w, "int64") - 1],
    "an own layer": lambda x, w: lm.exp(Product.apply(x, w)),
    "in place": lambda x, w: (x * 1).mul_(w).exp(),
    "written elsewhere": lambda x, w: x * lm.zeros_like(w).copy_(w),
    "added elsewhere": lambda x, w: x * without_recording(w).add_(w),
    "assigned": lambda x, w: x * assigned(w),
    "cast": lambda x, w: x * w.astype("float32"),
}
WRITES: dict[str, Callable[[lm.Tensor], Any]] = {
    "mul_": lambda w: w.mul_(2.0),
    "fill_": lambda w: w.fill_(1.0),
    "copy_": lambda w: w.copy_(vec(2, 1)),
    "setitem": lambda w: w.__setitem__(0, 2.0),
    "a view": lambda w: w[1:].add_(1.0),
    "out": lambda w: lm.add(vec(1, 0), vec(0, 1), out=w),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "checks off": {"determinism_check": "none"},
    "whole": {"early_stop": False},
    "random": {"preserve_rng_state": False},
    "policy that keeps nothing": {"policy": {"none"}},
    "reentrant": {"use_reentrant": True},
    "reentrant, random": {"use_reentrant": True, "preserve_rng_state": False},
}


def without_recording(w: lm.Tensor) -> lm.Tensor:
    with lm.no_grad():
        return w * w


def assigned(w: lm.Tensor) -> lm.Tensor:
    made = lm.zeros([2], dtype="float64")
    made[:] = w
    return made


def run(function: Function, write: Callable[[lm.Tensor], Any] | None, grad: bool = False, **options: Any) -> Any:
    x, w = vec(0.5, 0.25, grad=True), vec(1, 2, grad=grad)
    y = checkpoint(lambda z: function(z, w), x, **options)
    if write:
        with lm.no_grad():
            write(w)
    y.sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("read", READS)
def test_what_the_function_refers_to(read: str, options: str) -> None:
    x = vec(0.5, 0.25, grad=True)
    READS[read](x, vec(1, 2)).sum().backward()
    np.testing.assert_allclose(run(READS[read], None, **OPTIONS[options]), x.grad.numpy())
    with pytest.raises(RuntimeError, match=r"\[checkpoint\].*overwritten by mul_ at .*\.py:\d+.*clone\(\)"):
        run(READS[read], WRITES["mul_"], **OPTIONS[options])


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("write", WRITES)
def test_every_write(write: str, grad: bool) -> None:
    for read in ("saved", "not saved"):
        with pytest.raises(RuntimeError, match=r"overwritten by"):
            run(READS[read], WRITES[write], grad)


def test_parameters_of_a_module_and_an_optimizer_between() -> None:
    net = lm.nn.Sequential(lm.nn.Linear(2, 3), lm.nn.Tanh(), lm.nn.Linear(3, 1))
    optimizer = lm.optim.SGD(net.parameters(), lr=0.1)
    x = vec(0.5, 0.25, grad=True).astype("float32")
    for _ in range(3):
        optimizer.zero_grad()
        checkpoint(net, x).sum().backward()
        optimizer.step()
    y = checkpoint(net, x)
    optimizer.step()
    with pytest.raises(RuntimeError, match=r"\[checkpoint\] input \d of \w+ .*overwritten by sgd"):
        y.sum().backward()


def test_what_the_function_writes_itself() -> None:
    """Running statistics, counters and buffers of its own, which the second run writes to again."""
    norm = lm.nn.BatchNorm1d(3)
    x = lm.tensor(np.random.default_rng(0).normal(size=(5, 3)).astype("float32"), stop_gradient=False)
    weights = lm.asarray(np.arange(15, dtype="float32").reshape(5, 3))

    def gradient(call: Callable[[lm.Tensor], lm.Tensor]) -> np.ndarray:
        x.grad = None
        (call(x) * weights).sum().backward()
        (call(x) * weights).sum().backward()
        return x.grad.numpy()

    expected = gradient(lambda z: lm.exp(norm(z)))
    for options in OPTIONS.values():
        got = gradient(lambda z, options=options: checkpoint(lambda u: lm.exp(norm(u)), z, **options))
        np.testing.assert_allclose(got, expected, rtol=1e-5)
    counter = vec(0, 0)

    def counting(z: lm.Tensor) -> lm.Tensor:
        own = lm.zeros([2], dtype="float64")
        own.add_(z.detach())
        own.mul_(2)
        y = lm.exp(z * own)
        counter.add_(1)
        return y

    z = vec(1, 2, grad=True)
    for _ in range(2):
        checkpoint(counting, z).sum().backward()
    assert counter.tolist() != [0, 0]


def test_writes_that_come_too_late_or_matter_to_nobody() -> None:
    x, w, other = vec(1, 2, grad=True), vec(3, 4), vec(5, 6)
    y = checkpoint(lambda z: lm.exp(z * w), x)
    other.mul_(2)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    w.mul_(2)
    # A function of which nothing is saved need not run again.
    w = vec(3, 4)
    y = checkpoint(lambda z: z + w, x)
    w.mul_(2)
    y.sum().backward()
    # A clone is nobody's.
    u = w.clone()
    y = checkpoint(lambda z: z * u, x)
    w.mul_(2)
    y.sum().backward()


def test_the_second_of_two_passes() -> None:
    x, w = vec(1, 2, grad=True), vec(3, 4)
    y = checkpoint(lambda z: lm.exp(z * w), x)
    y.sum().backward(retain_graph=True)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="overwritten by mul_"):
        y.sum().backward()


@pytest.mark.parametrize("inner_reads", [True, False])
def test_checkpoints_in_checkpoints(inner_reads: bool) -> None:
    x, w = vec(1, 2, grad=True), vec(3, 4)

    def outer(z: lm.Tensor) -> lm.Tensor:
        y = checkpoint(lambda u: lm.exp(u * w if inner_reads else u * u), z)
        return y if inner_reads else lm.exp(y * w)

    y = checkpoint(outer, x)
    w.mul_(2)
    with pytest.raises(RuntimeError, match="overwritten by mul_"):
        y.sum().backward()


def test_calls_that_a_policy_keeps() -> None:
    """Kept results are right whatever became of what they were computed from, unless backward reads that."""
    for op, fails in (("add", False), ("multiply", True)):
        x, w = vec(1, 2, grad=True), vec(3, 4)
        function = (lambda z, w=w: z + w) if op == "add" else (lambda z, w=w: z * w)
        y = checkpoint(function, x, policy={op})
        lm.exp(y).sum()
        w.mul_(2)
        if fails:
            with pytest.raises(RuntimeError, match="overwritten by mul_"):
                y.sum().backward()
        else:
            y.sum().backward()


def test_an_error_leaves_the_thread_as_it_was() -> None:
    with pytest.raises(RuntimeError, match="overwritten"):
        run(READS["saved"], WRITES["mul_"])
    x = vec(1, 2, grad=True)
    w = vec(3, 4)
    y = x * w
    w2 = w + 0
    w2.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [3, 4]

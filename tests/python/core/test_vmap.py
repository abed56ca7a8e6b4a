"""vmap as a transform: axes, containers, nesting, derivatives, writes in place, randomness, errors, leaks."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections import namedtuple
from typing import Any, ClassVar

import numpy as np
import pytest

import lamella as lm
from support.threads import run_on_threads

vmap = lm.autograd.vmap


def table(*shape: int, seed: int = 0) -> lm.Tensor:
    return lm.asarray(np.random.default_rng(seed).uniform(-2, 2, shape))


def equal(got: lm.Tensor, expected: Any) -> None:
    wanted = expected.detach().numpy() if isinstance(expected, lm.Tensor) else expected
    np.testing.assert_allclose(got.detach().numpy(), wanted, rtol=1e-10, atol=1e-12)


# Axes and containers


def test_inside_a_tensor_shows_one_example() -> None:
    seen: list[Any] = []

    def look(x: lm.Tensor) -> lm.Tensor:
        seen.append((x.shape, x.ndim, x.size, len(x), x.is_contiguous(), repr(x)))
        return x * 2

    equal(vmap(look)(table(3, 2)), table(3, 2).numpy() * 2)
    shape, ndim, size, length, contiguous, text = seen[0]
    assert (shape, ndim, size, length, contiguous) == ((2,), 1, 2, 2, False)
    assert text == "Tensor(<one of 3 examples of vmap>, shape=[2], dtype=float64)"


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_axes(axis: int, out: int) -> None:
    x = table(2, 3, 4)
    got = vmap(lambda x: x + x.sum(), in_axes=axis, out_axes=out)(x)
    parts = [np.take(x.numpy(), i, axis) for i in range(x.shape[axis])]
    equal(got, np.stack([p + p.sum() for p in parts], out))


def test_containers_in_and_out() -> None:
    Pair = namedtuple("Pair", ["a", "b"])

    def f(pair: Any, options: Any) -> Any:
        return {"sum": pair.a + pair.b, "parts": [pair.a * options["scale"][0], (pair.b,)]}

    pair = Pair(table(3, 2), table(2, 3, seed=1))
    result = vmap(f, in_axes=(Pair(0, 1), {"scale": [None]}), out_axes={"sum": 1, "parts": [0, (-1,)]})(
        pair, {"scale": [lm.asarray(3.0)]}
    )
    equal(result["sum"], (pair.a.numpy() + pair.b.numpy().T).T)
    equal(result["parts"][0], pair.a.numpy() * 3)
    equal(result["parts"][1][0], pair.b.numpy())
    assert isinstance(result["parts"][1], tuple)


def test_keyword_arguments_are_mapped_over_axis_0() -> None:
    got = vmap(lambda x, *, y, factor: x * y["y"] * factor)(table(3), y={"y": table(3, seed=1)}, factor=2)
    equal(got, table(3).numpy() * table(3, seed=1).numpy() * 2)


def test_the_same_for_all() -> None:
    x, w = table(3, 2), table(2, seed=1)
    equal(vmap(lambda x, w: x * w, in_axes=(0, None))(x, w), x.numpy() * w.numpy())
    equal(vmap(lambda x: w * 2)(x), np.stack([w.numpy() * 2] * 3))
    equal(vmap(lambda x: (x, w * 2), out_axes=(0, None))(x)[1], w.numpy() * 2)


@pytest.mark.parametrize("size", [0, 1])
def test_few_examples(size: int) -> None:
    x = lm.zeros([size, 2, 3])
    assert vmap(lambda x: x.sum(0))(x).shape == (size, 3)
    assert vmap(lambda x: x @ lm.ones([3, 4]))(x).shape == (size, 2, 4)
    assert vmap(lambda x: lm.softmax(x)[lm.asarray([0, 1, 1])])(x).shape == (size, 3, 3)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("axis", [0, 1])
def test_chunks(chunk: int, axis: int) -> None:
    x = table(5, 5, 2)
    got = vmap(lambda x, y: (x.sum(), {"y": x * y}), in_axes=(axis, None), out_axes=(0, 1), chunk_size=chunk)(
        x, lm.asarray(2.0)
    )
    equal(got[0], x.numpy().sum((1 - axis, 2)))
    equal(got[1]["y"], np.moveaxis(x.numpy(), axis, 1) * 2)


def test_wraps_the_function() -> None:
    def named(x: lm.Tensor) -> lm.Tensor:
        """Its text."""
        return x

    assert vmap(named).__name__ == "named"
    assert vmap(named).__doc__ == "Its text."


def test_nested_with_values_of_the_outer_call() -> None:
    x, y = table(3), table(4, seed=1)
    outer = vmap(lambda a: vmap(lambda b: a * b + a)(y))(x)
    equal(outer, x.numpy()[:, None] * y.numpy() + x.numpy()[:, None])
    crossed = vmap(lambda a: vmap(lambda b: a - b)(a * y).sum())(x)
    equal(crossed, (x.numpy()[:, None] - x.numpy()[:, None] * y.numpy()).sum(1))
    three = vmap(vmap(vmap(lambda a: a.sum())))(table(2, 3, 4, 5))
    equal(three, table(2, 3, 4, 5).numpy().sum(-1))


def test_threads_do_not_see_each_other() -> None:
    results: list[Any] = []
    barrier = threading.Barrier(2)

    def f(x: lm.Tensor) -> lm.Tensor:
        barrier.wait()
        y = x * 2
        barrier.wait()
        return y

    def run(n: int) -> None:
        results.append((n, vmap(f)(lm.arange(n)).tolist()))

    run_on_threads(lambda: run(2), lambda: run(3))
    assert sorted(results) == [(2, [0, 2]), (3, [0, 2, 4])]


# Derivatives


class Net:
    """A perceptron and its loss, as functions of one example."""

    def __init__(self) -> None:
        self.weights = [
            lm.tensor(table(*shape, seed=i).numpy() * 0.5, stop_gradient=False)
            for i, shape in enumerate([(6, 4), (6,), (3, 6), (3,)])
        ]
        self.x = table(5, 4, seed=9)
        self.y = lm.asarray(np.array([0, 2, 1, 1, 0]))

    def loss(self, x: lm.Tensor, y: lm.Tensor) -> lm.Tensor:
        w1, b1, w2, b2 = self.weights
        hidden = lm.tanh(lm.linear(x, w1, b1))
        return lm.cross_entropy(hidden @ w2.mT + b2, y)


def test_per_example_gradients_of_a_net() -> None:
    net = Net()
    got = vmap(lambda x, y: tuple(lm.grad([net.loss(x, y)], net.weights)))(net.x, net.y)
    for i in range(5):
        for grads, expected in zip(got, lm.grad([net.loss(net.x[i], net.y[i])], net.weights), strict=True):
            equal(grads[i], expected)
    assert all(w.grad is None for w in net.weights)


def test_gradient_of_a_mapped_net() -> None:
    net = Net()
    vmap(net.loss)(net.x, net.y).sum().backward()
    ours = [w.grad.numpy() for w in net.weights]
    assert [g.shape for g in ours] == [w.shape for w in net.weights]
    for w in net.weights:
        w.grad = None
    sum((net.loss(net.x[i], net.y[i]) for i in range(5)), start=lm.asarray(0.0)).backward()
    for a, w in zip(ours, net.weights, strict=True):
        np.testing.assert_allclose(a, w.grad.numpy(), rtol=1e-10)


def test_uses_inside_and_outside_add_up() -> None:
    x, w = table(3), lm.tensor(2.0, dtype="float64", stop_gradient=False)
    twice = w * w
    (vmap(lambda x: x * twice)(x).sum() + 5 * twice + w).backward()
    equal(w.grad, 2 * 2.0 * (x.numpy().sum() + 5) + 1)


def test_hooks_outside_see_whole_gradients() -> None:
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    seen: list[Any] = []
    middle = w * 3
    middle.register_hook(lambda g: seen.append(g.tolist()))
    w.register_hook(lambda g: seen.append(g.tolist()))
    vmap(lambda x: x * middle)(lm.ones([4, 2])).sum().backward()
    assert seen == [[4.0, 4.0], [12.0, 12.0]]


class Tripled(lm.PyLayer):
    """Reads memory in both directions: it can stand outside of vmap, and inside where nothing of it is mapped."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> Any:
        return lm.asarray(x.numpy() * 3)

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return lm.asarray(dy.numpy() * 3)


def test_what_is_not_mapped_gets_whole_gradients() -> None:
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    outside = Tripled.apply(w)
    vmap(lambda x: (x * outside).sum())(lm.ones([4, 2])).sum().backward()
    assert w.grad.tolist() == [12.0, 12.0]
    w.grad = None
    vmap(lambda x: (x * Tripled.apply(w)).sum())(lm.ones([4, 2])).sum().backward()
    assert w.grad.tolist() == [12.0, 12.0]
    w.grad = None
    a, b = vmap(lambda x: (x * w, w * w), out_axes=(0, None))(lm.ones([4, 2]))
    (a.sum() + b.sum()).backward()
    assert w.grad.tolist() == [6.0, 8.0]


def test_a_constant_gradient_counts_for_each_example() -> None:
    class Constant(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            return lm.full([2], 2.0)

    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    vmap(lambda x: Constant.apply(x * w).sum())(lm.ones([4, 2])).sum().backward()
    assert w.grad.tolist() == [8.0, 8.0]


def test_second_derivatives_of_shared_weights() -> None:
    weights = [lm.tensor(table(*shape, seed=3), stop_gradient=False) for shape in [(3, 4), (3,), (7, 4)]]
    w, b, rows = weights
    x, ids = table(6, 5, 4), lm.asarray(np.random.default_rng(0).integers(0, 7, (6, 5)))

    def net(x: lm.Tensor, ids: lm.Tensor) -> lm.Tensor:
        return lm.tanh(lm.linear(x + rows[ids], w, b)) @ w

    def second(y: lm.Tensor) -> list[lm.Tensor]:
        first = lm.grad([(y * y).sum()], weights, create_graph=True)
        return lm.grad([sum((g**3).sum() for g in first)], weights)

    for ours, theirs in zip(second(vmap(net)(x, ids)), second(net(x, ids)), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-8)


def test_shapes_without_data() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        there = lm.to_device(x, "meta")
        return lm.softmax(there @ lm.ones([2, 3], device="meta"))[lm.to_device(lm.asarray([0, 1]), "meta")]

    y = vmap(f)(lm.ones([5, 4, 2]))
    assert (y.device, y.shape) == ("meta", (5, 2, 3))


def test_hessian_by_nesting() -> None:
    x = table(3, 2)

    def f(x: lm.Tensor) -> lm.Tensor:
        return (x**3).sum() * x[0]

    def gradient(x: lm.Tensor) -> lm.Tensor:
        own = x if not x.stop_gradient else x.detach()
        own.stop_gradient = False
        return lm.grad([f(own)], [own], create_graph=True)[0]

    def hessian(x: lm.Tensor) -> lm.Tensor:
        own = x.detach()
        own.stop_gradient = False
        g = lm.grad([f(own)], [own], create_graph=True)[0]
        return lm.stack([lm.grad([g[i]], [own], retain_graph=True)[0] for i in range(2)])

    got = vmap(hessian)(x)
    for i in range(3):
        equal(got[i], hessian(x[i]))
    equal(vmap(gradient)(x)[1], gradient(x[1].detach()))


def test_third_derivative_through_vmap() -> None:
    x = lm.tensor([0.3, -0.7], dtype="float64", stop_gradient=False)
    at = x.detach().numpy()
    y = vmap(lambda x: lm.sin(x) * x)(x).sum()
    for _ in range(3):
        y = lm.grad([y], [x], create_graph=True)[0].sum()
    equal(y, (-3 * np.sin(at) - at * np.cos(at)).sum())


def test_backward_inside_writes_into_gradients_of_examples_only() -> None:
    w = lm.tensor(2.0, stop_gradient=False)

    def own(x: lm.Tensor) -> lm.Tensor:
        x = x.detach()
        x.stop_gradient = False
        (x * x).backward()
        return x.grad

    equal(vmap(own)(lm.asarray([1.0, 2.0])), np.array([2.0, 4.0]))
    with pytest.raises(RuntimeError, match=r"inside of vmap, a tensor from outside has a gradient for each of 2"):
        vmap(lambda x: (x * w).backward() or x)(lm.asarray([1.0, 2.0]))
    assert w.grad is None


# Custom layers


class Cube(lm.PyLayer):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * dy * ctx.factor, None


def test_layers_of_operators_need_no_rule() -> None:
    x = table(3, 2)
    equal(vmap(lambda x: Cube.apply(x, 2.0))(x), 2 * x.numpy() ** 3)

    def gradient(x: lm.Tensor) -> lm.Tensor:
        own = x.detach()
        own.stop_gradient = False
        return lm.grad([Cube.apply(own, 2.0).sum()], [own])[0]

    equal(vmap(gradient)(x), 6 * x.numpy() ** 2)
    leaf = lm.tensor(x, stop_gradient=False)
    vmap(lambda x: Cube.apply(x, 2.0))(leaf).sum().backward()
    equal(leaf.grad, 6 * x.numpy() ** 2)


class Sorted(lm.PyLayer):
    """Works in numpy, so that it needs a rule."""

    calls: ClassVar[list[Any]] = []

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, axis: int) -> Any:
        order = np.argsort(x.numpy(), axis)
        ctx.save_for_backward(lm.asarray(np.argsort(order, axis)))
        ctx.axis = axis
        return lm.asarray(np.take_along_axis(x.numpy(), order, axis))

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (inverse,) = ctx.saved_tensors
        return lm.take_along_axis(dy, inverse, axis=ctx.axis), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: lm.Tensor, axis: int) -> Any:
        Sorted.calls.append((info.batch_size, info.randomness, in_dims, x.shape))
        x = lm.swapaxes(x, 0, in_dims[0])
        return Sorted.apply(x, axis + 1 if axis >= 0 else axis), 0


def test_layer_with_a_rule() -> None:
    Sorted.calls.clear()
    x = table(3, 4)
    equal(vmap(lambda x: Sorted.apply(x, 0))(x), np.sort(x.numpy(), 1))
    assert Sorted.calls == [(3, "error", (0, None), (3, 4))]
    leaf = lm.tensor(x, stop_gradient=False)
    weights = table(3, 4, seed=1)
    (vmap(lambda x: Sorted.apply(x, 0), in_axes=1, out_axes=1)(leaf.T) * weights.T).sum().backward()
    expected = lm.tensor(x, stop_gradient=False)
    (Sorted.apply(expected, 1) * weights).sum().backward()
    equal(leaf.grad, expected.grad)

    def gradient(x: lm.Tensor) -> lm.Tensor:
        own = x.detach()
        own.stop_gradient = False
        return lm.grad([(Sorted.apply(own, 0) * lm.arange(4)).sum()], [own])[0]

    equal(vmap(gradient)(x)[1], gradient(x[1]))
    nested = vmap(vmap(lambda x: Sorted.apply(x, -1)))(table(2, 3, 4))
    equal(nested, np.sort(table(2, 3, 4).numpy(), -1))
    equal(Sorted.apply(x, 0), np.sort(x.numpy(), 0))


def test_rules_with_containers_and_keywords() -> None:
    class Weighted(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, parts: Any, *, scale: Any) -> Any:
            raise AssertionError("the rule is called instead")

        @staticmethod
        def vmap(info: Any, in_dims: Any, parts: Any, *, scale: Any) -> Any:
            assert in_dims == ({"a": 0, "b": [None]}, None)
            assert parts["a"].shape == (3, 2)
            return (parts["a"] * scale, parts["b"][0]), (0, None)

    def f(a: lm.Tensor) -> Any:
        out, b = Weighted.apply({"a": a, "b": [lm.asarray(1.0)]}, scale=lm.asarray(2.0))
        return out + b

    equal(vmap(f)(lm.ones([3, 2])), np.full((3, 2), 3.0))


def test_rules_that_do_not_fit() -> None:
    class Both(Cube):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: lm.Tensor, factor: float) -> Any:
            return x, 0

    class Bare(lm.PyLayer):
        result: Any = None

        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> Any:
            return x

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: lm.Tensor) -> Any:
            return Bare.result

    with pytest.raises(RuntimeError, match="generate_vmap_rule=True, and a vmap of its own"):
        vmap(lambda x: Both.apply(x, 1.0))(lm.ones([2]))
    Bare.result = lm.ones([2])
    with pytest.raises(TypeError, match=r"\[Bare\] vmap must return \(output, out_dims\)"):
        vmap(Bare.apply)(lm.ones([2]))
    Bare.result = (lm.ones([3]), 0)
    with pytest.raises(ValueError, match="no axis of size 2"):
        vmap(Bare.apply)(lm.ones([2]))
    Bare.result = (lm.ones([3]), None)
    assert vmap(Bare.apply)(lm.ones([2])).shape == (2, 3)


def test_layer_that_reads_memory_says_what_is_wrong() -> None:
    class Numpy(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> Any:
            return lm.asarray(x.numpy() * 2)

    with pytest.raises(RuntimeError, match=r"\[numpy\] inside of vmap"):
        vmap(Numpy.apply)(lm.ones([2]))


# Writes in place


def test_writes_into_examples() -> None:
    x = lm.zeros([3, 2])
    vmap(lambda row, v: row.add_(v), in_axes=(0, None))(x, lm.asarray([1.0, 2.0]))
    equal(x, np.array([[1.0, 2.0]] * 3))  # as in a loop over its rows
    vmap(lambda row, i: row.__setitem__(i, 7.0) or row)(x, lm.asarray([0, 1, 0]))
    equal(x, np.array([[7.0, 2.0], [1.0, 7.0], [7.0, 2.0]]))


def test_values_of_examples_have_no_room_in_one_tensor() -> None:
    shared = lm.zeros([2])
    for write in (
        lambda x: shared.add_(x),
        lambda x: shared.copy_(x),
        lambda x: shared.__setitem__(0, x[0]),
        lambda x: shared.__setitem__(lm.cast(x, "int64") * 0, 1.0),
        lambda x: shared.div_(x.astype("float64")),
    ):
        with pytest.raises(RuntimeError, match=r"under vmap the value stands for each of 3 examples.*zeros_like"):
            vmap(lambda x, write=write: write(x) or x)(lm.ones([3, 2]))
    assert shared.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="broadcast"):
        vmap(lambda x: vmap(lambda y: y.add_(1.0))(lm.broadcast_to(x, [2])))(lm.ones([3]))


def test_recorded_writes() -> None:
    x = lm.tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)

    def f(row: lm.Tensor, value: lm.Tensor) -> lm.Tensor:
        y = row * 2
        part = y[1:]
        part.mul_(value)
        y.add_(row)
        y[0] = value * row[1]
        return y * y

    value = lm.tensor([3.0, 5.0], stop_gradient=False)
    y = vmap(f)(x, value)
    ours = lm.grad([y.sum()], [x, value])
    expected = lm.stack([f(x[i], value[i]) for i in range(2)])
    equal(y.detach(), expected.detach())
    for a, b in zip(ours, lm.grad([expected.sum()], [x, value]), strict=True):
        equal(a, b)


def test_recorded_writes_through_the_mapped_axis() -> None:
    x = lm.tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    whole = x * 1
    row_sums = vmap(lambda row: row.mul_(row.sum().detach()) * 1)(whole)
    equal(whole.detach(), np.array([[3.0, 6.0], [21.0, 28.0]]))
    equal(row_sums.detach(), whole.detach())
    grad = lm.grad([whole.sum() + row_sums.sum()], [x])[0]
    equal(grad, np.array([[6.0, 6.0], [14.0, 14.0]]))
    out = vmap(lambda row: row * 2)(x)
    out.mul_(3.0)
    out[0] = 0.0
    equal(lm.grad([out.sum()], [x])[0], np.array([[0.0, 0.0], [6.0, 6.0]]))


def test_saved_tensor_overwritten_is_found() -> None:
    def f(x: lm.Tensor) -> lm.Tensor:
        y = x * 1
        z = y * y
        y.add_(1.0)
        return z

    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match="overwritten"):
        vmap(f)(x).sum().backward()


# Random numbers


DRAWS = {
    "rand": lambda: lm.rand([4]),
    "randn": lambda: lm.randn([4]),
    "uniform": lambda: lm.uniform([4], 1.0, 2.0),
    "normal": lambda: lm.normal([4], dtype="float64"),
    "randint": lambda: lm.randint(0, 1000000, [4]),
    "randperm": lambda: lm.randperm(50),
    "bernoulli": lambda: lm.bernoulli(lm.full([64], 0.5)),
    "dropout": lambda: lm.dropout(lm.ones([64])),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_modes(name: str) -> None:
    x = lm.zeros([3])
    with pytest.raises(RuntimeError, match="randomness='error'"):
        vmap(lambda x: DRAWS[name]() + x)(x)
    different = vmap(lambda x: DRAWS[name]() + x, randomness="different")(x).numpy()
    assert not (different[0] == different[1]).all() and not (different[1] == different[2]).all()
    for chunk in (None, 2):
        same = vmap(lambda x: DRAWS[name]() + x, randomness="same", chunk_size=chunk)(x).numpy()
        assert (same == same[0]).all()
    with pytest.raises(RuntimeError, match="randomness='error'"):
        vmap(lambda x: vmap(lambda y: DRAWS[name]() + y, randomness="different")(lm.zeros([2])) + x)(x)
    mixed = vmap(
        lambda x: vmap(lambda y: DRAWS[name]() + y + x, randomness="different")(lm.zeros([2])), randomness="same"
    )(x).numpy()
    assert (mixed[0] == mixed[1]).all() and not (mixed[:, 0] == mixed[:, 1]).all()


def test_random_with_batched_arguments() -> None:
    p = lm.asarray([0.0, 1.0])
    for mode in ("same", "different"):
        got = vmap(lambda p: lm.bernoulli(lm.broadcast_to(p, [8])), randomness=mode)(p)
        assert got.tolist() == [[0.0] * 8, [1.0] * 8]
    with pytest.raises(ValueError, match=r"\[bernoulli\] probabilities"):
        vmap(lm.bernoulli, randomness="same")(lm.asarray([0.5, 1.5]))
    assert sorted(vmap(lambda x: lm.randperm(5), randomness="different")(p)[1].tolist()) == list(range(5))
    kept = vmap(lambda x: lm.dropout(x, 0.5), randomness="different")(lm.ones([200, 3]))
    assert set(np.unique(kept.numpy())) == {0.0, 2.0}
    assert lm.rand([2]).shape == (2,), "outside of vmap nothing has changed"


# Errors


def test_errors_of_arguments() -> None:
    f = vmap(lambda first, second: first + second)
    with pytest.raises(ValueError, match=r"one size: first has 3 along its own, second has 4 along axis 0"):
        f(lm.ones([3]), lm.ones([4]))
    with pytest.raises(ValueError, match=r"first has 3 along its own, second\['k'\]\[1\] has 2"):
        vmap(lambda first, second: first)(lm.ones([3]), {"k": [lm.ones([3]), lm.ones([2])]})
    with pytest.raises(ValueError, match="no argument is mapped over"):
        vmap(lambda x: x, in_axes=None)(lm.ones([3]))
    with pytest.raises(ValueError, match="no argument is mapped over"):
        vmap(lambda: lm.ones([3]))()
    with pytest.raises(ValueError, match="second is no tensor but float"):
        f(lm.ones([3]), 2.0)
    with pytest.raises(IndexError, match="over axis 1 of first, whose shape is \\[3\\]"):
        vmap(lambda first: first, in_axes=1)(lm.ones([3]))
    with pytest.raises(IndexError, match="over axis 0 of first, whose shape is \\[\\]"):
        vmap(lambda first: first)(lm.asarray(1.0))
    with pytest.raises(ValueError, match="in_axes has 1 entries, and 2 positional"):
        vmap(lambda a, b: a, in_axes=(0,))(lm.ones([3]), lm.ones([3]))
    with pytest.raises(ValueError, match="in_axes for first has 1 entries"):
        vmap(lambda first: first[0], in_axes=([0],))([lm.ones([3]), lm.ones([3])])
    with pytest.raises(TypeError, match="in_axes must be an int, None or a tuple"):
        vmap(lambda x: x, in_axes="0")(lm.ones([3]))
    with pytest.raises(TypeError, match="in_axes for x must be an int or None"):
        vmap(lambda x: x, in_axes=(1.0,))(lm.ones([3]))
    with pytest.raises(TypeError, match="expected a function"):
        vmap(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="randomness must be"):
        vmap(lambda x: x, randomness="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chunk_size must be"):
        vmap(lambda x: x, chunk_size=0)


def test_errors_of_results() -> None:
    x = lm.ones([3, 2])
    with pytest.raises(IndexError, match=r"out_axes puts the mapped axis of the result at 2; with it, it has 2 axes"):
        vmap(lambda x: x, out_axes=2)(x)
    with pytest.raises(TypeError, match=r"tensors only, the result\[1\] is float"):
        vmap(lambda x: (x, 2.0))(x)
    with pytest.raises(TypeError, match="tensors only, the result is NoneType"):
        vmap(lambda x: None)(x)
    with pytest.raises(ValueError, match="differs from example to example"):
        vmap(lambda x: x, out_axes=None)(x)
    with pytest.raises(ValueError, match="out_axes for the result has 1 entries"):
        vmap(lambda x: (x, x), out_axes=(0,))(x)
    # After an error the next call starts clean.
    equal(vmap(lambda x: x * 2)(x), np.full((3, 2), 2.0))
    assert lm.rand([2]).shape == (2,), "random numbers are drawn as outside of vmap"


READS = {
    "item": lambda x: x.item(),
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x),
    "bool": lambda x: bool(x),
    "if": lambda x: 1 if x > 0 else 2,
    "int": lambda x: int(x),
    "float": lambda x: float(x),
    "index": lambda x: [1, 2][lm.cast(x, "int64")],
    "tolist": lambda x: x.tolist(),
    "dlpack": lambda x: np.from_dlpack(x),
    "data_ptr": lambda x: x.data_ptr(),
    "buffer": lambda x: memoryview(x),
    "pickle": lambda x: pickle.dumps(x),
    "format": lambda x: f"{x:.2f}",
    "numpy operator": lambda x: np.add(x, 1),
    "to numpy of a view": lambda x: lm.expand_dims(x, 0).numpy(),
}


@pytest.mark.parametrize("name", READS)
def test_reads_by_the_host_are_refused(name: str) -> None:
    kept: list[lm.Tensor] = []
    with pytest.raises(RuntimeError, match=r"inside of vmap this tensor stands for each of 3"):
        vmap(lambda x: kept.append(x) or READS[name](x))(lm.asarray([1.0, 1.0, 0.0]))
    with pytest.raises(RuntimeError, match=r"kept from a call of vmap that has ended, .* its 3 examples"):
        READS[name](kept[0])


def test_a_leaked_tensor_is_recognized() -> None:
    kept: list[lm.Tensor] = []
    vmap(lambda x: kept.append(x * 2) or x)(lm.ones([3, 2]))
    assert "one of 3 examples" in repr(kept[0])
    assert (kept[0] + 1).shape == (2,)
    with pytest.raises(RuntimeError, match="kept from a call of vmap"):
        (kept[0] + 1).numpy()
    with pytest.raises(RuntimeError, match="kept from a call of vmap"):
        vmap(lambda y: y * kept[0])(lm.ones([4, 2])).numpy()
    with pytest.raises(RuntimeError, match="stands for each of 3"):
        lm.zeros([2]).add_(kept[0])
    assert copy.deepcopy(kept[0]).shape == (2,)


def test_nothing_is_kept_alive() -> None:
    class Kept(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> Any:
            y = x * 2
            ctx.y = y
            return y

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            return dy * 2

    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    y = vmap(Kept.apply)(x)
    result = weakref.ref(y)
    y.sum().backward()
    equal(x.grad, np.array([2.0, 2.0]))
    del y
    gc.collect()
    assert result() is None
    before = lm.memory.memory_allocated()
    for _ in range(50):
        vmap(lambda x: lm.softmax(x) @ lm.ones([64]))(lm.ones([64, 64]))
    assert lm.memory.memory_allocated() <= before + 1024


class Scaled(lm.PyLayer):
    """a * s * s, with a rule for vmap that multiplies whole batches."""

    @staticmethod
    def forward(ctx: Any, a: lm.Tensor, s: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(a, s)
        return a * s * s

    @staticmethod
    def backward(ctx: Any, g: lm.Tensor) -> Any:
        a, s = ctx.saved_tensor()
        return g * s * s, 2 * g * a * s

    @staticmethod
    def vmap(info: Any, in_dims: Any, a: lm.Tensor, s: lm.Tensor) -> Any:
        return a * (s * s), 0


def _scaled(a: lm.Tensor, s: lm.Tensor) -> lm.Tensor:
    return a * s * s


def _of_each(layer: Any, way: str) -> Any:
    shared = lm.asarray([0.5, 1.0])

    def one(x: lm.Tensor) -> Any:
        if way == "hvp":
            return lm.autograd.hvp(lambda q: layer(q, q).sum(), x, lm.ones([2]))[1]
        if way == "jvp":
            return lm.autograd.jvp(lambda s: layer(x, s), (shared,), (x,))[1]
        if way == "jacrev":
            return lm.autograd.jacrev(lambda s: layer(x, s).sum())(shared)
        if way == "vjp":
            return lm.autograd.vjp(lambda s: layer(x, s), shared)[1](x)
        own = shared.detach()
        own.stop_gradient = False
        return lm.grad([layer(x, own).sum()], [own])[0]

    return one


@pytest.mark.parametrize("way", ["grad", "jacrev", "vjp", "hvp", "jvp"])
def test_gradients_of_what_is_shared_through_a_rule_are_those_of_each_example(way: str) -> None:
    x = lm.asarray([[1.0, 2.0], [3.0, 4.0]])
    mapped = vmap(_of_each(Scaled.apply, way))(x)
    plain = vmap(_of_each(_scaled, way))(x)
    rows = [_of_each(_scaled, way)(row) for row in x]
    for found, by_operators, row in zip(lm.unstack(_only(mapped)), lm.unstack(_only(plain)), rows, strict=True):
        equal(found, _only(row).numpy())
        equal(by_operators, _only(row).numpy())


def _only(found: Any) -> lm.Tensor:
    result: lm.Tensor = found[0] if isinstance(found, (tuple, list)) else found
    return result


def test_whole_gradients_of_what_is_shared_through_a_rule() -> None:
    x, weights = table(3, 2), lm.tensor([0.5, 1.0], dtype="float64", stop_gradient=False)
    vmap(lambda row: Scaled.apply(row, weights))(x).sum().backward()
    equal(weights.grad, (2 * x.numpy() * weights.detach().numpy()).sum(0))

"""Views and writes in place: gradients of random programs, and what is refused."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support.numeric import differences

Array = np.ndarray[Any, Any]

# Each works on a (3, 4) tensor and, with numpy's functions, on an array: views, then views of views.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[1],
    "rows": lambda x: x[1:],
    "columns backward": lambda x: x[:, ::-2],
    "one element": lambda x: x[2, 1, ...],
    "new axis": lambda x: x[:, None, 1:3],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape(4, 3),
    "flat part": lambda x: x.reshape(12)[2:9],
    "part of the transposed": lambda x: x.T[1:3, ::2],
    "everything": lambda x: x[...],
}


def split_part(x: Any) -> Any:
    """The middle of three parts."""
    return lm.split(x, [1, 1, 2], axis=1)[1] if isinstance(x, lm.Tensor) else np.split(x, [1, 2], axis=1)[1]


def swapped(x: Any) -> Any:
    """Axes exchanged by a function."""
    return lm.swapaxes(x, 0, 1) if isinstance(x, lm.Tensor) else np.swapaxes(x, 0, 1)


def squeezed(x: Any) -> Any:
    """A slice without its axis of size 1."""
    return lm.squeeze(x[1:2], axis=0) if isinstance(x, lm.Tensor) else np.squeeze(x[1:2], axis=0)


VIEWS |= {"split": split_part, "swapaxes": swapped, "squeeze": squeezed}


def add(x: Any, w: Any) -> None:
    x += w


def subtract(x: Any, w: Any) -> None:
    x -= 2 * w


def multiply(x: Any, w: Any) -> None:
    x *= w


def divide(x: Any, w: Any) -> None:
    x /= w + 3


def set_item(x: Any, w: Any) -> None:
    x[...] = w * w


def update_item(x: Any, w: Any) -> None:
    if x.ndim:
        x[0] += w
    else:
        x[()] = w


def fill(x: Any, w: Any) -> None:
    x.fill_(0.5) if isinstance(x, lm.Tensor) else x.fill(0.5)


def zero(x: Any, w: Any) -> None:
    x.zero_() if isinstance(x, lm.Tensor) else x.fill(0)


def copy(x: Any, w: Any) -> None:
    if isinstance(x, lm.Tensor):
        x.copy_(w * 3)
    else:
        x[...] = w * 3


def masked_fill(x: Any, w: Any) -> None:
    mask = np.arange(int(np.prod(tuple(x.shape)))).reshape(tuple(x.shape)) % 2 == 0
    if isinstance(x, lm.Tensor):
        x.masked_fill_(lm.asarray(mask), w)
    else:
        np.copyto(x, w, where=mask)


def masked_set(x: Any, w: Any) -> None:
    mask = np.arange(int(np.prod(tuple(x.shape)))).reshape(tuple(x.shape)) % 3 == 0
    if x.ndim == 0:
        return
    x[lm.asarray(mask) if isinstance(x, lm.Tensor) else mask] = w


WRITES = [add, subtract, multiply, divide, set_item, update_item, fill, zero, copy, masked_fill, masked_set]


def run(program: list[tuple[str, Any]], x: Any, w: Any) -> Any:
    """Runs steps on a list of aliases that begins with x, and sums them all with unequal weights."""
    aliases = [x]
    for kind, (which, what) in program:
        if kind == "view":
            target = aliases[which % len(aliases)]
            aliases.append(what(target if tuple(target.shape) == (3, 4) else aliases[0]))
        else:
            what(aliases[which % len(aliases)], w)
    total = 0
    for i, alias in enumerate(aliases):
        weights = np.cos(np.arange(int(np.prod(tuple(alias.shape)))) + i).reshape(tuple(alias.shape))
        total = total + (alias * (lm.asarray(weights) if isinstance(alias, lm.Tensor) else weights)).sum()
    return total


def make_program(seed: int) -> list[tuple[str, Any]]:
    """A random program of views and writes."""
    draw = random.Random(seed)
    steps: list[tuple[str, Any]] = []
    for _ in range(draw.randint(3, 9)):
        if draw.random() < 0.5:
            steps.append(("view", (draw.randrange(4), VIEWS[draw.choice(sorted(VIEWS))])))
        else:
            steps.append(("write", (draw.randrange(5), draw.choice(WRITES))))
    return steps


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("base_wants", [True, False])
def test_random_programs(seed: int, base_wants: bool) -> None:
    """Gradients of programs of views and writes equal differences, whether or not the base was on the tape before."""
    program = make_program(seed)
    values = np.random.default_rng(seed).uniform(0.5, 1.5, (3, 4))
    a = lm.asarray(values, copy=True)
    a.stop_gradient = not base_wants
    w = lm.tensor(0.7, dtype="float64", stop_gradient=False)
    base = a * 1 if base_wants else a.clone()
    loss = run(program, base, w)
    assert loss.item() == pytest.approx(run(program, values.copy(), 0.7), rel=1e-9)

    dw = differences(lambda v: run(program, values.copy(), float(v)), np.asarray(0.7))
    if loss.stop_gradient:
        np.testing.assert_allclose(dw, 0, atol=1e-7)
        return
    inputs = [w, a] if base_wants else [w]
    grads = lm.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True)
    got = 0.0 if grads[0] is None else grads[0].item()
    assert got == pytest.approx(float(dw), rel=1e-5, abs=1e-6)
    if base_wants:
        da = differences(lambda v: run(program, v.copy(), 0.7), values)
        np.testing.assert_allclose(0 if grads[1] is None else grads[1].numpy(), da, rtol=1e-5, atol=1e-6)

    # The second derivative along w, through a recorded pass.
    first = lm.autograd.grad(loss, [w], create_graph=True, allow_unused=True)[0]
    if first is None or first.stop_gradient:
        return
    second = lm.autograd.grad(first, [w], allow_unused=True)[0]

    def slope(v: Array) -> float:
        x = lm.asarray(values, copy=True)
        at = lm.tensor(float(v), dtype="float64", stop_gradient=False)
        return float(lm.autograd.grad(run(program, x.clone(), at), [at])[0].item())

    expected = differences(slope, np.asarray(0.7))
    assert (0.0 if second is None else second.item()) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", sorted(VIEWS))
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_each_view_with_each_write(name: str, write: Callable[[Any, Any], None]) -> None:
    """One write through one view of a constant: base, view and a second view have the right gradient."""

    def program(x: Any, w: Any) -> Any:
        before = x[::-1]
        view = VIEWS[name](x)
        write(view, w)
        after = x[1:]
        parts = [x, view, before, after]
        total = 0
        for i, part in enumerate(parts):
            weights = np.sin(1.0 + i + np.arange(int(np.prod(tuple(part.shape))))).reshape(tuple(part.shape))
            total = total + (part * (lm.asarray(weights) if isinstance(part, lm.Tensor) else weights)).sum()
        return total

    values = np.linspace(0.5, 1.5, 12).reshape(3, 4)
    w = lm.tensor(0.7, dtype="float64", stop_gradient=False)
    loss = program(lm.asarray(values, copy=True), w)
    expected = differences(lambda v: program(values.copy(), float(v)), np.asarray(0.7))
    got = 0.0 if loss.stop_gradient else lm.autograd.grad(loss, w).item()
    assert got == pytest.approx(float(expected), rel=1e-6, abs=1e-7)


def test_a_view_follows_its_base() -> None:
    """grad_fn, stop_gradient and is_leaf of a view made before its base was written to."""
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    x = lm.zeros([2])
    view = x[:1]
    assert view.stop_gradient
    x.copy_(w)
    assert not view.stop_gradient
    assert not view.is_leaf
    assert view.grad_fn is not None
    assert view.grad_fn.name == "view"
    x.zero_()
    assert view.stop_gradient
    assert view.grad_fn is None


def test_expanded_views_are_read_again() -> None:
    """A broadcast view of a base that is written to later sums its gradient."""
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    x = lm.zeros([2])
    wide = lm.broadcast_to(x, [3, 2])
    x.copy_(w * w)
    (wide * lm.tensor([[1.0], [10.0], [100.0]])).sum().backward()
    assert w.grad is not None
    np.testing.assert_array_equal(w.grad.numpy(), [222.0, 444.0])


def test_update_of_an_item_records_one_write() -> None:
    """x[i] += y writes once: the assignment that Python adds finds the view in place."""
    w = lm.tensor(2.0, stop_gradient=False)
    x = lm.zeros([3])
    x[1] += w
    assert x.grad_fn is not None
    assert x.grad_fn.name == "overwrite"
    assert x.inplace_version == 1
    x.sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 1.0


def refusals() -> list[tuple[str, Callable[[], Any], str]]:
    """What is refused, and the words that say why."""

    class Same(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x[:1]

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return lm.concat([dy, lm.zeros([1])])

    def leaf() -> lm.Tensor:
        return lm.tensor([1.0, 2.0], stop_gradient=False)

    def no_grad_view(x: lm.Tensor) -> lm.Tensor:
        with lm.no_grad():
            return x[:1]

    def layer_view() -> Any:
        x = leaf() * 1
        Same.apply(x)
        x.mul_(2)

    def leaf_view() -> Any:
        x = lm.zeros([2])
        view = x[:1]
        x.stop_gradient = False
        view.add_(1)

    kept: list[lm.Tensor] = []

    def detached() -> Any:
        kept.append(leaf() * 1)
        kept[-1].detach().add_(leaf())

    def under_no_grad() -> Any:
        kept.append(leaf() * 1)
        no_grad_view(kept[-1]).add_(leaf()[:1])

    return [
        ("leaf", lambda: leaf().add_(1), "a leaf tensor that wants a gradient cannot be changed in place"),
        (
            "view of a leaf",
            lambda: leaf()[:1].add_(1),
            "a view of a leaf tensor that wants a gradient cannot be changed",
        ),
        ("view of a later leaf", leaf_view, "a view of a leaf tensor that wants a gradient cannot be changed"),
        ("detached", detached, "shares its memory with another through detach()"),
        ("no_grad view", under_no_grad, "a view made under no_grad()"),
        ("view that a layer returned", layer_view, "a custom layer returned this memory"),
        ("broadcast", lambda: lm.broadcast_to(leaf() * 1, [3, 2]).add_(1), "whose elements share memory"),
    ]


@pytest.mark.parametrize(("write", "words"), [case[1:] for case in refusals()], ids=[case[0] for case in refusals()])
def test_what_is_refused_says_why(write: Callable[[], Any], words: str) -> None:
    """The reason, and what to do instead."""
    with pytest.raises(RuntimeError, match=words.replace("(", r"\(").replace(")", r"\)")) as caught:
        write()
    assert "clone()" in str(caught.value)


def test_overwritten_saved_tensor_names_the_write() -> None:
    """Also where the write went through a view."""
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    h = w * 1
    y = h * h
    h[0].zero_()
    with pytest.raises(RuntimeError, match=r"overwritten by zero_ at .*test_views\.py:\d+"):
        y.sum().backward()


def test_views_made_under_no_grad_keep_no_graph_alive() -> None:
    """Neither does a detached alias."""
    freed = []

    class Marked(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            weakref.finalize(ctx, freed.append, True)
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * 2

    y = Marked.apply(lm.tensor([1.0, 2.0], stop_gradient=False))
    with lm.no_grad():
        part = y[:1]
    alias = y.detach()
    del y
    assert freed == [True]
    assert part.item() == 2.0
    assert alias.shape == (2,)


# By the shapes of x and of the result.
PASSED_ON: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "concat": (lambda x, other: lm.concat((x, other)), "float32"),
    "stack": (lambda x, other: lm.stack((x, other)), "float32"),
    "vstack": (lambda x, other: lm.vstack((x, other)), "float32"),
    "expand_dims": (lambda x, other: lm.expand_dims(x, 0), "float32"),
    "identity": (lambda x, other: x + 0 * other, "float32"),
    "view_as_complex": (lambda x, other: lm.view_as_complex(x), "float32"),
    "view_as_real": (lambda x, other: lm.view_as_real(x), "complex64"),
}


@pytest.mark.parametrize("name", PASSED_ON)
def test_a_leaf_gradient_shares_no_memory_with_the_one_that_was_passed(name: str) -> None:
    op, dtype = PASSED_ON[name]
    x = lm.ones([3, 2], dtype=dtype)
    x.stop_gradient = False
    y = op(x, lm.ones([3, 2], dtype=dtype))
    passed = lm.ones_like(y)
    for times in range(1, 4):
        y.backward(passed, retain_graph=True)
        assert x.grad is not None
        np.testing.assert_array_equal(lm.real(x.grad).numpy() if dtype == "complex64" else x.grad.numpy()[:, :1], times)
        np.testing.assert_array_equal(passed.numpy(), lm.ones_like(y).numpy())

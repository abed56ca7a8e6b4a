"""Transformations inside transformations, beside what each means by itself.

A checkpoint, hooks, a compiled function and a layer around a function mean the function; vmap means a loop, jvp the
derivative of vjp, a batched pass single ones. A nest of them is compared with the nest of their meanings: values and
gradients. For more nests than the test has: `python tests/python/autograd/test_nests.py DEPTH COUNT [SEED]`.
"""

from __future__ import annotations

import itertools
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm

pytestmark = pytest.mark.filterwarnings("ignore::lamella.CompileWarning")
Function = Callable[[lm.Tensor], lm.Tensor]
Array = np.ndarray[Any, Any]
START = np.random.default_rng(5).uniform(-1, 1, (3, 4))


def direction(x: lm.Tensor, number: int) -> lm.Tensor:
    """A constant of x's shape."""
    return lm.asarray(np.cos(np.arange(x.size) + number).reshape(x.shape))


def leaf(x: lm.Tensor) -> lm.Tensor:
    """x as a new leaf that wants a gradient."""
    y = x.detach()
    y.stop_gradient = False
    return y


def gradient(y: lm.Tensor, x: lm.Tensor, seed: lm.Tensor, **options: Any) -> lm.Tensor:
    """The gradient of y with respect to x, recorded; zeros where there is none."""
    found = None if y.stop_gradient else lm.grad(y, [x], [seed], create_graph=True, allow_unused=True, **options)[0]
    return lm.zeros_like(x) if found is None else found


def recorded(f: Callable[[lm.Tensor], lm.Tensor]) -> Function:
    """f of an input that wants a gradient and is not shared."""

    def call(x: lm.Tensor) -> lm.Tensor:
        with lm.enable_grad():
            return f(leaf(x) if x.stop_gradient else x * 1.0)

    return call


def looped(f: Function) -> Function:
    """The meaning of vmap."""
    return lambda x: lm.stack([f(x[i]) for i in range(x.shape[0])]) if x.ndim else f(x)


def pulled(f: Function) -> Function:
    """The meaning of vjp."""

    def call(x: lm.Tensor) -> lm.Tensor:
        y = f(x)
        return gradient(y, x, direction(y, 1))

    return recorded(call)


def pushed(f: Function) -> Function:
    """The meaning of jvp: the derivative of vjp by what it is given, to which it is linear."""

    def call(x: lm.Tensor) -> lm.Tensor:
        y = f(x)
        seed = leaf(lm.zeros_like(y))
        product = gradient(y, x, seed)
        return gradient(product, seed, direction(x, 2))

    return recorded(call)


def one_by_one(f: Function) -> Function:
    """The meaning of a batched pass."""

    def call(x: lm.Tensor) -> lm.Tensor:
        y = f(x)
        rows = [gradient(y, x, direction(y, k)) for k in range(3)]
        return rows[0] ** 2 + rows[1] ** 2 + rows[2] ** 2

    return recorded(call)


def batched(f: Function) -> Function:
    """Squares of three gradients, computed by one pass."""

    def call(x: lm.Tensor) -> lm.Tensor:
        y = f(x)
        if y.stop_gradient:
            return lm.zeros_like(x)
        seeds = lm.stack([direction(y, k) for k in range(3)])
        return (gradient(y, x, seeds, is_grads_batched=True) ** 2).sum(axis=0)

    return recorded(call)


def hooked(f: Function) -> Function:
    """f with pairs of functions for what is saved."""

    def call(x: lm.Tensor) -> lm.Tensor:
        with lm.autograd.saved_tensors_hooks(lambda t: t, lambda t: t):
            return f(x)

    return call


def offloaded(f: Function) -> Function:
    """f that saves on the CPU."""

    def call(x: lm.Tensor) -> lm.Tensor:
        with lm.autograd.save_on_cpu():
            return f(x)

    return call


def layered(f: Function) -> Function:
    """f as a layer whose backward runs it again."""

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            ctx.save_for_backward(x)
            with lm.enable_grad():
                return f(leaf(x)).detach()

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            (x,) = ctx.saved_tensor()

            def call(own: lm.Tensor) -> lm.Tensor:
                return gradient(f(own), own, dy)

            return recorded(call)(x)

    return lambda x: Layer.apply(x)


def same(f: Function) -> Function:
    """The meaning of what changes no number."""
    return f


#: Each transformation and its meaning.
WRAPPERS: dict[str, tuple[Callable[[Function], Function], Callable[[Function], Function]]] = {
    "checkpoint": (lambda f: lambda x: lm.checkpoint(f, x), same),
    "selective": (lambda f: lambda x: lm.checkpoint(f, x, policy={"sin", "exp", "multiply"}), same),
    "vmap": (lambda f: lambda x: lm.vmap(f)(x) if x.ndim else f(x), looped),
    "chunks": (lambda f: lambda x: lm.vmap(f, chunk_size=2)(x) if x.ndim else f(x), looped),
    "vjp": (lambda f: lambda x: (lambda y, pull: pull(direction(y, 1))[0])(*lm.vjp(f, x)), pulled),
    "jvp": (lambda f: lambda x: lm.jvp(f, (x,), (direction(x, 2),))[1], pushed),
    "batched": (batched, one_by_one),
    "hooks": (hooked, same),
    "save_on_cpu": (offloaded, same),
    "compile": (lambda f: lm.compile(f), same),
    "layer": (layered, same),
}


def written(x: lm.Tensor) -> lm.Tensor:
    """A function that writes in place, through a view."""
    y = x * 1.5
    part = y[..., 1:] if y.ndim and y.shape[-1] > 1 else y
    part.mul_(2.0)
    return lm.sin(y) * x


def overwritten(x: lm.Tensor) -> lm.Tensor:
    """A function that overwrites what gradients need, one operator after the other."""
    y = x * 1.0
    y.tanh_()
    y.square_()
    y += x
    y.exp_()
    return y * x


BASES: dict[str, Function] = {
    "sin": lambda x: lm.sin(x) * x,
    "exp": lambda x: lm.exp(x * 0.5) * lm.tanh(x) + x**3,
    "sum": lambda x: lm.sin(x) * x.sum(),
    "written": written,
    "overwritten": overwritten,
    "softmax": lambda x: lm.softmax(x, -1) * x if x.ndim else lm.sin(x),
    "matmul": lambda x: (x[..., None] @ x[..., None, :]).sum(axis=-1) * 0.3 if x.ndim else x * x,
}


def results(base: str, nest: tuple[str, ...], meaning: bool) -> list[tuple[Array, Array]]:
    """Values and gradients of some calls of the nest, outermost first, or of its meaning."""
    f = BASES[base]
    for wrapper in reversed(nest):
        f = WRAPPERS[wrapper][meaning](f)
    x = lm.asarray(START.copy())
    x.stop_gradient = False
    found = []
    # A compiled function observes two calls, and replays from the third on.
    for _ in range(3 if "compile" in nest and not meaning else 1):
        y = f(x)
        dx = None if y.stop_gradient else lm.grad(y, [x], [direction(y, 5)], allow_unused=True)[0]
        found.append((y.detach().numpy(), np.zeros_like(START) if dx is None else dx.detach().numpy()))
    return found


def compare(base: str, nest: tuple[str, ...]) -> str:
    """Returns "right" or the text of a refusal; AssertionError where the nest is wrong."""
    ((value, slope),) = results(base, nest, meaning=True)
    try:
        found = results(base, nest, meaning=False)
    except RuntimeError as error:
        # Gradients inside of a selective checkpoint would go through calls that are not made again.
        if "selective" in nest and str(error).startswith("[checkpoint]"):
            return str(error)
        raise
    for call, (y, dx) in enumerate(found):
        text = f"{base} in {nest}, call {call}"
        np.testing.assert_allclose(y, value, rtol=1e-8, atol=1e-9, err_msg=text)
        np.testing.assert_allclose(dx, slope, rtol=1e-8, atol=1e-9, err_msg=text)
    return "right"


@pytest.mark.parametrize("outer", WRAPPERS)
def test_pairs(outer: str) -> None:
    """Each transformation inside each other; the functions take turns."""
    bases = itertools.cycle(BASES)
    outcomes = Counter(compare(next(bases), (outer, inner)) for inner in WRAPPERS for _ in range(2))
    assert outcomes["right"] >= 2 * len(WRAPPERS) - 6, outcomes


@pytest.mark.parametrize("block", range(4))
def test_triples(block: int) -> None:
    """Three of them, drawn by lot."""
    draw = random.Random(block)
    outcomes = Counter(compare(draw.choice(list(BASES)), tuple(draw.choices(list(WRAPPERS), k=3))) for _ in range(20))
    assert outcomes["right"] >= 15, outcomes


def main() -> None:
    """Runs COUNT nests of a DEPTH."""
    depth, count = int(sys.argv[1]), int(sys.argv[2])
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    warnings.simplefilter("ignore")
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        nest = tuple(draw.choices(list(WRAPPERS), k=depth))
        base = draw.choice(list(BASES))
        try:
            outcomes[compare(base, nest)[:120]] += 1
        except (AssertionError, RuntimeError) as error:
            outcomes["wrong"] += 1
            print(base, nest, error, flush=True)
    for text, number in outcomes.most_common():
        print(number, text)
    sys.exit(outcomes["wrong"] != 0)


if __name__ == "__main__":
    main()

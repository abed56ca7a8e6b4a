"""Forward mode and vmap, each within the other: the derivatives are those of a loop over the examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import gradcheck, hvp, jacfwd, jacobian, jacrev, jvp, linearize, vjp, vmap
from support.layers import Cube


def table(*shape: int, seed: int) -> lm.Tensor:
    return lm.asarray(np.random.default_rng(seed).uniform(0.3, 1.5, shape))


EXAMPLES = 3
X, V, U = (table(EXAMPLES, 4, seed=seed) for seed in range(3))
MATRIX = table(4, 2, seed=3)
ONE = lm.asarray(1.0, dtype="float64")


class Sine(lm.PyLayer):
    """Has a jvp."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        return lm.sin(x)

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensors
        return dy * lm.cos(x)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensors
        return dx * lm.cos(x)


class NumpySine(Sine):
    """Reads memory, so that it has a rule for vmap as well."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        return lm.asarray(np.sin(x.numpy()))

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: lm.Tensor) -> Any:
        return NumpySine.apply(x), 0


def writes(x: lm.Tensor) -> lm.Tensor:
    y = x * 2
    y[1:].mul_(x[0])
    y.add_(x)
    return y * y


def assigns(x: lm.Tensor) -> lm.Tensor:
    y = x * 2
    y[1] = x[0] * x[2]
    return y * y


def scalar(x: lm.Tensor) -> lm.Tensor:
    return (lm.sin(x) * x[0]).sum()


FUNCTIONS: dict[str, Callable[[lm.Tensor], lm.Tensor]] = {
    "identity": lambda x: x,
    "elementwise": lambda x: lm.sin(x) * x,
    "reduction": lambda x: x.sum() * x,
    "softmax": lm.softmax,
    "matmul": lambda x: x @ MATRIX,
    "view": lambda x: x.reshape(2, 2).T * x[1:3],
    "index": lambda x: x[lm.asarray([1, 0, 2])] * x[0],
    "where": lambda x: lm.where(x > 0.8, x * x, x),
    "writes": writes,
    "assigns": assigns,
    "layer": Cube.apply,
    "layer with jvp": Sine.apply,
    "layer with jvp and vmap": NumpySine.apply,
}


def stacked(function: Callable[[int], Any]) -> list[np.ndarray]:
    """What a loop over the examples gives, result by result."""
    rows = [function(i) for i in range(EXAMPLES)]
    return [np.stack([row[k].detach().numpy() for row in rows]) for k in range(len(rows[0]))]


def check(got: Any, expected: list[np.ndarray]) -> None:
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9, atol=1e-12)


functions = pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in FUNCTIONS.items()])


@functions
@pytest.mark.parametrize("recorded", [False, True])
def test_vmap_of_jvp(f: Any, recorded: bool) -> None:
    x = lm.tensor(X, stop_gradient=not recorded)
    got = vmap(lambda x, v: jvp(f, x, v))(x, V)
    check(got, stacked(lambda i: jvp(f, x[i], V[i])))
    assert got[1].stop_gradient == jvp(f, x[0], V[0])[1].stop_gradient


@functions
def test_vmap_of_jvp_in_one_direction(f: Any) -> None:
    got = vmap(lambda x, v: jvp(f, x, v), in_axes=(0, None))(X, V[0])
    check(got, stacked(lambda i: jvp(f, X[i], V[0])))


@functions
def test_vmap_of_jvp_at_one_point(f: Any) -> None:
    got = vmap(lambda x, v: jvp(f, x, v), in_axes=(None, 0))(X[0], V)
    check(got, stacked(lambda i: jvp(f, X[0], V[i])))


@functions
@pytest.mark.parametrize("recorded", [False, True])
def test_jvp_of_vmap(f: Any, recorded: bool) -> None:
    x = lm.tensor(X, stop_gradient=not recorded)
    check(jvp(vmap(f), x, V), stacked(lambda i: jvp(f, x[i], V[i])))


def test_jvp_of_vmap_over_other_axes() -> None:
    out, tangent = jvp(vmap(scalar, in_axes=1), X.T, V.T)
    check((out, tangent), stacked(lambda i: jvp(scalar, X[i], V[i])))


def test_jvp_of_vmap_along_what_all_examples_share() -> None:
    w, dw = U[0], V[0]
    for mapped in (
        lambda w: vmap(lambda x: (lm.sin(x * w)).sum())(X),
        lambda w: vmap(lambda x, w: (lm.sin(x * w)).sum(), in_axes=(0, None))(X, w),
    ):
        check(jvp(mapped, w, dw), stacked(lambda i: jvp(lambda w, i=i: lm.sin(X[i] * w).sum(), w, dw)))
    out, tangent = jvp(lambda w: vmap(lambda x: w * w, out_axes=None)(X), w, dw)
    check((out, tangent), [(w * w).numpy(), (2 * w * dw).numpy()])

    def gradient(w: lm.Tensor, x: lm.Tensor) -> lm.Tensor:
        return vjp(lambda w: lm.sin(w * x).sum(), w)[1](ONE)[0]

    check(
        jvp(lambda w: vmap(lambda x: gradient(w, x))(X), w, dw),
        stacked(lambda i: jvp(lambda w: gradient(w, X[i]), w, dw)),
    )


def product(i: int) -> lm.Tensor:
    return hvp(scalar, X[i], V[i])[1]


def second(x: lm.Tensor, v: lm.Tensor) -> lm.Tensor:
    return jvp(lambda x: jvp(scalar, x, v)[1], x, v)[1]


#: What is to be equal: the left side uses vmap, the right one a loop.
IDENTITIES: dict[str, tuple[Callable[[], lm.Tensor], Callable[[int], lm.Tensor]]] = {
    "vmap of jacfwd": (lambda: vmap(jacfwd(scalar))(X), lambda i: jacrev(scalar)(X[i])),
    "vmap of jacfwd of jacfwd": (lambda: vmap(jacfwd(jacfwd(scalar)))(X), lambda i: jacrev(jacrev(scalar))(X[i])),
    "vmap of jacfwd of jacrev": (lambda: vmap(jacfwd(jacrev(scalar)))(X), lambda i: jacrev(jacrev(scalar))(X[i])),
    "vmap of jacrev of jacfwd": (lambda: vmap(jacrev(jacfwd(scalar)))(X), lambda i: jacrev(jacrev(scalar))(X[i])),
    "vmap of jvp of vjp": (
        lambda: vmap(lambda x, v: jvp(lambda x: vjp(scalar, x)[1](ONE)[0], x, v)[1])(X, V),
        product,
    ),
    "vmap of jvp of jvp": (lambda: vmap(second)(X, V), lambda i: (product(i) * V[i]).sum()),
    "vmap of linearize": (
        lambda: vmap(lambda x, v: linearize(scalar, x)[1](v))(X, V),
        lambda i: (jacrev(scalar)(X[i]) * V[i]).sum(),
    ),
    "linearize of vmap": (
        lambda: linearize(vmap(scalar), X)[1](V),
        lambda i: (jacrev(scalar)(X[i]) * V[i]).sum(),
    ),
    "gradient of vmap of jvp": (
        lambda: vjp(lambda x: vmap(lambda x, v: jvp(scalar, x, v)[1])(x, V).sum(), X)[1](ONE)[0],
        product,
    ),
    "jvp of vmap of jvp": (
        lambda: jvp(lambda x: vmap(lambda x, v: jvp(scalar, x, v)[1])(x, V), X, V)[1],
        lambda i: (product(i) * V[i]).sum(),
    ),
    "jvp of the gradient of vmap": (
        lambda: jvp(lambda x: vjp(lambda x: vmap(scalar)(x).sum(), x)[1](ONE)[0], X, V)[1],
        product,
    ),
}


@pytest.mark.parametrize(
    ("mapped", "looped"),
    IDENTITIES.values(),
    ids=IDENTITIES,
)
def test_any_order_of_transforms(mapped: Any, looped: Any) -> None:
    check([mapped()], stacked(lambda i: [looped(i)]))


def test_forward_mode_jacobians_of_a_mapped_function() -> None:
    reverse = jacobian(vmap(scalar), X).numpy()
    check([jacfwd(vmap(scalar))(X), jacobian(vmap(scalar), X, strategy="forward-mode")], [reverse, reverse])


def test_gradcheck_of_a_mapped_function() -> None:
    assert gradcheck(vmap(scalar), lm.tensor(X, stop_gradient=False), check_forward_ad=True)


class Nested(Cube):
    """Has a backward that calls another layer, which forward mode goes through as there is no jvp."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * dy * Sine.apply(x) / lm.sin(x) * x * x


SQUARES = table(EXAMPLES, 3, 3, seed=7) + 4 * lm.eye(3, dtype="float64")
OF_BACKWARD: dict[str, tuple[Callable[[lm.Tensor], lm.Tensor], lm.Tensor]] = {
    "cumprod": (lambda x: lm.cumprod(x, 0), X),
    "logcumsumexp": (lambda x: lm.logcumsumexp(x, 0), X),
    "det": (lm.linalg.det, SQUARES),
    "solve": (lambda x: lm.linalg.solve(x, x @ x), SQUARES),
    "cholesky": (lambda x: lm.linalg.cholesky(x @ x.T), SQUARES),
    "qr": (lambda x: lm.linalg.qr(x)[1], SQUARES),
    "a layer": (Nested.apply, X),
}


@pytest.mark.parametrize("name", OF_BACKWARD)
def test_forward_mode_over_the_backward_pass_of_a_mapped_call(name: str) -> None:
    """The tangents of one example are not added to those of another one."""
    f, x = OF_BACKWARD[name]
    v = lm.asarray(np.random.default_rng(5).normal(size=x.shape))

    def mapped(x: lm.Tensor) -> lm.Tensor:
        return lm.sum(vmap(f)(x) * 1.5)

    found = jvp(jacrev(mapped), (x,), (v,))[1]
    rows = [jvp(jacrev(lambda row: lm.sum(f(row) * 1.5)), (x[i],), (v[i],))[1] for i in range(EXAMPLES)]
    np.testing.assert_allclose(found.numpy(), np.stack([row.numpy() for row in rows]), 1e-9, 1e-9)
    np.testing.assert_allclose(found.numpy(), hvp(mapped, x, v)[1].numpy(), 1e-9, 1e-9)

"""Everybody's own operators on global tensors: PyLayers, schema operators, and OneFlow's with their SetGetSbpFn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.distributed import distribute, equation, register_sbp
from lamella.distributed.mesh import placement
from lamella.sbp import broadcast, partial_sum, split
from support.user_ops import load, use

from .ranks import run

RNG = np.random.default_rng(11)
X, W = RNG.standard_normal((4, 6)), RNG.standard_normal((4, 6))


class Scaled(lm.PyLayer):
    """x * factor, with a rule by letters."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, factor: float) -> lm.Tensor:
        ctx.factor = factor
        return lm.asarray(x.numpy() * factor)

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return lm.asarray(dy.numpy() * ctx.factor)

    @staticmethod
    def sbp(call: Any) -> Any:
        assert call.arguments["factor"] == 3.0
        return equation("ab->ab", linear=(frozenset([0]),))


class Product(lm.PyLayer):
    """The sum of a * b over axis 1, with a rule of pairs."""

    @staticmethod
    def forward(ctx: Any, a: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(a, b)
        return (a * b).sum(axis=1)

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        a, b = ctx.saved_tensor()
        dy = dy.reshape(-1, 1)
        return dy * b, dy * a

    @staticmethod
    def sbp(call: Any) -> Any:
        return [([split(0), split(0)], [split(0)]), ([split(1), split(1)], partial_sum)]


class Unruled(Product):
    sbp = None  # type: ignore[assignment]


@pytest.fixture(scope="module")
def tripled() -> Iterator[Any]:
    @lm.library.custom_op("t_sbp::tripled", mutates_args=())
    def tripled(x: lm.Tensor, factor: float = 3.0) -> lm.Tensor:
        return lm.asarray(x.numpy() * factor)

    @tripled.register_fake
    def _(x: lm.Tensor, factor: float) -> lm.Tensor:
        return lm.empty_like(x)

    tripled.register_autograd(
        lambda ctx, dy: (dy * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )
    yield tripled


def _beside_whole(
    function: Any, given: list[str], expected: str, value: Any, *gradients: Any, dtype: str = "float64"
) -> None:
    def work(rank: int) -> Any:
        mesh = placement("cpu", [0, 1])
        xs = [distribute(lm.asarray(x, dtype=dtype), mesh, one) for x, one in zip((X, W), given, strict=False)]
        for x in xs:
            x.stop_gradient = False
        y = function(*xs)
        (y * y).sum().backward()
        assert all(x.grad is not None for x in xs)
        return y.sbp[0].short, y.numpy(), [x.grad.numpy() for x in xs]  # type: ignore[union-attr]

    rtol = 1e-12 if dtype == "float64" else 1e-5
    for signature, y, found in run(2, work):
        assert signature == expected
        np.testing.assert_allclose(y, value, rtol=rtol)
        for dx, dx_expected in zip(found, gradients, strict=True):
            np.testing.assert_allclose(dx, dx_expected, rtol=rtol)


@pytest.mark.parametrize("one", ["S(0)", "S(1)", "B", "P"])
def test_a_layer_with_letters(one: str) -> None:
    _beside_whole(lambda x: Scaled.apply(x, 3.0), [one], one, 3 * X, 18 * X)


@pytest.mark.parametrize(("one", "expected"), [("S(0)", "S(0)"), ("S(1)", "P"), ("B", "B")])
def test_a_layer_with_pairs(one: str, expected: str) -> None:
    y = (X * W).sum(1)
    _beside_whole(Product.apply, [one, one], expected, y, 2 * y[:, None] * W, 2 * y[:, None] * X)


def test_what_has_no_rule_is_named() -> None:
    def work(rank: int) -> Any:
        mesh = placement("cpu", [0, 1])
        cut, whole = distribute(lm.asarray(X), mesh, split(0)), distribute(lm.asarray(X), mesh, broadcast)
        np.testing.assert_allclose(Unruled.apply(whole, whole).numpy(), (X * X).sum(1))
        for call in (lambda: Unruled.apply(cut, whole), lambda: lm.kron(cut, whole), lambda: cut[cut > 0]):
            with pytest.raises(RuntimeError, match=r"has no SBP rule .*\[4, 6\] as \(S\(0\)\)") as info:
                call()
            assert "register_sbp" in str(info.value)
        return str(info.value)

    run(2, work)


def test_a_schema_operator(tripled: Any) -> None:
    def cut(rank: int) -> None:
        x = distribute(lm.asarray(X), placement("cpu", [0, 1]), split(0))
        with pytest.raises(RuntimeError, match=r"\[t_sbp::tripled\] has no SBP rule"):
            tripled(x)

    run(2, cut)
    register_sbp("t_sbp::tripled")(
        lambda call: [([split(i)], [split(i)]) for i in range(call.tensors[0].ndim)] + [([partial_sum], [partial_sum])]
    )
    for one in ("S(0)", "S(1)", "P", "B"):
        _beside_whole(tripled, [one], one, 3 * X, 18 * X)
        _beside_whole(lambda x: lm.ops.t_sbp.tripled(x, factor=2.0), [one], one, 2 * X, 8 * X)
    with pytest.raises(ValueError, match="has a rule already"):
        register_sbp("t_sbp::tripled")(lambda call: [])


def test_a_schema_operator_without_a_meta_kernel() -> None:
    """Its rule tells how it is split; the shapes of its results come from the parts."""

    @lm.library.custom_op("t_sbp::rows_added", mutates_args=())
    def rows_added(x: lm.Tensor) -> lm.Tensor:
        return lm.asarray(x.numpy().sum(1))

    rows_added.register_autograd(
        lambda ctx, dy: lm.broadcast_to(dy[:, None], ctx.shape),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "shape", inputs[0].shape),
    )
    register_sbp("t_sbp::rows_added")(lambda call: [([split(0)], [split(0)]), ([split(1)], [partial_sum])])
    total = X.sum(1)
    for one, expected in (("S(0)", "S(0)"), ("S(1)", "P"), ("B", "B")):
        _beside_whole(rows_added, [one], expected, total, np.broadcast_to(2 * total[:, None], X.shape))


# For the signatures of two tensors of which t_add_n's SetGetSbpFn knows the ways S(i), S(i) -> S(i) and P, P -> P.
ADDED = [
    (["S(0)", "S(0)"], "S(0)"),
    (["S(1)", "S(1)"], "S(1)"),
    (["P", "P"], "P"),
    (["P", "B"], "P"),
    (["B", "B"], "B"),
]


@pytest.mark.parametrize(("given", "expected"), ADDED, ids=str)
def test_an_operator_of_oneflows_dialect(given: list[str], expected: str) -> None:
    load("declarations")
    total = X + W
    gradient = 2 * total
    _beside_whole(
        lambda a, b: use("t_add_n", {"in": [a, b]}, {"out": 1}),
        *(given, expected, total, gradient, gradient),
        dtype="float32",
    )


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (lambda call: "ab->ab", TypeError, "returns a Spec or a list of ways, not str"),
        (lambda call: [split(0)], TypeError, "a way is a pair of lists of signatures"),
        (lambda call: [([split(0)], [split(0)])], ValueError, "gives 1 signatures, and there are 2 tensors"),
        (lambda call: [([split(0)] * 2, [split(0)] * 2)], ValueError, "gives 2 signatures, and there are 1 results"),
        (lambda call: [([split(0)] * 2, [broadcast])], ValueError, "and it computes"),
        (lambda call: [([split(5), split(0)], [split(0)])], ValueError, "out of range"),
        (lambda call: equation("ab->a"), ValueError, "names the axes of 1 tensors"),
    ],
)
def test_rules_that_make_no_sense(rule: Any, error: type[Exception], words: str) -> None:
    class Wrong(Product):
        sbp = staticmethod(rule)

    def work(rank: int) -> None:
        x = distribute(lm.asarray(X), placement("cpu", [0, 1]), split(0))
        with pytest.raises(error, match=words):
            Wrong.apply(x, x)

    run(2, work)


def test_names_of_rules() -> None:
    with pytest.raises(TypeError, match="a name is a str"):
        register_sbp(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no '->'"):
        equation("ab,b")

"""Values that leave for Python or numpy while derivatives are followed: right, or refused with the remedy.

The exits are one table, and the ways in which a derivative is followed another; what each does is stated by kind.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
import lamella.autograd.forward_ad as fwad
from lamella.autograd import jvp
from support.tensors import vec

Exit = Callable[[lm.Tensor], Any]

#: Memory goes out: reverse mode refuses this where the tensor wants a gradient.
MEMORY: dict[str, Exit] = {
    "numpy": lambda x: x.numpy(),
    "asarray": np.asarray,
    "array": np.array,
    "__array__": lambda x: x.__array__(),
    "__array__ with a dtype": lambda x: x.__array__("float32"),
    "ufunc": np.sin,
    "array function": np.linalg.norm,
    "concatenate": lambda x: np.concatenate([x, x]),
    "from_dlpack": np.from_dlpack,
    "__dlpack__": lambda x: x.__dlpack__(),
    "memoryview": memoryview,
    "buffer": lambda x: np.frombuffer(x),
    "bytes": bytes,
}
#: Numbers go out: reverse mode lets them, as a loss is printed by them.
NUMBERS: dict[str, Exit] = {
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "tolist of a number": lambda x: x[0].tolist(),
    "float": lambda x: float(x[0]),
    "complex": lambda x: complex(x[0]),
    "math": lambda x: math.sin(x[0]),
    "a number of an operator": lambda x: lm.full([2], x[0]),
}
#: What decides what is computed, or is looked at only.
STEERING: dict[str, Exit] = {
    "bool": lambda x: bool(x[0] > 0),
    "bool of the value": lambda x: bool(x[0]),
    "int": lambda x: int(x[0]),
    "index": lambda x: [1, 2, 3][lm.argmax(x)],
    "repr": repr,
    "format": lambda x: f"{x[0]:.3f}",
    "shape": lambda x: x.shape,
    "detached": lambda x: x.detach().numpy(),
    "detached item": lambda x: x[0].detach().item(),
    "primal": lambda x: fwad.unpack_dual(x.detach()).primal.numpy(),
}
EXITS = MEMORY | NUMBERS


def level_one(exit: Exit) -> None:
    jvp(lambda x: exit(x * 2) is not None and x, vec(0.5, 1.5), vec(1, 1))


def without_recording(exit: Exit) -> None:
    with lm.no_grad():
        level_one(exit)


def make_dual(exit: Exit) -> None:
    with fwad.dual_level():
        exit(fwad.make_dual(vec(0.5, 1.5), vec(1, 1)))


def nested_inner(exit: Exit) -> None:
    jvp(lambda x: jvp(lambda y: exit(y * x) is not None and y, x, vec(1, 1))[1], vec(0.5, 1.5), vec(1, 1))


def nested_outer(exit: Exit) -> None:
    jvp(lambda x: jvp(lambda y: exit(x) is not None and y, vec(0.5, 1.5), vec(1, 1))[1], vec(0.5, 1.5), vec(1, 1))


def tangent(exit: Exit) -> None:
    """The tangent of an inner level, which is dual at the outer one."""
    jvp(lambda x: exit(jvp(lambda y: y * y, x, vec(1, 1))[1]) is not None and x, vec(0.5, 1.5), vec(1, 1))


def forward_over_reverse(exit: Exit) -> None:
    x = vec(0.5, 1.5, grad=True)
    jvp(lambda y: exit(lm.grad((y * y * y).sum(), y)) is not None and y, x, vec(1, 1))


def view(exit: Exit) -> None:
    jvp(lambda x: exit((x * x)[:]) is not None and x, vec(0.5, 1.5), vec(1, 1))


def written(exit: Exit) -> None:
    """A plain tensor that a dual one was written into."""

    def f(x: lm.Tensor) -> lm.Tensor:
        y = lm.zeros([2], dtype="float64")
        y.copy_(x)
        exit(y)
        return x

    jvp(f, vec(0.5, 1.5), vec(1, 1))


FORWARD = [
    level_one, without_recording, make_dual, nested_inner, nested_outer, tangent, forward_over_reverse, view, written,
]  # fmt: skip


@pytest.mark.parametrize("follow", FORWARD, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", EXITS)
def test_a_tangent_is_not_lost_in_silence(name: str, follow: Callable[[Exit], None]) -> None:
    with pytest.raises(RuntimeError, match=r"tangent.*detach\(\)|wants a gradient.*detach\(\)"):
        follow(EXITS[name])


@pytest.mark.parametrize("follow", FORWARD, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", STEERING)
def test_what_steers_is_allowed(name: str, follow: Callable[[Exit], None]) -> None:
    follow(STEERING[name])


@pytest.mark.parametrize("name", EXITS | STEERING)
def test_reverse_mode(name: str) -> None:
    x = vec(0.5, 1.5, grad=True)
    if name in MEMORY:
        with pytest.raises(RuntimeError, match=r"wants a gradient.*detach\(\)"):
            EXITS[name](x * 2)
    else:
        (EXITS | STEERING)[name](x * 2)


@pytest.mark.parametrize("name", EXITS | STEERING)
def test_what_has_no_tangent_leaves_as_ever(name: str) -> None:
    """A constant beside the level, and anything after it has ended."""
    with fwad.dual_level():
        dual = fwad.make_dual(vec(0.5, 1.5), vec(1, 1))
        (EXITS | STEERING)[name](vec(0.5, 1.5))
        (EXITS | STEERING)[name](lm.zeros_like(dual))
        kept = dual * 2
    (EXITS | STEERING)[name](kept)


def test_copies_of_a_dual_are_refused() -> None:
    with fwad.dual_level():
        dual = fwad.make_dual(vec(0.5, 1.5), vec(1, 1))
        for take in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(RuntimeError, match=r"tangent of forward mode.*x\.detach\(\)"):
                take(dual)


# Layers written in numpy. Each is the cube; each way loses what it depends on at another place.


def plain(x: lm.Tensor) -> lm.Tensor:
    return x * x * x


class Cube(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(x)
        ctx.x = x.numpy().copy()
        ctx.scale = 3 * x.numpy() ** 2
        return lm.asarray(x.numpy() ** 3)


class KeptArray(Cube):
    """Arrays that forward kept."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return lm.asarray(dy.detach().numpy() * ctx.scale)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        return lm.asarray(dx.detach().numpy() * ctx.scale)


class KeptArrayAndOperators(Cube):
    """The array meets a tensor."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return dy * ctx.scale

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        return dx * ctx.scale


class Detached(Cube):
    """Saved tensors, detached and read."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dy * lm.from_numpy(3 * x.detach().numpy() ** 2)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dx * lm.from_numpy(3 * x.detach().numpy() ** 2)


class Attached(Cube):
    """Saved tensors, read as they are: the exit itself refuses."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dy * lm.asarray(3 * x.numpy() ** 2)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dx * lm.asarray(3 * x.numpy() ** 2)


class Lists(Cube):
    """By way of Python's lists."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dy * lm.tensor([3 * v * v for v in x.detach().tolist()], dtype="float64")

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dx * lm.tensor([3 * v * v for v in x.detach().tolist()], dtype="float64")


class Dlpack(Cube):
    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dy * lm.from_dlpack(3 * np.from_dlpack(x.detach()) ** 2)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dx * lm.from_dlpack(3 * np.from_dlpack(x.detach()) ** 2)


class Intermediate(Cube):
    """A tensor that forward computed, returned as it is or multiplied."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.slope = 3 * x * x
        return x * x * x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return ctx.slope

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        return ctx.slope


class KeptNumbers(Cube):
    """Numbers that forward read of its input and kept."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.number = 3 * x.sum().item() ** 2
        return x * x * x

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return dy * ctx.number

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        return dx * ctx.number


class Numbers(Cube):
    """Numbers read where they are used."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dy * (3 * x.detach().sum().item() ** 2)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dx * (3 * float(x.detach().sum()) ** 2)


class NumpyNumbers(Cube):
    """Numpy's scalars, which are taken for numbers."""

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> Any:
        return dy * (3 * ctx.x.sum() ** 2)

    @staticmethod
    def jvp(ctx: Any, dx: lm.Tensor) -> Any:
        return dx * np.float32(3 * ctx.x.sum() ** 2)


#: Right for one element only.
OF_ONE = [KeptNumbers, Numbers, NumpyNumbers]
LAYERS = [KeptArray, KeptArrayAndOperators, Detached, Attached, Lists, Dlpack, Intermediate]


def without_jvp(layer: Any) -> Any:
    """A class whose forward mode is derived from backward."""
    forward = layer.__dict__.get("forward", Cube.__dict__["forward"])
    return type(layer.__name__, (lm.PyLayer,), {"forward": forward, "backward": layer.__dict__["backward"]})


def operator_of(layer: Any, name: str) -> Callable[[lm.Tensor], lm.Tensor]:
    """The same as a registered operator."""

    def kernel(x: lm.Tensor) -> lm.Tensor:
        return lm.asarray(x.numpy() ** 3)

    op = lm.library.custom_op(f"host_exits::{name}", kernel, schema="(Tensor x) -> Tensor")

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.x, ctx.scale, ctx.slope = x.numpy().copy(), 3 * x.numpy() ** 2, 3 * x * x

    op.register_autograd(layer.backward, setup_context=setup_context)
    return op


X, V = (0.5, 1.5), (1.0, -2.0)


def ones() -> lm.Tensor:
    return vec(*[1.0] * len(X))


def first(f: Any) -> lm.Tensor:
    x = vec(*X, grad=True)
    return lm.grad(f(x).sum(), x)


def first_forward(f: Any) -> lm.Tensor:
    return jvp(f, vec(*X), ones())[1]


def reverse_over_reverse(f: Any) -> lm.Tensor:
    x = vec(*X, grad=True)
    dx = lm.grad(f(x).sum(), x, create_graph=True)
    return lm.grad((dx * vec(*V)).sum(), x, allow_unused=True)


def forward_over_forward(f: Any) -> lm.Tensor:
    return jvp(lambda y: jvp(f, y, vec(*V))[1], vec(*X), ones())[1]


def forward_over_forward_recorded(f: Any) -> lm.Tensor:
    return jvp(lambda y: jvp(f, y, vec(*V))[1], vec(*X, grad=True), ones())[1]


def forward_over_reverse_pass(f: Any) -> lm.Tensor:
    return jvp(lambda y: lm.grad((f(y) * vec(*V)).sum(), y), vec(*X, grad=True), ones())[1]


def reverse_over_forward(f: Any) -> lm.Tensor:
    x = vec(*X, grad=True)
    return lm.grad(jvp(f, x, vec(*V))[1].sum(), x, allow_unused=True)


SECOND = [
    reverse_over_reverse, forward_over_forward, forward_over_forward_recorded, forward_over_reverse_pass,
    reverse_over_forward,
]  # fmt: skip


@pytest.mark.parametrize("form", ["jvp", "backward", "operator"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda c: c.__name__)
def test_second_derivatives_through_numpy(layer: Any, form: str) -> None:
    f = {
        "jvp": lambda: layer.apply,
        "backward": lambda: without_jvp(layer).apply,
        "operator": lambda: operator_of(layer, layer.__name__),
    }[form]()
    np.testing.assert_allclose(first(f).numpy(), first(plain).numpy())
    if form == "jvp":
        np.testing.assert_allclose(first_forward(f).numpy(), first(plain).numpy())
    for follow in SECOND:
        expected = follow(plain).detach().numpy()
        try:
            result = follow(f)
        except RuntimeError as error:
            remedies = ("once_differentiable", "save_for_backward", "define jvp", "detach()", "Save inputs", "not used")
            assert any(remedy in str(error) for remedy in remedies), error
        else:
            assert result is not None
            np.testing.assert_allclose(result.detach().numpy(), expected, err_msg=follow.__name__)


@pytest.mark.parametrize("layer", OF_ONE, ids=lambda c: c.__name__)
@pytest.mark.parametrize("form", ["jvp", "backward"])
def test_second_derivatives_through_numbers(layer: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "X", (1.5,))
    monkeypatch.setitem(globals(), "V", (-2.0,))
    test_second_derivatives_through_numpy(layer, form)


@pytest.mark.parametrize("follow", SECOND, ids=lambda f: f.__name__)
def test_numbers_of_the_call_and_of_the_program_are_constants(follow: Any) -> None:
    class Scaled(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor, factor: float) -> lm.Tensor:
            ctx.save_for_backward(x)
            ctx.factor, ctx.power = factor, 3
            return lm.asarray(factor * x.numpy() ** 3)

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return dy * ctx.factor * ctx.power * 1.0 * x * x, None

        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor, dfactor: None) -> Any:
            (x,) = ctx.saved_tensors
            return dx * ctx.factor * ctx.power * 1.0 * x * x

    got = follow(lambda x: Scaled.apply(x, 2.0)).detach().numpy()
    np.testing.assert_allclose(got, 2 * follow(plain).detach().numpy())


@pytest.mark.parametrize("follow", SECOND, ids=lambda f: f.__name__)
def test_constants_made_in_backward_are_no_host_values(follow: Any) -> None:
    """Numbers and arrays of the layer's own are constants, as long as no tensor's values went out before."""

    class Scaled(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            assert bool((x > 0).all()) and int(x[0]) == 0 and repr(x)
            return dy * lm.asarray(np.array([3.0, 3.0])) * x * x

        @staticmethod
        def jvp(ctx: Any, dx: lm.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return dx * np.array([3.0, 3.0]) * x * x

    np.testing.assert_allclose(follow(Scaled.apply).detach().numpy(), follow(plain).detach().numpy())


def test_a_scale_that_depends_on_the_incoming_gradient() -> None:
    """d dx / d dy through numpy is refused too: the gradient of the gradient that came in."""

    class Layer(lm.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            return lm.asarray(dy.detach().numpy() * 2)

    x, v = vec(1, 2, grad=True), vec(3, 4, grad=True)
    dx = lm.grad([Layer.apply(x)], [x], [v * 1], create_graph=True)[0]
    with pytest.raises(RuntimeError, match=r"\[Layer\].*numpy.*once_differentiable"):
        lm.grad(dx.sum(), v)


def test_forward_may_use_numpy() -> None:
    """Inside of forward nothing is followed: its derivative is backward's, or jvp's."""

    class Layer(Cube):
        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return dy * 3 * x * x

    for follow in SECOND:
        np.testing.assert_allclose(follow(Layer.apply).detach().numpy(), follow(plain).detach().numpy())

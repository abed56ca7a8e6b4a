"""gradcheck and gradgradcheck: right layers pass, and each kind of wrong one is told what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import GradcheckError, gradcheck, gradgradcheck
from support import layers
from support.layers import saving


def leaf(*shape: int, seed: int = 0, dtype: str = "float64") -> lm.Tensor:
    values = np.random.default_rng(seed).uniform(0.5, 2.0, shape)
    return lm.tensor(values, dtype=dtype, stop_gradient=False)


def layer(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    return layers.layer(forward, backward).apply


def square_backward(factor: float) -> Callable[..., Any]:
    return lambda ctx, dy: dy * ctx.saved_tensors[0] * factor


def coarse_square(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    ctx.save_for_backward(x)
    return lm.square(x.astype("float32")).astype("float64")


def half_precision_backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
    (x,) = ctx.saved_tensors
    return (2.0 * dy * x).astype("bfloat16").astype("float64")


def stateful_forward(ctx: Any, x: lm.Tensor, counter: list[int]) -> lm.Tensor:
    counter[0] += 1
    return x * float(counter[0])


def drifting_backward() -> Callable[..., Any]:
    calls = [0]

    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        calls[0] += 1
        return dy * (2.0 + 1e-3 * calls[0])

    return backward


def two_outputs(ctx: Any, x: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
    ctx.set_materialize_grads(False)
    return x * 2.0, x * 3.0


def forgets_lonely_gradients(ctx: Any, a: lm.Tensor | None, b: lm.Tensor | None) -> lm.Tensor | None:
    return None if a is None or b is None else a * 2.0 + b * 3.0


A, B = leaf(2, 3), leaf(2, 3, seed=1)
SQUARE = leaf(3, 3)
MATRIX = lm.asarray(np.random.default_rng(2).normal(size=(3, 3)))

# Wrong layers: what they are, the function, its inputs, and what the message must hold.
WRONG: dict[str, tuple[Callable[..., Any], Any, list[str]]] = {
    "twice": (
        layer(saving(lambda x: x * x), square_backward(4.0)),
        A,
        ["output 0 (float64[2, 3])", "input 0 (float64[2, 3])", "6 of 36 entries", "the ratio is 2 everywhere"],
    ),
    "half": (layer(saving(lambda x: x * x), square_backward(1.0)), A, ["half the gradient"]),
    "sign": (layer(saving(lambda x: x * x), square_backward(-2.0)), A, ["the sign is flipped"]),
    "factor": (layer(saving(lambda x: x * x), square_backward(7.0)), A, ["off by a constant factor: the ratio is 3.5"]),
    "mean for sum": (
        layer(saving(lambda x: x.mean()), lambda ctx, dy: lm.broadcast_to(dy, [2, 3])),
        A,
        ["constant factor 6", "a mean taken for a sum"],
    ),
    "None": (
        layer(saving(lambda x, y: x * y), lambda ctx, dy: (dy * ctx.saved_tensors[1], None)),
        (A, B),
        ["input 1", "zero everywhere", "Did backward return None"],
    ),
    "zeros": (
        layer(saving(lambda x: x * x), lambda ctx, dy: dy * 0.0),
        A,
        ["zero everywhere: backward returned zeros"],
    ),
    "off the tape": (lambda x: x * x.detach(), A, ["likely reason: backward returned half the gradient"]),
    "nothing recorded": (lambda x: x.detach() * 2.0, A, ["no output wants a gradient", "is 2", "off the tape"]),
    "swapped inputs": (
        layer(saving(lambda x, y: x * y), lambda ctx, dy: (dy * ctx.saved_tensors[0], dy * ctx.saved_tensors[1])),
        (A, B),
        ["it is the gradient of input 1", "in the order of forward's arguments", "also wrong: output 0 with"],
    ),
    "transposed gradient": (
        layer(saving(lambda x: x * MATRIX), lambda ctx, dy: (dy * MATRIX).T),
        SQUARE,
        ["the gradient is transposed"],
    ),
    "transposed matrix": (
        layer(saving(lambda x: x @ MATRIX), lambda ctx, dy: dy @ MATRIX),
        leaf(3),
        ["the Jacobian is transposed", "lacks a transpose"],
    ),
    "constant function": (
        layer(saving(lambda x: x * 0.0), lambda ctx, dy: dy),
        A,
        ["the output does not change with this input"],
    ),
    "ignores dy": (
        layer(saving(lambda x: x * x), lambda ctx, dy: 2.0 * ctx.saved_tensors[0]),
        A,
        ["every output element has the same gradient", "does backward multiply by the gradient that it is given?"],
    ),
    "ignores dy, one element": (
        layer(saving(lambda x: (x * x).sum()), lambda ctx, dy: 2.0 * ctx.saved_tensors[0]),
        A,
        ["where the gradient of output 0 is zero: does it multiply by the gradient that it is given?"],
    ),
    "one entry": (
        layer(
            saving(lambda x: x * x),
            lambda ctx, dy: dy * ctx.saved_tensors[0] * lm.asarray(np.array([[2.0, 2.0, 2.0], [2.0, 2.5, 2.0]])),
        ),
        A,
        ["1 of 36 entries", "d output 0[1, 1] / d input 0[1, 1]", "only some entries are wrong"],
    ),
    "no pattern": (layer(lambda ctx, x: lm.exp(x).sum(), lambda ctx, dy: dy * A), A, ["by no pattern"]),
    "kink": (
        lm.relu,
        lm.tensor([0.0], dtype="float64", stop_gradient=False),
        ["a kink near the point", "are 0 and 1"],
    ),
    "float32 forward": (
        layer(coarse_square, square_backward(2.0)),
        A,
        ["right in float32 precision only", "with a step of 1e-3 the numbers agree"],
    ),
    "half precision backward": (layer(saving(lambda x: x * x), half_precision_backward), A, ["half precision"]),
    "NaN": (layer(saving(lambda x: x * x), lambda ctx, dy: dy * float("nan")), A, ["holds NaN"]),
    "NaN values": (
        layer(saving(lambda x: lm.log(x)), lambda ctx, dy: dy / ctx.saved_tensors[0]),
        lm.tensor([0.0], dtype="float64", stop_gradient=False),
        ["NaN or infinite within one step"],
    ),
    "random forward": (
        lambda x, c=[0]: layer(stateful_forward, lambda ctx, dy: dy)(x, c),
        A,
        ["the function is not deterministic"],
    ),
    "random backward": (layer(saving(lambda x: x * 2.0), drifting_backward()), A, ["backward is not deterministic"]),
    "undefined": (
        layer(two_outputs, lambda ctx, a, b: a * 2.0 + b * 3.0),
        A,
        ["backward fails where only output 0 has a gradient", "TypeError", "set_materialize_grads"],
    ),
    "undefined, in silence": (
        layer(two_outputs, forgets_lonely_gradients),
        A,
        ["with a gradient for output 0 alone", "counts as zeros"],
    ),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_layers(name: str, fast_mode: bool) -> None:
    function, inputs, texts = WRONG[name]
    with pytest.raises(GradcheckError) as caught:
        gradcheck(function, inputs, fast_mode=fast_mode)
    message = str(caught.value)
    assert message.startswith("[gradcheck] ")
    for text in texts:
        assert text in message
    assert gradcheck(function, inputs, fast_mode=fast_mode, raise_exception=False) is False


def test_a_message_tells_the_entry_both_numbers_and_the_errors() -> None:
    x = lm.tensor([[1.0, 2.0]], dtype="float64", stop_gradient=False)
    with pytest.raises(GradcheckError) as caught:
        wrong_square = layer(saving(lambda x: x * x), square_backward(3.0))
        gradcheck(lambda tree: wrong_square(tree["w"]), {"w": x})
    assert str(caught.value) == (
        "[gradcheck] the gradient of output 0 (float64[1, 2]) with respect to input 0['w'] (float64[1, 2]) is wrong in "
        "2 of 4 entries; the worst is d output 0[0, 1] / d input 0['w'][0, 1]\n"
        "  analytical 6, numerical 4: absolute error 2, relative error 0.5 (allowed: 1e-05 + 0.001 * |numerical|)\n"
        "  likely reason: off by a constant factor: the ratio is 1.5 everywhere"
    )


RIGHT: dict[str, tuple[Callable[..., Any], Any]] = {
    "several outputs": (lambda a, b: (a * b, {"s": (a + b).sum()}, a.astype("int64"), "text"), (A, B)),
    "undefined gradients": (
        layer(two_outputs, lambda ctx, a, b: (0.0 if a is None else a * 2.0) + (0.0 if b is None else b * 3.0)),
        A,
    ),
    "containers and other arguments": (
        lambda d, k, flag: d["a"] * d["b"][0] ** k if flag else None,
        ({"a": A, "b": [B]}, 2.0, True),
    ),
    "an integer input": (lambda a, i: lm.take(a, i, axis=1), (A, lm.asarray(np.array([0, 2, 0])))),
    "an input that wants no gradient": (lambda a, b: a * b, (A, B.detach())),
    "a 0-d input": (lambda a: a * a, lm.tensor(1.5, dtype="float64", stop_gradient=False)),
    "an empty input": (lambda a: a * a, leaf(0, 3)),
    "a constant function": (lambda a: lm.ones([2], dtype="float64"), A),
    "transposed memory": (lambda a: a * a, lm.tensor(np.ones((2, 3)), stop_gradient=False).T.detach()),
    "in place on a copy": (lambda a: lm.exp(a.clone().mul_(2.0)), A),
    "non-differentiable output": (lambda a: (a * a, lm.argmax(a), a.detach()), A),
    "unused input": (lambda a, b: a * 2.0, (A, B)),
}
RIGHT["transposed memory"][1].stop_gradient = False


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_functions(name: str, fast_mode: bool) -> None:
    function, inputs = RIGHT[name]
    assert gradcheck(function, inputs, fast_mode=fast_mode) is True
    assert gradgradcheck(function, inputs, fast_mode=fast_mode) is True


def test_inputs_are_left_as_they_are() -> None:
    x = leaf(2, 3)
    before, version = x.detach().numpy().copy(), x._version
    assert gradcheck(lambda a: lm.exp(a), x)
    np.testing.assert_array_equal(x.detach().numpy(), before)
    assert x._version == version and x.grad is None


@pytest.mark.parametrize(
    ("dtype", "options", "text"),
    [
        ("float32", {}, r"input 0 is float32.*use float64.*eps of at least 0\.0001"),
        ("float16", {"eps": 1e-3}, r"input 0 is float16.*at least 0\.01"),
    ],
)
def test_coarse_inputs_are_an_error(dtype: str, options: dict[str, float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        gradcheck(lambda a: a * a, leaf(2, dtype=dtype), **options)


def test_float32_with_a_larger_step() -> None:
    assert gradcheck(lambda a: a * a, leaf(2, 3, dtype="float32"), eps=1e-2, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: gradcheck(lm.exp, A.detach()), ValueError, "no input requires a gradient"),
        (lambda: gradcheck(lm.exp, leaf(2).to("meta")), ValueError, "meta device"),
        (lambda: gradcheck(lambda a: a > 0, A), ValueError, "returned no floating or complex tensor"),
        (lambda: gradcheck(lm.exp, A, eps=0.0), ValueError, "eps must be positive"),
        (lambda: gradcheck(lm.exp, A, rtol=-1.0), ValueError, "must not be negative"),
        (lambda: gradcheck("exp", A), TypeError, "expected a function"),
        (lambda: gradgradcheck(lm.exp, A, [A, A]), ValueError, "2 grad_outputs for 1 output"),
        (lambda: gradgradcheck(lm.exp, A, [leaf(4)]), ValueError, r"the gradient's shape \[4\]"),
    ],
)
def test_misuse(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


class ReadsValues(lm.PyLayer):
    """A backward that is right for one gradient, and reads its values."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        return lm.asarray(dy.numpy() * 2)


def test_batched_gradients() -> None:
    assert gradcheck(lambda a, b: (a * b, lm.sum(a)), (A, A.detach().clone()), check_batched_grad=True)
    with pytest.raises(RuntimeError, match="vmap"):
        gradcheck(ReadsValues.apply, A, check_batched_grad=True)


def test_exceptions_of_the_function_come_out() -> None:
    def fails(a: lm.Tensor) -> lm.Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        gradcheck(fails, A)


def test_differences_that_overflow_agree_with_nothing() -> None:
    x = lm.tensor([709.7827], dtype="float64", stop_gradient=False)  # exp() of a little more is infinite
    with pytest.raises(GradcheckError, match=r"numerical inf(.|\n)*NaN or infinite within one step"):
        gradcheck(lm.exp, x, eps=1e-3)


def test_an_output_that_changes_its_shape() -> None:
    sizes = iter([2, 3])
    with pytest.raises(ValueError, match="when the function was called again"):
        gradcheck(lambda a: a.sum() * lm.ones([next(sizes)], dtype="float64"), A)


# ---- second derivatives


def intermediate(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    t = lm.exp(x)
    ctx.t = t
    return t * 2.0


def numpy_backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
    return lm.asarray(2.0 * dy.detach().numpy() * ctx.saved_tensors[0].detach().numpy())


def half_of_the_second(ctx: Any, g: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
    x, dy = ctx.saved_tensors
    return 3.0 * x * dy * g, 3.0 * x * x * g


WRONG_SECOND: dict[str, tuple[Callable[..., Any], str]] = {
    "wrong formula": (
        layer(
            saving(lambda x: x * x * x),
            lambda ctx, dy: layer(saving(lambda x, dy: 3.0 * x * x * dy), half_of_the_second)(ctx.saved_tensors[0], dy),
        ),
        r"\[gradgradcheck\] the gradient of the gradient of input 0 .*half the gradient",
    ),
    "backward by numpy": (layer(saving(lambda x: x * x), numpy_backward), "no output wants a gradient.*by numpy"),
    "detached": (
        layer(saving(lambda x: x * x), lambda ctx, dy: dy * ctx.saved_tensors[0].detach() * 2.0),
        "with respect to input 0 .*zero everywhere",
    ),
}


@pytest.mark.parametrize("name", WRONG_SECOND)
def test_wrong_second_derivatives(name: str) -> None:
    function, text = WRONG_SECOND[name]
    assert gradcheck(function, A)
    with pytest.raises(GradcheckError, match=f"(?s){text}"):
        gradgradcheck(function, A)


def test_layers_without_a_second_derivative_say_so() -> None:
    once = layer(saving(lambda x: x * x), lm.autograd.once_differentiable(numpy_backward))
    assert gradcheck(once, A)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradgradcheck(once, A)
    with pytest.raises(RuntimeError, match="computed in forward"):
        gradgradcheck(layer(intermediate, lambda ctx, dy: dy * ctx.t * 2.0), A)


def test_given_gradients_to_begin_with() -> None:
    assert gradgradcheck(lambda a: (a * a, lm.exp(a)), A, (leaf(2, 3, seed=4), leaf(2, 3, seed=5)))


# ---- complex numbers: kernels for their arithmetic are not needed, the layers compute in numpy


def numpy_layer(function: Callable[..., Any], pullback: Callable[..., Any]) -> Callable[..., Any]:
    """A layer computed by numpy; ``pullback`` takes the inputs' arrays and the output's gradient."""

    def forward(ctx: Any, *inputs: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(*inputs)
        return lm.asarray(np.asarray(function(*(x.numpy() for x in inputs))))

    @lm.autograd.once_differentiable
    def backward(ctx: Any, dw: lm.Tensor) -> Any:
        grads = pullback(*(x.detach().numpy() for x in ctx.saved_tensors), dw.numpy())
        return tuple(lm.asarray(np.asarray(g)) for g in grads)

    return layer(forward, backward)


def complex_leaf(*shape: int, seed: int = 6) -> lm.Tensor:
    rng = np.random.default_rng(seed)
    return lm.tensor(rng.uniform(0.5, 2, shape) + 1j * rng.uniform(0.5, 2, shape), stop_gradient=False)


Z, W = complex_leaf(2, 2), complex_leaf(2, 2, seed=8)
# With L real: the gradient of z is dL/dx + i dL/dy; for w = f(z) holomorphic it is dw * conj(f'(z)).
COMPLEX: dict[str, tuple[Callable[..., Any], Any]] = {
    "square": (numpy_layer(lambda z: z * z, lambda z, dw: [dw * np.conj(2 * z)]), Z),
    "product": (numpy_layer(lambda z, w: z * w, lambda z, w, g: [g * np.conj(w), g * np.conj(z)]), (Z, W)),
    "conjugate": (numpy_layer(np.conj, lambda z, dw: [np.conj(dw)]), Z),
    "to real": (numpy_layer(lambda z: np.abs(z) ** 2, lambda z, dw: [2 * dw * z]), Z),
    "real part": (numpy_layer(np.real, lambda z, dw: [dw.astype(complex)]), Z),
    "from real": (numpy_layer(lambda x: x * (1 + 2j), lambda x, dw: [np.real(dw * (1 - 2j))]), leaf(3)),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_layers(name: str, fast_mode: bool) -> None:
    function, inputs = COMPLEX[name]
    assert gradcheck(function, inputs, fast_mode=fast_mode)


WRONG_COMPLEX: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "no conjugate": (numpy_layer(lambda z: z * z, lambda z, dw: [dw * 2 * z]), Z, "the complex conjugate of the right"),
    "twice": (numpy_layer(lambda z: z * z, lambda z, dw: [dw * np.conj(4 * z)]), Z, "the ratio is 2 everywhere"),
    "Wirtinger's half": (numpy_layer(lambda z: np.abs(z) ** 2, lambda z, dw: [dw * z]), Z, "half the gradient"),
}


@pytest.mark.parametrize("name", WRONG_COMPLEX)
def test_wrong_complex_layers(name: str) -> None:
    function, inputs, text = WRONG_COMPLEX[name]
    with pytest.raises(GradcheckError, match=rf"(?s)d output 0\[\d, \d\].* / d input 0\[\d, \d\]\.(real|imag).*{text}"):
        gradcheck(function, inputs)


def test_complex64_needs_a_larger_step() -> None:
    function = COMPLEX["square"][0]
    z = lm.tensor(np.array([1 + 2j], "complex64"), stop_gradient=False)
    with pytest.raises(ValueError, match=r"complex64.*complex128"):
        gradcheck(function, z)
    assert gradcheck(function, z, eps=1e-2, atol=1e-2, rtol=1e-2)

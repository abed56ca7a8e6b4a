"""vjp, jacobian, hessian, hvp, vhp and jacrev: values, structures, graphs, strictness, misuse, leaks."""

from __future__ import annotations

import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import functional_call, hessian, hvp, jacobian, jacrev, vhp, vjp
from support.memory import without_collector
from support.numeric import differences

Point = namedtuple("Point", ["x", "y"])


def arange(*shape: int, start: float = 1.0) -> lm.Tensor:
    return lm.asarray(np.arange(np.prod(shape), dtype="float64").reshape(shape) / 4 + start)


def leaf(*shape: int, start: float = 1.0) -> lm.Tensor:
    x = arange(*shape, start=start)
    x.stop_gradient = False
    return x


X, Y = arange(2, 3), arange(3, start=2.0)

# Functions of tensors: name, function, inputs.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "one": (lambda x: lm.tanh(x) * x, X),
    "two inputs": (lambda x, y: x * x * y, (X, Y)),
    "two outputs": (lambda x, y: (x @ y, (x * y).sum()), (X, Y)),
    "a tuple of one": (lambda x: x * 2.0, (X,)),
    "0-d": (lambda x: x * x, lm.asarray(3.0, dtype="float64")),
    "dict": (lambda d: {"s": d["a"].sum(), "p": [d["a"] * d["b"][0]]}, {"a": X, "b": [Y]}),
    "unused": (lambda x, y: x.sum(), (X, Y)),
    "constant": (lambda x: lm.ones([2], dtype="float64"), X),
    "identity": (lambda x: x, X),
    "empty output": (lambda x: x[:0], X),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian_agrees_with_differences(name: str, create_graph: bool) -> None:
    f, inputs = FUNCTIONS[name]
    got = jacobian(f, inputs, create_graph=create_graph)
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    leaves, structure = _flatten(arguments)
    result, _ = _flatten(f(*arguments))
    rows = _rows(got, f(*arguments), inputs)
    assert len(rows) == len(result)
    for o, row in enumerate(rows):
        for i, block in enumerate(row):

            def moved(array: np.ndarray, o: int = o, i: int = i) -> np.ndarray:
                changed = [lm.asarray(array) if k == i else leaf for k, leaf in enumerate(leaves)]
                return _flatten(f(*structure.build(changed)))[0][o].numpy()

            expected = differences(moved, leaves[i].numpy())
            assert block.shape == (*result[o].shape, *leaves[i].shape)
            np.testing.assert_allclose(block.detach().numpy(), expected, rtol=1e-6, atol=1e-8)
            assert create_graph or block.stop_gradient


def _flatten(tree: Any) -> tuple[list[lm.Tensor], Any]:
    from lamella._tree import leaves_of

    return leaves_of(tree)


def _rows(got: Any, result: Any, inputs: Any) -> list[list[lm.Tensor]]:
    """The blocks of a Jacobian by output and input; the structure must be that of the result, of that of the inputs."""
    outputs, structure = _flatten(result)
    _, inner = _flatten(inputs)
    count = sum(1 for _ in inner.paths())
    blocks, whole = _flatten(got)
    expected = structure.build([inner.build([None] * count)] * len(outputs))
    assert whole.leaves_of(expected) is not None
    return [blocks[o * count : (o + 1) * count] for o in range(len(outputs))]


@pytest.mark.parametrize("name", ["one", "two inputs", "two outputs", "dict", "0-d"])
def test_jacrev_is_the_jacobian(name: str) -> None:
    f, inputs = FUNCTIONS[name]
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    expected = jacobian(f, inputs)
    if isinstance(inputs, tuple):
        got = jacrev(f, argnums=tuple(range(len(arguments))))(*arguments)
    else:
        got = jacrev(f)(*arguments)
    for a, b in zip(_flatten(got)[0], _flatten(expected)[0], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        assert a.stop_gradient


def test_jacrev_of_jacrev_is_the_hessian() -> None:
    f = lambda x: (x * x * x).sum() * lm.exp(x).sum()  # noqa: E731
    np.testing.assert_allclose(jacrev(jacrev(f))(Y).numpy(), hessian(f, Y).numpy(), rtol=1e-12)
    third = jacrev(jacrev(jacrev(lambda x: (x**4.0).sum())))(Y).numpy()
    np.testing.assert_allclose(third[1, 1, 1], 24 * Y.numpy()[1])
    assert np.count_nonzero(third) == 3


def test_jacrev_stays_tied_to_what_else_wants_a_gradient() -> None:
    w = leaf(3)
    got = jacrev(lambda x: (x * x * w).sum())(Y)
    assert not got.stop_gradient
    (grad,) = lm.grad([got.sum()], [w])
    np.testing.assert_allclose(grad.numpy(), 2 * Y.numpy())
    with lm.no_grad():
        assert jacrev(lambda x: (x * x * w).sum())(Y).stop_gradient


def test_jacrev_arguments_and_aux() -> None:
    f = lambda x, y, k=1.0: ((x * y * k).sum(axis=1), {"twice": y * 2.0, "k": k})  # noqa: E731
    got, aux = jacrev(f, argnums=-1, has_aux=True)(X, Y, k=3.0)
    assert got.shape == (2, 3) and aux["k"] == 3.0 and aux["twice"].stop_gradient
    np.testing.assert_allclose(got.numpy(), 3 * X.numpy())


SCALARS: dict[str, tuple[Callable[..., Any], Any]] = {
    "one": (lambda x: (x * x * lm.exp(x)).sum(), Y),
    "matrix": (lambda x: (x @ x.T).sum() ** 2.0, X),
    "two inputs": (lambda x, y: (x * x * y).sum(), (X, Y)),
    "shape [1]": (lambda x: (x**3.0).sum().reshape([1]), Y),
    "linear": (lambda x: x.sum(), Y),
    "unused": (lambda x, y: (x**3.0).sum(), (X, Y)),
    "dict": (lambda d: (d["a"] * d["a"] * d["b"]).sum(), {"a": X, "b": Y}),
    "constant": (lambda x: lm.asarray(1.0, dtype="float64"), Y),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", SCALARS)
def test_second_derivatives_agree(name: str, create_graph: bool) -> None:
    f, inputs = SCALARS[name]
    leaves, structure = _flatten(inputs)
    h = hessian(f, inputs, create_graph=create_graph)
    blocks, _ = _flatten(h)
    sizes = [x.size for x in leaves]
    whole = np.concatenate(
        [
            np.concatenate(
                [blocks[i * len(leaves) + j].detach().numpy().reshape(sizes[i], sizes[j]) for j in range(len(leaves))],
                1,
            )
            for i in range(len(leaves))
        ]
    )
    np.testing.assert_allclose(whole, whole.T, rtol=1e-12, atol=1e-12)

    # Against differences of the gradient.
    def gradient(flat: np.ndarray) -> np.ndarray:
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        moved = [lm.asarray(part.reshape(x.shape)) for part, x in zip(parts, leaves, strict=True)]
        gradients, _ = _flatten(jacobian(f, structure.build(moved)))
        return np.concatenate([g.numpy().ravel() for g in gradients])

    flat = np.concatenate([x.numpy().ravel() for x in leaves])
    np.testing.assert_allclose(whole, differences(gradient, flat), rtol=1e-5, atol=1e-6)

    v = [lm.asarray(np.cos(np.arange(x.size)).reshape(x.shape)) for x in leaves]
    expected = whole @ np.concatenate([t.numpy().ravel() for t in v])
    for product in (hvp, vhp):
        output, result = product(f, inputs, structure.build(v), create_graph=create_graph)
        got = structure.leaves_of(result)
        assert got is not None
        np.testing.assert_allclose(np.concatenate([t.detach().numpy().ravel() for t in got]), expected, rtol=1e-10)
        arguments = inputs if isinstance(inputs, tuple) else (inputs,)
        np.testing.assert_array_equal(output.detach().numpy(), f(*arguments).numpy())
        assert create_graph or output.stop_gradient


def test_results_with_a_graph_can_be_differentiated() -> None:
    x, v = leaf(3), leaf(3, start=3.0)
    for product in (hvp, vhp):
        output, result = product(lambda x: (x**3.0).sum(), x, v, create_graph=True)
        dx, dv = lm.grad([result.sum()], [x, v], retain_graph=True)
        np.testing.assert_allclose(dx.numpy(), 6 * v.detach().numpy())
        np.testing.assert_allclose(dv.numpy(), 6 * x.detach().numpy())
        (dx,) = lm.grad([output], [x])
        np.testing.assert_allclose(dx.numpy(), 3 * x.detach().numpy() ** 2)
    j = jacobian(lambda x: x * x, x, create_graph=True)
    np.testing.assert_allclose(lm.grad([j.sum()], [x])[0].numpy(), [2.0, 2.0, 2.0])
    h = hessian(lambda x: (x**3.0).sum(), x, create_graph=True)
    np.testing.assert_allclose(lm.grad([h.sum()], [x])[0].numpy(), [6.0, 6.0, 6.0])


def test_no_grad_outside_does_not_matter() -> None:
    with lm.no_grad():
        np.testing.assert_allclose(jacobian(lambda x: x * x, Y).numpy(), np.diag(2 * Y.numpy()))
        np.testing.assert_allclose(hvp(lambda x: (x * x).sum(), Y, Y)[1].numpy(), 2 * Y.numpy())
        output, vjp_fn = vjp(lambda x: x * x, Y)
        np.testing.assert_allclose(vjp_fn(Y)[0].numpy(), 2 * Y.numpy() ** 2)
        assert output.stop_gradient and not lm.is_grad_enabled()
    assert lm.is_grad_enabled()


def test_no_grad_of_a_tensor_is_touched() -> None:
    x = leaf(3)
    jacobian(lambda x: x * x, x)
    hvp(lambda x: (x * x).sum(), x, Y)
    vjp(lambda x: x * x, x)[1](Y)
    hessian(lambda x: (x * x).sum(), x)
    assert x.grad is None and x.is_leaf and not x.stop_gradient


# ---- vjp


def test_vjp_structures() -> None:
    f = lambda d, p: {"u": d["a"] * p.x, "v": [p.y.sum()]}  # noqa: E731
    primals = OrderedDict(a=Y), Point(Y * 2.0, X)
    output, vjp_fn = vjp(f, *primals)
    assert set(output) == {"u", "v"} and output["u"].stop_gradient
    first, second = vjp_fn({"u": Y, "v": [lm.asarray(2.0, dtype="float64")]})
    assert type(first) is OrderedDict and type(second) is Point
    np.testing.assert_allclose(first["a"].numpy(), 2 * Y.numpy() ** 2)
    np.testing.assert_allclose(second.x.numpy(), Y.numpy() ** 2)
    np.testing.assert_allclose(second.y.numpy(), np.full((2, 3), 2.0))
    again = vjp_fn({"v": [lm.asarray(2.0, dtype="float64")], "u": Y})  # found by key, whatever the order
    np.testing.assert_array_equal(again[0]["a"].numpy(), first["a"].numpy())
    first, second = vjp_fn({"u": None, "v": [lm.asarray(1.0, dtype="float64")]})
    assert not first["a"].numpy().any() and second.y.numpy().all()


def test_vjp_aux_and_constants() -> None:
    output, vjp_fn, aux = vjp(lambda x: (lm.ones([2], dtype="float64"), (x * 2.0, "text")), Y, has_aux=True)
    assert aux[1] == "text" and aux[0].stop_gradient
    np.testing.assert_array_equal(vjp_fn(output)[0].numpy(), np.zeros(3))


def test_vjp_nests() -> None:
    def inner(x: lm.Tensor) -> lm.Tensor:
        _, pull = vjp(lambda x: (x**3.0).sum(), x)
        return pull(lm.asarray(1.0, dtype="float64"))[0]

    _, pull = vjp(inner, Y)
    np.testing.assert_allclose(pull(lm.ones([3], dtype="float64"))[0].numpy(), 6 * Y.numpy())
    x = leaf(3)
    output, pull = vjp(lambda y: y * y, x)
    assert not output.stop_gradient
    (g,) = pull(lm.ones([3], dtype="float64"))
    np.testing.assert_allclose(lm.grad([g.sum()], [x])[0].numpy(), [2.0, 2.0, 2.0])


def test_vjp_is_differentiable_in_its_cotangents() -> None:
    g = leaf(3)
    _, pull = vjp(lambda x: x * x, Y)
    (product,) = pull(g)
    np.testing.assert_allclose(lm.grad([product.sum()], [g])[0].numpy(), 2 * Y.numpy())


def test_vjp_leaves_nothing_behind() -> None:
    class Watched(lm.PyLayer):
        alive: weakref.ref[Any] | None = None

        @staticmethod
        def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
            Watched.alive = weakref.ref(ctx)
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
            return dy * 2.0

    with without_collector():
        output, pull = vjp(Watched.apply, Y)
        pull(output)
        assert Watched.alive is not None and Watched.alive() is not None
        del output, pull
        assert Watched.alive() is None
        before = lm.memory.memory_allocated()
        jacobian(Watched.apply, Y)
        hvp(lambda x: (Watched.apply(x) ** 2.0).sum(), Y, Y)
        assert Watched.alive() is None and lm.memory.memory_allocated() == before


# ---- strict, and errors


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jacobian(lambda x: Y * 2.0, Y, strict=True), "output 0 of the function does not depend on the inputs"),
        (lambda: jacobian(lambda x, y: x * 2.0, (X, Y), strict=True), "output 0 does not depend on input 1"),
        (
            lambda: jacobian(lambda x: x * 2.0, Y, strict=True, create_graph=True),
            "not depend on input 0 other than linearly",
        ),
        (lambda: hessian(lambda x, y: (x * x).sum(), (X, Y), strict=True), "does not depend on input 1"),
        (
            lambda: hvp(lambda x: x.sum(), Y, Y, strict=True),
            "not depend on input 0 other than linearly",
        ),
        (lambda: vhp(lambda x, y: (x * x).sum(), (X, Y), (X, Y), strict=True), "does not depend on input 1"),
        (lambda: vhp(lambda x: Y.sum(), Y, Y, strict=True), "output 0 of the function does not depend on the inputs"),
    ],
)
def test_strict(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=rf"\[\w+\] strict=True.*({text})"):
        call()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jacobian(lambda x: 3, Y), TypeError, r"\[jacobian\] the function's result is int"),
        (lambda: jacobian(lambda x: [x, 3], Y), TypeError, r"the function's result\[1\] is int"),
        (lambda: jacobian(lambda x: [], Y), TypeError, "the function's result holds no tensor"),
        (lambda: jacobian(lambda x: x, (Y, 2.0)), TypeError, r"inputs\[1\] is float"),
        (lambda: jacobian(lambda x: x, ()), TypeError, "inputs holds no tensor"),
        (lambda: jacobian(lambda x: x, Y.astype("int64")), TypeError, r"input 0 is int64\[3\].*only floating"),
        (lambda: jacobian(lambda x: x > 0, Y), TypeError, r"output 0 of the function is bool\[3\]"),
        (lambda: jacobian(3, Y), TypeError, "expected a function"),
        (lambda: jacobian(lambda x: x, Y, strategy="up"), ValueError, "'reverse-mode' or 'forward-mode'"),
        (lambda: jacobian(lambda x: x, Y, strict=True, vectorize=True), ValueError, "cannot be combined"),
        (lambda: hessian(lambda x: x * x, Y), ValueError, r"\[hessian\] .*one tensor with one element.*float64\[3\]"),
        (lambda: hvp(lambda x: (x, x), Y, Y), ValueError, "one tensor with one element, it returned 2 tensors"),
        (lambda: hvp(lambda x: x.sum(), Y, X), ValueError, r"tensor 0 of v has shape \[2, 3\], its input \[3\]"),
        (lambda: hvp(lambda x: x.sum(), Y, (Y,)), ValueError, "v must have the structure of the inputs"),
        (lambda: vhp(lambda x: x.sum(), Y), ValueError, "v can only be left out for one input with one element"),
        (lambda: vjp(lambda x: x), TypeError, "at least one primal"),
        (lambda: vjp(lambda x: x, Y, has_aux=True), TypeError, r"a pair \(output, aux\)"),
        (lambda: vjp(lambda x: x, Y)[1](X), ValueError, r"cotangent 0 has shape \[2, 3\], the output \[3\]"),
        (lambda: vjp(lambda x: x, Y)[1]((Y,)), ValueError, "the structure of the function's output"),
        (lambda: vjp(lambda x: x, Y)[1](3.0), TypeError, "cotangent 0 is float"),
        (lambda: jacrev(3), TypeError, r"\[jacrev\] func is int: expected a function"),
        (lambda: jacrev(lambda x: x, argnums="x"), TypeError, "an int or a tuple of ints"),
        (lambda: jacrev(lambda x: x, argnums=1)(Y), ValueError, "the call has 1 positional"),
        (lambda: jacrev(lambda x, y: x, argnums=(0, -2))(Y, Y), ValueError, "argnums"),
    ],
)
def test_misuse(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_forward_mode_with_another_number_of_results_in_each_call() -> None:
    for counts in ([1, 2, 1], [2, 1, 1]):
        left = iter(counts)
        with pytest.raises(ValueError, match=f"returned {counts[0]} tensors, and {counts[1]} when it was called again"):
            jacobian(lambda x, left=left: [x] * next(left), Y, strategy="forward-mode")


def test_exceptions_of_the_function_come_out_with_their_own_type() -> None:
    class OwnError(Exception):
        pass

    def fails(*args: Any) -> Any:
        raise OwnError

    for call in (jacobian, hessian, hvp, vhp):
        with pytest.raises(OwnError):
            call(fails, Y[:1])
    assert lm.is_grad_enabled()


def test_one_element_needs_no_vector() -> None:
    x = lm.asarray(3.0, dtype="float64")
    assert hvp(lambda x: x**3.0, x)[1].item() == pytest.approx(18)
    assert vhp(lambda x: x**3.0, x)[1].item() == pytest.approx(18)


def test_float32_and_non_contiguous_inputs() -> None:
    x = X.astype("float32").T
    j = jacobian(lambda x: (x * x).sum(axis=0), x)
    assert (j.shape, j.dtype) == ((2, 3, 2), lm.float32)
    expected = np.zeros((2, 3, 2), "float32")
    for k in range(2):
        expected[k, :, k] = 2 * X.numpy()[k]
    np.testing.assert_allclose(j.numpy(), expected)


def test_with_a_module() -> None:
    net = lm.nn.Sequential(lm.nn.Linear(3, 4), lm.nn.Tanh(), lm.nn.Linear(4, 1)).to("float64")
    params = {name: p.detach() for name, p in net.named_parameters()}
    j = jacobian(lambda p: functional_call(net, p, (X,)), params)
    assert set(j) == set(params) and j["0.weight"].shape == (2, 1, 4, 3)
    loss, product = hvp(lambda p: (functional_call(net, p, (X,)) ** 2.0).sum(), params, params)
    assert loss.item() == pytest.approx(float((net(X) ** 2.0).sum().item())) and set(product) == set(params)

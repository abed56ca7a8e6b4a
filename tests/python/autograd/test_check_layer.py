"""check_layer: right layers pass every check, and each wrong one fails the check that is meant for it."""

from __future__ import annotations

import gc
import itertools
import os
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella.autograd import LayerCheckError, check_layer, once_differentiable
from support.layers import layer, saving

pytestmark = pytest.mark.skipif("LAMELLA_TEST_DEVICE" in os.environ, reason="its layers compute in the host's memory")


def leaf(*shape: int, seed: int = 0) -> lm.Tensor:
    return lm.tensor(np.random.default_rng(seed).uniform(0.5, 2.0, shape), stop_gradient=False)


def product_backward(ctx: Any, dy: lm.Tensor) -> tuple[lm.Tensor, lm.Tensor]:
    a, b = ctx.saved_tensors
    return dy * b, dy * a


class Scale(lm.PyLayer):
    """y = x * factor + sum of the extras, with a second output."""

    @staticmethod
    def forward(ctx: Any, x: lm.Tensor, extras: list[lm.Tensor], factor: float = 2.0) -> Any:
        ctx.factor, ctx.count = factor, len(extras)
        y = x * factor
        for extra in extras:
            y = y + extra
        return {"y": y, "sign": lm.sign(x).astype("int64")}

    @staticmethod
    def backward(ctx: Any, dy: lm.Tensor, _: Any) -> Any:
        wants_x, wants_extras, *_ = ctx.needs_input_grad
        return dy * ctx.factor if wants_x else None, [dy] * ctx.count if wants_extras else None


class NumpyExp(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        ctx.y = np.exp(x.numpy())
        return lm.asarray(ctx.y, copy=True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
        return lm.asarray(dy.numpy() * ctx.y)


class ComplexSquare(lm.PyLayer):
    @staticmethod
    def forward(ctx: Any, z: lm.Tensor) -> lm.Tensor:
        ctx.save_for_backward(z)
        return lm.asarray(z.numpy() ** 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dw: lm.Tensor) -> lm.Tensor:
        return lm.asarray(dw.numpy() * np.conj(2 * ctx.saved_tensors[0].numpy()))


A, B = leaf(2, 3), leaf(2, 3, seed=1)
Z = lm.tensor(np.array([[1 + 2j, 0.5 - 1j]]), stop_gradient=False)
NAMES = {
    "runs", "deterministic", "inputs", "gradcheck", "gradgradcheck", "meta", "leaks", "retain_graph", "non_contiguous",
    "needs_input_grad",
}  # fmt: skip

RIGHT: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "function": (lm.tanh, (A,), {}),
    "two inputs": (layer(saving(lambda a, b: a * b), product_backward), (A, B), {}),
    "containers and keywords": (Scale, (A, [B, leaf(3, seed=2)]), {"factor": 3.0}),
    "an input that wants no gradient": (lm.matmul, (A, lm.asarray(np.ones((3, 2)))), {}),
    "module": (lm.nn.Linear(3, 2).to("float64"), (A,), {}),
    "0-d": (lm.exp, (leaf(),), {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_layers(name: str) -> None:
    subject, args, kwargs = RIGHT[name]
    report = check_layer(subject, *args, **kwargs)
    assert set(report) == NAMES and set(report.values()) == {"ok"} and report.ok
    assert "leaks: ok" in str(report)


@pytest.mark.parametrize(("subject", "example"), [(NumpyExp, A), (ComplexSquare, Z)], ids=["numpy", "complex"])
def test_numpy_layers_do_not_run_on_meta(subject: Any, example: lm.Tensor) -> None:
    report = check_layer(subject, example)
    assert report.pop("meta").startswith("not run: it does not work on meta tensors (")
    assert set(report.values()) == {"ok"}


def test_in_place_layers_that_say_so() -> None:
    def forward(ctx: Any, x: lm.Tensor) -> lm.Tensor:
        x.mul_(3.0)
        ctx.mark_dirty(x)
        return x

    triple = layer(forward, lambda ctx, dy: dy * 3.0)
    assert check_layer(lambda x: triple.apply(x.clone()), A).ok
    add = layer(lambda ctx, x, out: (ctx.mark_dirty(out), out.copy_(x * 2.0))[1], lambda ctx, dy: (dy * 2.0, None))
    assert check_layer(add, A, lm.zeros([2, 3], dtype="float64"))["inputs"] == "ok"


# ---- wrong ones: the layer, its arguments, and for each check that fails what it says

KEPT: list[Any] = []


def counting(ctx: Any, x: lm.Tensor, calls: Any) -> lm.Tensor:
    return x * float(next(calls))


def writes_through_numpy(ctx: Any, x: lm.Tensor, b: lm.Tensor) -> lm.Tensor:
    b.numpy()[...] = 0.0
    return x * 2.0


def changes_dy(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
    return dy.mul_(2.0)


def changes_saved(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
    ctx.factor = ctx.factor + 1.0
    return dy * ctx.factor


def with_factor(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    ctx.factor = 1.0
    return x * 2.0


def keeps_itself(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    ctx.me = ctx
    return x * 2.0


def keeps_input(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    KEPT.append(x)
    return x * 2.0


def keeps_memory(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    KEPT.append(x * 3.0)
    return x * 2.0


def reads_memory_in_order(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    """As a kernel does that takes a pointer and forgets the strides."""
    import ctypes

    raw = np.ctypeslib.as_array(ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_double)), (x.size,))
    return lm.asarray(raw.reshape(x.shape) * 2.0)


def expects_both(ctx: Any, dy: lm.Tensor) -> Any:
    a, b = ctx.saved_tensors
    if not all(ctx.needs_input_grad):
        return dy * a, dy * b  # the wrong way round
    return dy * b, dy * a


def square_by_numpy(ctx: Any, dy: lm.Tensor) -> lm.Tensor:
    return lm.asarray(2 * dy.detach().numpy() * ctx.saved_tensors[0].detach().numpy())


def other_shape_on_meta(ctx: Any, x: lm.Tensor) -> lm.Tensor:
    return (x if str(x.device) == "meta" else x.sum(axis=0)) * 1.0


WRONG: dict[str, tuple[Any, tuple[Any, ...], dict[str, str]]] = {
    "wrong formula": (
        layer(saving(lambda x: x * x), lambda ctx, dy: dy * ctx.saved_tensors[0] * 4.0),
        (A,),
        {"gradcheck": "the ratio is 2 everywhere"},
    ),
    "raises in forward": (layer(lambda ctx, x: x @ x, lambda ctx, dy: dy), (A,), {"runs": "ValueError: [matmul]"}),
    "raises in backward": (
        layer(saving(lambda a, b: a * b), lambda ctx, dy: (dy, dy, dy)),
        (A, B),
        {"runs": "ValueError"},
    ),
    "off the tape": (lambda x: x.detach() * 2.0, (A,), {"runs": "no output wants a gradient"}),
    "no tensor": (lambda x: 3, (A,), {"runs": "it returned no tensor"}),
    "counts its calls": (
        layer(counting, lambda ctx, dy: dy),
        (A, itertools.count(1)),
        {"deterministic": "forward gave different results in two calls: the values of output 0 differ"},
    ),
    "draws random numbers": (
        layer(saving(lambda x: x * 2.0), lambda ctx, dy: dy * lm.rand([2, 3], dtype="float64")),
        (A,),
        {"deterministic": "backward gave different results in two calls: the gradients of input 0 differ"},
    ),
    "writes without a mark": (
        layer(lambda ctx, x, b: x * b.mul_(2.0).mean(), lambda ctx, dy: (dy, None)),
        (A, B.detach()),
        {"inputs": "forward changed input 1 in place: work on a copy, or declare it by ctx.mark_dirty"},
    ),
    "writes behind the counter": (
        layer(writes_through_numpy, lambda ctx, dy: (dy * 2.0, None)),
        (A, B.detach()),
        {"inputs": "forward wrote into input 1 behind the version counter"},
    ),
    "changes dy": (
        layer(lambda ctx, x: x * 2.0, changes_dy),
        (A,),
        {"gradgradcheck": "RuntimeError: [mul_]"},
    ),
    "changes its context": (
        layer(with_factor, changes_saved),
        (A,),
        {"gradcheck": "backward is not deterministic", "retain_graph": "a second pass through the graph"},
    ),
    "not marked once_differentiable": (
        layer(saving(lambda x: x * x), square_by_numpy),
        (A,),
        {"gradgradcheck": "marked by lm.autograd.once_differentiable"},
    ),
    "an intermediate": (
        layer(lambda ctx, x: (setattr(ctx, "t", lm.exp(x)), ctx.t * 2.0)[1], lambda ctx, dy: dy * ctx.t * 2.0),
        (A,),
        {"gradgradcheck": "RuntimeError: [backward] a second derivative reached a value"},
    ),
    "other shape on meta": (
        layer(other_shape_on_meta, lambda ctx, dy: lm.broadcast_to(dy, [2, 3])),
        (A,),
        {"meta": "on meta tensors output 0 is float64[2, 3], otherwise float64[3]"},
    ),
    "keeps its context": (
        layer(keeps_itself, lambda ctx, dy: dy * 2.0),
        (A,),
        {"leaks": "a context is still alive after the call: it refers to itself"},
    ),
    "keeps its input": (
        layer(keeps_input, lambda ctx, dy: dy * 2.0),
        (A,),
        {"leaks": "input 0 is still alive after the call"},
    ),
    "keeps memory": (
        layer(keeps_memory, lambda ctx, dy: dy * 2.0),
        (A,),
        {"leaks": "bytes more are held after each call"},
    ),
    "forgets strides": (
        layer(reads_memory_in_order, lambda ctx, dy: dy * 2.0),
        (A,),
        {"non_contiguous": "with inputs that are not contiguous: the values of output 0 differ"},
    ),
    "needs every gradient": (
        layer(saving(lambda a, b: a * b), expects_both),
        (A, B),
        {"needs_input_grad": "where only input 0 wants a gradient: the gradients of input 0 differ"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_layers(name: str) -> None:
    subject, args, failures = WRONG[name]
    with pytest.raises(LayerCheckError) as caught:
        check_layer(subject, *args)
    KEPT.clear()
    gc.collect()
    report = caught.value.report
    assert str(caught.value).startswith("[check_layer] ") and not report.ok
    for check, text in failures.items():
        assert text in report[check]
        assert text in str(caught.value)
    if "runs" in failures:
        assert all(text == "not run: the layer does not run" for check, text in report.items() if check != "runs")


@pytest.mark.parametrize(
    "name",
    ["wrong formula", "changes dy", "keeps its context", "an intermediate", "forgets strides", "other shape on meta"],
)
def test_other_checks_are_not_disturbed(name: str) -> None:
    subject, args, failures = WRONG[name]
    report = check_layer(subject, *args, raise_exception=False)
    assert set(report.failures) == set(failures)
    assert set(report) == NAMES


def test_parameters_of_modules_are_checked() -> None:
    class Wrong(lm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = lm.nn.Parameter(np.ones(3))

        def forward(self, x: lm.Tensor) -> lm.Tensor:
            halved = layer(saving(lambda a, b: a * b), lambda ctx, dy: (dy * ctx.saved_tensors[1], None))
            return halved.apply(x, self.weight)

    report = check_layer(Wrong(), leaf(3), raise_exception=False)
    assert "with respect to parameter weight (float64[3])" in report["gradcheck"]


def test_options() -> None:
    x = lm.tensor([1.0, 2.0], dtype="float32", stop_gradient=False)
    assert "use float64" in check_layer(lm.exp, x, raise_exception=False)["gradcheck"]
    assert check_layer(lm.exp, x, check_options={"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2}).ok
    assert check_layer(lm.exp, A, check_options={"fast_mode": True}).ok
    with pytest.raises(TypeError, match="check_options is a dict of settings, not list"):
        lm.autograd.check_layer(lm.nn.Linear(2, 2), lm.ones([1, 2]), check_options=[1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown option 'step'"):
        check_layer(lm.exp, A, check_options={"step": 1})
    with pytest.raises(ValueError, match="no tensor among the arguments wants a gradient"):
        check_layer(lm.exp, A.detach())
    with pytest.raises(TypeError, match="expected a PyLayer class, a Module or a function"):
        check_layer(3, A)


def test_nothing_is_left_behind() -> None:
    gc.collect()
    was_enabled, before = gc.isenabled(), lm.memory.memory_allocated()
    version, grad_mode = A._version, lm.is_grad_enabled()
    check_layer(lm.tanh, A)
    assert gc.isenabled() == was_enabled and lm.memory.memory_allocated() == before
    assert A._version == version and A.grad is None and lm.is_grad_enabled() == grad_mode

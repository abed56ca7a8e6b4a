"""What every operator has beside its plain form: ``out=``, and the form ``name_`` that works in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as lm

from .samples import ALL, ELEMENTWISE, Operator, arguments, case_id

IN_PLACE = [op for op in ELEMENTWISE if next(i for i in ALL if i["name"] == op.name)["in_place"]]
FLOAT = [op for op in ELEMENTWISE if "float64" in op.dtypes]


@pytest.mark.parametrize("op", ELEMENTWISE, ids=case_id)
def test_out_of_elementwise_operators(op: Operator, rng: np.random.Generator) -> None:
    dtype = "float32" if "float32" in op.dtypes else "int32"
    inputs = [lm.asarray(a) for a in arguments(op, [(3, 1), (1, 4), (3, 4), ()][: op.inputs], dtype, rng)]
    expected = op(*inputs)
    for out in (lm.empty_like(expected), lm.empty(expected.shape[::-1], dtype=expected.dtype).T):
        assert getattr(lm, op.name)(*inputs, out=out) is out
        np.testing.assert_array_equal(out.numpy(), expected.numpy())
    wide = lm.zeros(expected.shape, dtype="float64")
    assert getattr(lm, op.name)(*inputs, out=wide) is wide
    np.testing.assert_array_equal(wide.numpy(), expected.astype("float64").numpy())
    with pytest.raises(ValueError, match=rf"\[{op.name}\] a result of shape"):
        getattr(lm, op.name)(*inputs, out=lm.empty([7], dtype=expected.dtype))
    with pytest.raises(TypeError, match=rf"\[{op.name}\] out: expected a Tensor"):
        getattr(lm, op.name)(*inputs, out=np.zeros(3))


def test_out_of_other_operators() -> None:
    x = lm.asarray(np.arange(6.0).reshape(2, 3))
    index = lm.asarray([2, 0])
    calls: dict[str, tuple[Any, ...]] = {
        "sum": (x,),
        "mean": (x, 1),
        "max": (x, 0),
        "any": (x > 3, 1),
        "matmul": (x, x.T),
        "concat": ([x, x],),
        "take": (x, index),
        "tril": (x,),
        "clip": (x, 1.0, 2.0),
        "repeat": (x, 2),
    }
    for name, args in calls.items():
        keywords = {"axis": 1} if name == "take" else {}
        expected = getattr(lm, name)(*args, **keywords)
        out = lm.empty_like(expected)
        assert getattr(lm, name)(*args, **keywords, out=out) is out
        np.testing.assert_array_equal(out.numpy(), expected.numpy())


def test_out_may_be_an_operand() -> None:
    x = lm.asarray([1.0, 2.0, 3.0])
    assert lm.add(x, 1, out=x) is x and x.tolist() == [2.0, 3.0, 4.0]
    lm.add(x[:2], x[1:], out=x[:2])  # overlaps
    assert x.tolist() == [5.0, 7.0, 4.0]
    lm.add(x[:2], x[1:], out=x[1:])
    assert x.tolist() == [5.0, 12.0, 11.0]


def test_out_is_not_recorded() -> None:
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    out = lm.zeros([2])
    with pytest.raises(RuntimeError, match=r"\[exp\] out= is not recorded, and an input requires a gradient"):
        lm.exp(x, out=out)
    with pytest.raises(RuntimeError, match="leaf"):
        lm.exp(out, out=x)
    y = x * 2
    with pytest.raises(RuntimeError, match="out= is not recorded, and it requires a gradient"):
        lm.exp(out, out=y)
    with lm.no_grad():
        assert lm.exp(x, out=out) is out
    with pytest.raises(TypeError, match=r"\[exp\] a result of dtype float32 cannot be written .* int64"):
        lm.exp(out, out=lm.zeros([2], dtype="int64"))
    version = out._version
    lm.exp(lm.zeros([2]), out=out)
    assert out._version == version + 1
    with pytest.raises(RuntimeError, match="broadcast tensor"):
        lm.exp(out, out=lm.broadcast_to(lm.zeros([1]), [2]))


@pytest.mark.parametrize("op", IN_PLACE, ids=case_id)
def test_in_place(op: Operator, rng: np.random.Generator) -> None:
    dtype = "float32" if "float32" in op.dtypes else "int32"
    inputs = [lm.asarray(a) for a in arguments(op, [(3, 4), (1, 4), (3, 1), ()][: op.inputs], dtype, rng)]
    expected = op(*inputs)
    for x in (inputs[0].clone(), inputs[0].T.clone().T):
        version = x._version
        assert getattr(x, op.name + "_")(*inputs[1:]) is x
        assert x._version == version + 1
        np.testing.assert_array_equal(x.numpy(), expected.numpy())
    x = inputs[0].clone()
    assert getattr(lm, op.name + "_")(x, *inputs[1:]) is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


@pytest.mark.parametrize("op", [op for op in IN_PLACE if op.differentiable[0] and op in FLOAT], ids=case_id)
def test_in_place_is_recorded(op: Operator, rng: np.random.Generator) -> None:
    arrays = arguments(op, [(2, 3), (3,), (2, 1), ()][: op.inputs], "float64", rng)

    def results(form: str) -> list[np.ndarray]:
        leaves = [lm.tensor(a, stop_gradient=not op.differentiable[i]) for i, a in enumerate(arrays)]
        x = leaves[0] * 1.0
        y = getattr(x, form)(*leaves[1:])
        assert (y is x) == form.endswith("_")
        wanted = [leaf for leaf in leaves if not leaf.stop_gradient]
        grads = lm.grad([(y * y).sum()], wanted, create_graph=True, allow_unused=True)
        again = (
            lm.grad(
                [sum(((g * g).sum() for g in grads if g is not None), lm.asarray(0.0, dtype="float64"))],
                wanted,
                allow_unused=True,
            )
            if any(g is not None and not g.stop_gradient for g in grads)
            else []
        )
        return [y.detach().numpy()] + [np.zeros(1) if g is None else g.detach().numpy() for g in [*grads, *again]]

    for a, b in zip(results(op.name), results(op.name + "_"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_in_place_errors() -> None:
    leaf = lm.tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match=r"\[exp_\].*leaf"):
        leaf.exp_()
    with pytest.raises(TypeError, match=r"\[exp_\] a result of dtype float32 cannot be written .* int64"):
        lm.asarray([1, 2]).exp_()
    with pytest.raises(ValueError, match=r"\[maximum_\] a result of shape \[2, 3\]"):
        lm.ones([3]).maximum_(lm.ones([2, 3]))
    assert lm.asarray([1, 2]).pow_(2).tolist() == [1, 4]
    x = lm.asarray([1.0, 2.0])
    assert x.multiply_(x).tolist() == [1.0, 4.0]
    overwritten = leaf * 1.0
    y = overwritten * overwritten
    overwritten.exp_()
    with pytest.raises(RuntimeError, match="was overwritten by exp_"):
        y.sum().backward()

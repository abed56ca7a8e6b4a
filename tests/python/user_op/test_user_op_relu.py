"""An operator in C++ with two dtypes and a gradient of its gradient: on the tape as any other."""

import numpy as np
import pytest

import lamella as lm
from support.user_ops import load, use

VALUES = np.array([-2, -1, 0, 1, 2], dtype=np.float32)


@pytest.fixture(autouse=True, scope="module")
def library():
    load("relu")


def relu(x, name="r"):
    return use("t_relu", {"in": x}, {"out": 1}, name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward(dtype):
    y = relu(lm.asarray(VALUES.astype(dtype)))
    assert y.dtype == getattr(lm, dtype) and y.stop_gradient
    assert y.tolist() == [0, 0, 0, 1, 2]


def test_strided_empty_and_scalar_inputs():
    x = lm.asarray(np.arange(-6, 6, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(relu(x.T).numpy(), np.maximum(x.numpy().T, 0))
    np.testing.assert_array_equal(relu(x[:, ::2]).numpy(), np.maximum(x.numpy()[:, ::2], 0))
    assert relu(lm.zeros([0, 3])).shape == (0, 3)
    assert relu(lm.asarray(np.float32(3))).tolist() == 3


def test_meta_tensors_have_shapes_only():
    y = relu(lm.empty([2, 3], device="meta"))
    assert y.shape == (2, 3) and str(y.device) == "meta"


def test_the_registry_knows_it():
    y = lm.ops.user_op.t_relu(lm.asarray(VALUES))
    assert y.tolist() == [0, 0, 0, 1, 2]


def test_gradient():
    x = lm.asarray(VALUES, copy=True)
    x.stop_gradient = False
    y = relu(x * 1)
    assert y.grad_fn.name == "t_relu"
    (y * lm.asarray(np.arange(5, dtype=np.float32))).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 3, 4]


def test_gradcheck_of_both_derivatives():
    x = lm.asarray(np.array([-1.5, 0.7, 2.0, -0.2]), copy=True)
    x.stop_gradient = False
    assert lm.autograd.gradcheck(relu, [x])
    assert lm.autograd.gradgradcheck(lambda x: relu(x * x * x), [x])


def test_only_what_backward_reads_is_saved():
    x = lm.asarray(VALUES, copy=True)
    x.stop_gradient = False
    z = x * 1
    y = relu(z)
    z += 1  # the input is not needed: y is
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1, 1]
    y = relu(x * 1)
    y += 1
    with pytest.raises(RuntimeError, match="t_relu"):
        y.sum().backward()


def test_no_grad_and_training():
    w = lm.asarray(np.array([1.0, -1.0], dtype=np.float32), copy=True)
    w.stop_gradient = False
    with lm.no_grad():
        assert relu(w).stop_gradient
    target = lm.asarray(np.array([3.0, 0.0], dtype=np.float32))
    for _ in range(200):
        loss = ((relu(w) - target) ** 2).sum()
        loss.backward()
        with lm.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    np.testing.assert_allclose(w.detach().numpy(), [3, -1], atol=1e-4)


def test_forward_mode_and_vmap():
    x = lm.asarray(VALUES)
    _, tangent = lm.autograd.jvp(relu, (x,), (lm.full([5], 2.0),))
    assert tangent.tolist() == [0, 0, 0, 2, 2]
    rows = lm.asarray(np.stack([VALUES, -VALUES]))
    assert lm.autograd.vmap(relu)(rows).tolist() == [[0, 0, 0, 1, 2], [2, 1, 0, 0, 0]]


def test_info():
    info = lm.user_op.op_info("t_relu")
    assert [each["name"] for each in info["inputs"]] == ["in"] and info["has_gradient"]
    assert {text for text, _ in info["kernels"]} == {
        "device type == cpu & data type of out == float32",
        "device type == cpu & data type of out == float64",
    }

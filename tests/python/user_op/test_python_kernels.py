"""Operators that functions of numpy arrays compute: declared in C++, or in Python alone."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm
from support.user_ops import SOURCES, cache

VALUES = np.array([-2, -1, 0, 1, 2], dtype=np.float64)


@pytest.fixture(scope="module")
def sigmoid():
    with cache():
        return lm.user_op.custom_op_module("t_sigmoid", SOURCES).py_api().cpp_def().py_kernel().build_load()


def leaf(values):
    return lm.tensor(values, stop_gradient=False)


def test_forward_and_backward(sigmoid):
    x = leaf(VALUES)
    y = sigmoid.api.sigmoid(x)
    expected = 1 / (1 + np.exp(-VALUES))
    np.testing.assert_allclose(y.detach().numpy(), expected)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected * (1 - expected))
    assert lm.autograd.gradcheck(sigmoid.api.sigmoid, [leaf(VALUES)])


def test_arrays_are_not_copied(sigmoid):
    kernel = sys.modules["t_sigmoid_py_kernel"]
    x = lm.asarray(VALUES, copy=True)
    y = sigmoid.api.sigmoid(x)
    seen_x, seen_y = kernel.seen
    assert np.shares_memory(seen_x, x.numpy()) and np.shares_memory(seen_y, y.numpy())
    assert not seen_x.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        seen_x[0] = 1


def test_float32_and_meta(sigmoid):
    y = sigmoid.api.sigmoid(lm.asarray(VALUES.astype(np.float32)))
    assert y.dtype == lm.float32
    assert sigmoid.api.sigmoid(lm.empty([3], device="meta")).shape == (3,)


def test_many_processes_build_at_once(tmp_path):
    code = f"""
import lamella as lm
module = lm.user_op.custom_op_module("t_sigmoid", {str(SOURCES)!r}).py_api().cpp_def().py_kernel().build_load()
print(module.api.sigmoid(lm.zeros([1])).tolist())
"""
    env = os.environ | {"LAMELLA_EXTENSIONS_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    children = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [child.communicate()[0].strip() for child in children] == ["[0.5]"] * 3
    assert len(list(tmp_path.rglob("*.so"))) == 1


def test_folders_that_lack_something(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nosuch"):
        lm.user_op.custom_op_module("nosuch", tmp_path)
    (tmp_path / "half").mkdir()
    module = lm.user_op.custom_op_module("half", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"half_py_api\.py"):
        module.py_api()
    with pytest.raises(RuntimeError, match=r"call py_api\(\) and build_load\(\)"):
        _ = module.api
    (tmp_path / "half" / "half_py_kernel.py").write_text("def other(args): return args[0]")
    with pytest.raises(ValueError, match=r"no function for any of the operators .*half_forward"):
        module.py_kernel().build_load()
    (tmp_path / "half" / "half_cpp_def.cpp").write_text("this is no C++")
    with (
        cache(),
        pytest.raises(RuntimeError, match=r"half_cpp_def\.cpp: the compiler failed(.|\n)*half_cpp_def\.cpp:1"),
    ):
        module.cpp_def().build_load()


def test_folders_of_the_same_operators(sigmoid, tmp_path):
    folder = shutil.copytree(SOURCES / "t_sigmoid", tmp_path / "t_sigmoid")
    (folder / "t_sigmoid_py_kernel.py").write_text("def forward(args): return args[0] * 0")
    with cache():
        again = lm.user_op.custom_op_module("t_sigmoid", SOURCES).py_api().cpp_def().py_kernel().build_load()
        other = lm.user_op.custom_op_module("t_sigmoid", tmp_path)
        with pytest.raises(
            ValueError, match=r"t_sigmoid_py_kernel\.py is computed by .*sources.*one operator of a name"
        ):
            other.py_kernel().build_load()
        with pytest.raises(RuntimeError, match=r"t_sigmoid_forward\] has a kernel .*gets another"):
            other.cpp_def().build_load()
    for module in (sigmoid, again):
        assert module.api.sigmoid(lm.zeros([1])).tolist() == [0.5]


def test_an_operator_without_a_kernel():
    # Declared with device_sub_tag "py" by numpy_op, and its kernel taken back.
    op = lm.user_op.numpy_op("t_no_kernel", lambda a: a[0])
    lm.user_op.register_numpy_kernel("t_no_kernel", None)
    with pytest.raises(NotImplementedError, match=r"\[t_no_kernel\] is computed in Python"):
        op(lm.zeros([1]))


# --- Without C++ -----------------------------------------------------------------------------------------------------


def test_numpy_op():
    relu = lm.user_op.numpy_op("t_np_relu", lambda a: np.maximum(a[0], 0), lambda a: (a[0] > 0) * a[1], saved=["y"])
    x = leaf(VALUES)
    y = relu(x)
    assert y.tolist() == [0, 0, 0, 1, 2] and y.grad_fn.name == "t_np_relu"
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1, 1]
    assert lm.autograd.gradcheck(relu, [leaf(VALUES + 0.25)])
    assert lm.ops.user_op.t_np_relu(lm.asarray(VALUES)).tolist() == [0, 0, 0, 1, 2]


def test_several_inputs_and_outputs():
    def forward(args):
        a, b = args
        return a * b, a + b

    def backward(args):
        a, b, dy, dz = args
        return dy * b + dz, dy * a + dz

    def infer(given):
        return [given[0], given[0]]

    op = lm.user_op.numpy_op("t_np_pair", forward, backward, inputs=["a", "b"], outputs=["y", "z"], infer=infer)
    assert lm.autograd.gradcheck(op, [leaf(VALUES), leaf(VALUES[::-1] + 3)])
    y, z = op(leaf([2.0]), leaf([5.0]))
    assert (y.tolist(), z.tolist()) == ([10], [7])
    with pytest.raises(TypeError, match=r"takes 2 tensors \(a, b\), 1 were given"):
        op(leaf([2.0]))
    with pytest.raises(TypeError, match=r"b: expected a Tensor, got ndarray: lm.asarray\(b\) makes one"):
        op(lm.ones([2]), np.ones(2))


def test_infer():
    total = lm.user_op.numpy_op(
        "t_np_count",
        lambda a: np.count_nonzero(a[0], axis=-1),
        infer=lambda given: [(given[0][0][:-1], lm.int64)],
    )
    y = total(lm.asarray(np.eye(3)))
    assert y.tolist() == [1, 1, 1] and y.dtype == lm.int64
    assert total(lm.empty([4, 5], device="meta")).shape == (4,)


def test_an_output_is_never_the_input():
    same = lm.user_op.numpy_op("t_np_same", lambda a: a[0])
    x = lm.zeros([2])
    y = same(x)
    x += 1
    assert y.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        (lambda x: (x[:1], x), ValueError, r"returned shape \(1,\) as output 'y', expected \(2,\)"),
        (lambda x: (x, x[:1]), ValueError, r"returned shape \(1,\) as output 'z', expected \(2,\)"),
        (lambda x: (x, x, x), ValueError, r"returned 3 arrays, expected 2 \(output 'y', output 'z'\)"),
        (lambda x: [x], ValueError, r"returned 1 array, expected 2"),
        (lambda x: x.tolist(), TypeError, "returned float as output 'y', expected a numpy array"),
        (lambda x: (x, 3.0), TypeError, "returned float as output 'z', expected a numpy array"),
        (lambda x: (x, None), TypeError, "returned NoneType as output 'z', expected a numpy array"),
        (lambda x: None, ValueError, "returned None, expected 2"),
        (lambda x: (x * 1j, x), TypeError, "returned complex64 as output 'y', expected float32"),
        (lambda x: (x.astype(object), x), TypeError, "returned object as output 'y', expected float32"),
        (lambda x: x[7], IndexError, "index 7 is out of bounds"),
        (lambda x: x.__setitem__(0, 7), ValueError, "read-only"),
    ],
)
def test_kernels_that_return_something_else(kernel, kind, words):
    def computed(arrays):
        return kernel(arrays[0])

    def infer(given):
        return [given[0], given[0]]

    op = lm.user_op.numpy_op("t_np_wrong", computed, outputs=["y", "z"], infer=infer)  # defined again each time
    x = lm.zeros([2])
    with pytest.raises(kind, match=words) as error:
        op(x)
    said = "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])
    assert re.search(r"\[t_np_wrong\] .*the Python kernel .*computed \(test_python_kernels\.py:\d+\)", said), said
    assert x.tolist() == [0, 0]


def test_outputs_have_memory_of_their_own():
    def forward(args):
        y = args[0] * 2
        return y, y

    op = lm.user_op.numpy_op("t_np_twice", forward, outputs=["y", "z"], infer=lambda given: [given[0]] * 2)
    y, z = op(lm.ones([2]))
    y += 1
    assert (y.tolist(), z.tolist()) == ([3, 3], [2, 2])


def test_a_dtype_of_the_same_kind_is_cast():
    op = lm.user_op.numpy_op("t_np_wide", lambda a: a[0].astype(np.float64) + 0.5)
    assert op(lm.zeros([2])).dtype == lm.float32


def test_definitions_that_cannot_be(tmp_path):
    with pytest.raises(TypeError, match=r"\[custom_op_module\] op_type_name is a string, not int"):
        lm.user_op.custom_op_module(3, tmp_path)
    with pytest.raises(ValueError, match="'q' is neither an input"):
        lm.user_op.numpy_op("t_np_saved", lambda a: a[0], lambda a: a[0], saved=["q"])
    with pytest.raises(ValueError, match="t np"):
        lm.user_op.numpy_op("t np", lambda a: a[0])
    with pytest.raises(NotImplementedError, match="no gradient"):
        lm.user_op.numpy_op("t_np_fwd", lambda a: a[0] * 2)(leaf([1.0])).sum().backward()

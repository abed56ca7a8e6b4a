"""``paddle.sparse`` of the front: numbers, forms and gradients of sparse tensors."""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
from numpy.testing import assert_allclose
from paddle import sparse

nan, inf = float("nan"), float("inf")
places, numbers = [[0, 0, 1, 2], [1, 3, 0, 2]], [1.0, -2.0, 3.0, 0.5]
coo = sparse.sparse_coo_tensor(places, numbers, [3, 4])
csr = sparse.sparse_csr_tensor([0, 2, 3, 4], [1, 3, 0, 2], numbers, [3, 4])
other = sparse.sparse_coo_tensor([[0, 1, 2], [1, 1, 2]], [2.0, 5.0, 4.0], [3, 4])
dense = paddle.arange(12.0).reshape([3, 4])
forms = [(coo, other), (csr, other.to_sparse_csr())]


def same(made, places, values, shape=(3, 4)):
    if made.is_sparse_csr():
        made = made.to_sparse_coo(2)
    assert made.indices().tolist() == places and list(made.shape) == list(shape), made
    assert_allclose(made.values().numpy(), values, rtol=1e-4, atol=1e-6)


def raises(kind, words, function):
    try:
        function()
    except kind as error:
        assert all(word in str(error) for word in words.split()), error
    else:
        raise AssertionError(words)
"""
PROGRAMS = {
    "making": """
        assert coo.is_sparse_coo() and not coo.is_sparse_csr() and csr.is_sparse_csr() and coo.is_sparse()
        assert (coo.nnz(), coo.dtype, coo.shape, coo.stop_gradient) == (4, paddle.float32, [3, 4], True)
        assert csr.crows().tolist() == [0, 2, 3, 4] and csr.cols().tolist() == [1, 3, 0, 2]
        assert sparse.sparse_coo_tensor(places, numbers).shape == [3, 4]
        assert sparse.sparse_coo_tensor(places, [1, 2, 3, 4]).dtype == paddle.int64
        same(sparse.sparse_coo_tensor([[0, 2]], [[1.0, 2], [3, 4]], [3, 2]), [[0, 2]], [[1, 2], [3, 4]], [3, 2])
        same(coo.to_sparse_csr(), places, numbers)
        assert coo.to_dense().tolist() == csr.to_dense().tolist() == [[0, 1, 0, -2], [3, 0, 0, 0], [0, 0, 0.5, 0]]
        whole = dense.to_sparse_csr()
        assert whole.crows().tolist() == [0, 3, 7, 11] and whole.to_dense().equal_all(dense)
        same(dense.to_sparse_coo(1), [[0, 1, 2]], dense.numpy())
        twice = sparse.sparse_coo_tensor([[0, 0, 0], [1, 1, 0]], numbers[:3], [3, 4])
        assert not twice.is_coalesced()
        same(sparse.coalesce(twice), [[0, 0], [0, 1]], [3, -1])
        many = sparse.sparse_csr_tensor([0, 1, 2, 0, 1, 1], [0, 1, 1], [1.0, 2, 3], [2, 2, 2])
        assert many.to_dense().tolist() == [[[1, 0], [0, 2]], [[0, 3], [0, 0]]]
        assert many.crows().tolist() == [0, 1, 2, 0, 1, 1]
        """,
    "functions of values": """
        for name, native in [("sinh", np.sinh), ("tanh", np.tanh), ("expm1", np.expm1), ("square", np.square),
                             ("neg", np.negative), ("abs", np.abs), ("atan", np.arctan), ("rad2deg", np.rad2deg)]:
            for each in (coo, csr):
                made = getattr(sparse, name)(each)
                assert made.is_sparse_csr() == each.is_sparse_csr()
                same(made, places, native(np.float32(numbers)))
        same(sparse.sqrt(coo), places, [1, nan, 3**0.5, 0.5**0.5])
        same(sparse.pow(coo, 2), places, [1, 4, 9, 0.25])
        made = sparse.cast(coo, "int32", "float64")
        assert made.dtype == paddle.float64 and made.indices().dtype == paddle.int32
        """,
    "arithmetic": """
        both = [[0, 0, 1, 1, 2], [1, 3, 0, 1, 2]]
        for one, two in forms:
            same(sparse.add(one, two), both, [3, -2, 3, 5, 4.5])
            same(sparse.subtract(one, two), both, [-1, -2, 3, -5, -3.5])
            same(sparse.multiply(one, two), both, [2, 0, 0, 0, 2])
            assert sparse.divide(one, two).nnz() == 12
            assert_allclose(sparse.divide(one, two).values().numpy(),
                            [nan, 0.5, nan, -inf, inf, 0, nan, nan, nan, nan, 0.125, nan])
            assert sparse.add(one, two).is_sparse_csr() == one.is_sparse_csr()
        same(sparse.multiply(coo, 2.0), places, [2, -4, 6, 1])
        same(sparse.divide(csr, 2), places, [0.5, -1, 1.5, 0.25])
        raises(ValueError, "sparse.add", lambda: sparse.add(coo, csr))
        raises(TypeError, "sparse.subtract Tensor", lambda: sparse.subtract(coo, dense))
        """,
    "products": """
        x = dense.reshape([4, 3])
        for each, two in forms:
            assert_allclose(sparse.matmul(each, x).numpy(), each.numpy() @ x.numpy())
            assert_allclose(sparse.mv(each, paddle.ones([4])).numpy(), [-1, 3, 0.5])
            assert_allclose(sparse.addmm(paddle.ones([3, 3]), each, x, 2.0, 0.5).numpy(),
                            2 + 0.5 * (each.numpy() @ x.numpy()))
            made = sparse.matmul(each, sparse.transpose(two, [1, 0]))
            assert made.is_sparse_csr() == each.is_sparse_csr()
            assert_allclose(made.numpy(), each.numpy() @ two.numpy().T)
        mask = sparse.sparse_csr_tensor([0, 1, 2, 3], [0, 1, 2], [1.0, 1, 1], [3, 3])
        same(sparse.masked_matmul(dense, x, mask), [[0, 1, 2]] * 2, np.diag(dense.numpy() @ x.numpy()), [3, 3])
        same(sparse.mask_as(dense, csr), places, [1, 3, 4, 10])
        raises(ValueError, "sparse.matmul [3, 4]", lambda: sparse.matmul(coo, dense))
        """,
    "shapes": """
        same(sparse.transpose(coo, [1, 0]), [[1, 3, 0, 2], [0, 0, 1, 2]], numbers, [4, 3])
        made = sparse.transpose(csr, [1, 0])
        assert made.crows().tolist() == [0, 1, 2, 3, 4] and made.values().tolist() == [3, 1, 0.5, -2]
        for each in (coo, csr):
            same(sparse.reshape(each, [2, -1]), [[0, 0, 0, 1], [1, 3, 4, 4]], numbers, [2, 6])
        same(sparse.sum(coo, 0), [[0, 1, 2, 3]], [3, 1, 0.5, -2], [4])
        same(sparse.sum(coo, -1, keepdim=True), [[0, 1, 2], [0, 0, 0]], [-1, 3, 0.5], [3, 1])
        same(sparse.sum(csr, -1), [[0, 1, 2], [0, 0, 0]], [-1, 3, 0.5], [3, 1])
        assert sparse.sum(coo, dtype="float64").to_dense().tolist() == [2.5]
        same(sparse.slice(coo, [0, 1], [0, 1], [2, 4]), [[0, 0], [0, 2]], [1, -2], [2, 3])
        assert sparse.is_same_shape(coo, csr) and not sparse.is_same_shape(coo, dense.t())
        """,
    "layers": """
        share = np.exp([1.0, -2.0]) / np.exp([1.0, -2.0]).sum()
        for each in (coo, csr):
            same(sparse.nn.ReLU()(each), places, [1, 0, 3, 0.5])
            same(sparse.nn.LeakyReLU(0.2)(each), places, [1, -0.4, 3, 0.5])
            same(sparse.nn.ReLU6()(sparse.multiply(each, 4.0)), places, [4, 0, 6, 2])
            same(sparse.nn.Softmax()(each), places, [*share, 1, 1])
        same(sparse.nn.functional.softmax(coo, axis=0), places, [1, 1, 1, 1])
        raises(ValueError, "sparse.softmax axis", lambda: sparse.nn.functional.softmax(csr, 0))
        """,
    "gradients": """
        leaf = sparse.sparse_coo_tensor(places, numbers, [3, 4], stop_gradient=False)
        x = paddle.to_tensor(dense.reshape([4, 3]).numpy(), stop_gradient=False)
        sparse.matmul(leaf, x).sum().backward()
        same(leaf.grad, places, [12, 30, 3, 21])
        assert x.grad[:, 0].tolist() == [3, 1, 0.5, -2]
        x = paddle.to_tensor(dense.numpy(), stop_gradient=False)
        sparse.tanh(sparse.multiply(x.to_sparse_coo(2), 0.1)).to_dense().sum().backward()
        wanted = 0.1 / np.cosh(0.1 * dense.numpy()) ** 2
        wanted[0, 0] = 0
        assert_allclose(x.grad.numpy(), wanted, rtol=1e-5)
        leaf = sparse.sparse_csr_tensor([0, 2, 3, 4], [1, 3, 0, 2], numbers, [3, 4], stop_gradient=False)
        (sparse.nn.functional.softmax(leaf).to_dense() * dense).sum().backward()
        same(leaf.grad, places, [-0.0903533, 0.0903533, 0, 0])
        """,
    "arguments that do not fit": """
        make = sparse.sparse_coo_tensor
        raises(ValueError, "[3, 4] [2, 4]", lambda: make(places, numbers, [2, 4]))
        raises(ValueError, "[2, 4] [2]", lambda: make(places, numbers[:2], [3, 4]))
        raises(ValueError, "[3, 4] [3, 4, 5]", lambda: make(places, numbers, [3, 4, 5]))
        raises(ValueError, "count from 0", lambda: make([[-1], [0]], [1.0], [3, 4]))
        raises(ValueError, "crows 4", lambda: sparse.sparse_csr_tensor([0, 2], [1, 3], [1.0, 2.0], [3, 4]))
        raises(ValueError, "crows 3", lambda: sparse.sparse_csr_tensor([0, 1, 1, 3], [1, 3], [1.0, 2.0], [3, 4]))
        raises(ValueError, "rows", csr.indices)
        raises(ValueError, "coordinates", coo.crows)
        raises(ValueError, "sparse_dim 3", lambda: dense.to_sparse_coo(3))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_sparse(program):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(PROGRAMS[program])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr

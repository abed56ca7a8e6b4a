"""Reductions and forms of the paddle front: gradients of equal elements, complex numbers, calls and their dtypes."""

import subprocess
import sys
import textwrap

import pytest

from .test_paddle import run

HEADER = """
import numpy as np
import paddle
from numpy.testing import assert_allclose

nan = float("nan")


def gradient(name, values, **options):
    x = paddle.to_tensor(values, stop_gradient=False)
    made = getattr(paddle, name)(x, **options)
    (made[0] if isinstance(made, tuple) else made).sum().backward()
    return x.grad.tolist()
"""
PROGRAMS = {
    "numpy's functions, and results that are written": """
        a = np.arange(1, 7, dtype="float32").reshape(2, 3)
        x = paddle.to_tensor(a)
        for name in ("sum", "mean", "prod", "argmax", "argmin", "cumsum", "any", "all"):
            y, b = (x > 3, a > 3) if name in ("any", "all") else (x, a)
            for options in ({}, {"axis": 1}):
                made, wanted = getattr(np, name)(y, **options), getattr(np, name)(b, **options)
                assert isinstance(made, paddle.Tensor), name
                assert_allclose(made.numpy(), wanted, err_msg=name)
                out = paddle.zeros(made.shape, made.dtype)
                assert getattr(paddle, name)(y, out=out, **options) is out, name
                assert_allclose(out.numpy(), wanted, err_msg=name)
        assert_allclose(paddle.cumprod(x, 1, out=paddle.zeros([2, 3])).numpy(), a.cumprod(1))
        assert np.sum([x.sum(), x.mean()]) == 24.5
        """,
    "elements that equal the middle share its gradient": """
        third = 1 / 3
        for values, options, expected in [
            ([1.0, 2, 2, 2, 3], {}, [0, third, third, third, 0]),
            ([1.0, 2, 2, 3], {}, [0, 0.5, 0.5, 0]),
            ([1.0, 2, 3, 4], {}, [0, 0.5, 0.5, 0]),
            ([1.0, 1, 2, 3], {"mode": "min"}, [0.5, 0.5, 0, 0]),
            ([2.0, 2, 1, 1], {"mode": "min"}, [0, 0, 0.5, 0.5]),
            ([[1.0, 2, 3, 4], [3, 3, 3, 0]], {"axis": -1}, [[0, 0.5, 0.5, 0], [third, third, third, 0]]),
            ([[3.0, 1], [3, 1], [3, 2]], {"axis": 0}, [[third, 0.5], [third, 0.5], [third, 0]]),
        ]:
            for name in ("median", "nanmedian"):
                assert_allclose(gradient(name, values, **options), expected, rtol=1e-6, err_msg=str((name, values)))
        assert gradient("median", [1.0, 2, 3], axis=-1, mode="min") == [0, 1, 0]
        """,
    "the gradient of a row without a middle is its NaN's": """
        for options in ({}, {"axis": -1}, {"mode": "min"}, {"axis": -1, "mode": "min"}):
            assert gradient("median", [1.0, nan, 2, 3, 3], **options) == [0, 1, 0, 0, 0], options
        assert gradient("nanmedian", [nan, 1.0, 1, 2]) == [0, 0.5, 0.5, 0]
        assert gradient("nanmedian", [nan, 1.0, 1, 2], mode="min") == [0, 0.5, 0.5, 0]
        """,
    "complex numbers beside NaN": """
        x = paddle.to_tensor([[1 + 2j, complex("nan")], [3 - 1j, 2j]])
        assert_allclose(paddle.nanmean(x).numpy(), (4 + 3j) / 3, rtol=1e-6)
        assert_allclose(paddle.nanmean(x, axis=1, keepdim=True).numpy(), [[1 + 2j], [1.5 + 0.5j]], rtol=1e-6)
        assert_allclose(paddle.nansum(x, axis=0).numpy(), [4 + 1j, 2j], rtol=1e-6)
        """,
    "a bool behind the axis is keepdim": """
        x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        for function in (paddle.sum, paddle.mean, paddle.prod):
            assert function(x, -1, True).shape == [2, 1] and function(x, 0, False).shape == [2]
        assert x.sum(-1, True).tolist() == [[3], [7]]
        assert x.sum(0, True, "float64").dtype == paddle.float64 and x.sum(0, "int32").dtype == paddle.int32
        """,
    "numbers and lists are copied as numpy's": """
        for given, dtype, shape in [
            (True, "bool", [1]), (2.5, "float64", [1]), (3, "int64", [1]), (1 + 2j, "complex128", [1]),
            ([1.5], "float64", [1]), ([[1.0, 2]], "float64", [1, 2]), ([1, 2], "int64", [2]),
            (np.float32(2), "float32", [1]), (np.ones(2, "float32"), "float32", [2]), ([np.float32(1)], "float32", [1]),
            (paddle.ones([2]), "float32", [2]),
        ]:
            made = paddle.assign(given)
            assert made.dtype == getattr(paddle, dtype) and made.shape == shape, (given, made)
        for text in ("nan", "inf", "2.5"):
            for made in (paddle.full([2], text), paddle.full_like(paddle.ones([2]), text)):
                assert str(made[0].item()) == text
        """,
    "an order of the first axes": """
        x = paddle.arange(24).reshape([2, 3, 4])
        for made in (paddle.transpose(x, [1, 0]), x.transpose([1, 0]), paddle.permute(x, [1, 0])):
            assert made.equal_all(paddle.transpose(x, [1, 0, 2]))
        assert paddle.transpose(x, []).equal_all(x)
        """,
    "shares of a histogram are float32": """
        for dtype in ("int32", "int64", "float32", "float64"):
            x = paddle.to_tensor([1, 2, 3], dtype=dtype)
            made = paddle.histogram(x, 3, density=True), paddle.histogram(x, 3, weight=paddle.ones([3], dtype=dtype))
            assert [each.dtype for each in made] == [paddle.float32] * 2
            assert made[0].tolist() == [0.5] * 3 and made[1].tolist() == [1] * 3
        """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_reductions(program):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(PROGRAMS[program])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_axes_that_are_not_there_are_refused():
    run(
        """
        x, F = paddle.to_tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]]), paddle.nn.functional
        assert paddle.median(x, axis=-1).tolist() == [2, 4] and paddle.nanmedian(x, axis=[1, 0]).item() == 3.5
        for call in (
            lambda axis: paddle.median(x, axis=axis),
            lambda axis: x.median(axis),
            lambda axis: paddle.nanmedian(x, axis=[0, axis]),
            lambda axis: paddle.quantile(x, 0.5, axis=axis),
            lambda axis: paddle.nanquantile(x, 0.5, axis=[axis, 1]),
            lambda axis: F.dropout(x, 0.5, axis=axis),
            lambda axis: F.cross_entropy(x, paddle.to_tensor([0, 1]), axis=axis),
        ):
            for axis in (2, 5, -3):
                raises(ValueError, lambda: call(axis), "2 axes", str(axis))
        raises(ValueError, lambda: paddle.nanmedian(x, axis=[0, -2]), "nanmedian", "twice")
        """
    )


def test_second_names_of_parameters():
    run(
        """
        x = paddle.to_tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])
        for name in ("sum", "mean", "prod", "max", "min", "amax", "logsumexp", "std", "median", "nansum"):
            function = getattr(paddle, name)
            want = function(x, axis=0).numpy()
            np.testing.assert_array_equal(function(input=x, dim=0).numpy(), want)
            np.testing.assert_array_equal(getattr(x, name)(dim=0).numpy(), want)
        for name in ("topk", "kthvalue"):
            want = getattr(paddle, name)(x, 1, axis=0)[0].numpy()
            np.testing.assert_array_equal(getattr(paddle, name)(input=x, k=1, dim=0)[0].numpy(), want)
        raises(TypeError, lambda: paddle.sum(x=x, input=x), "both 'x' and 'input'")
        for name in ("zeros_like", "ones_like", "empty_like"):
            function = getattr(paddle, name)
            assert function(x, "int32").dtype == function(input=x, dtype="int32").dtype == paddle.int32
            assert function(x).dtype == paddle.float32
        rows = x.reshape([1, 2, 3])
        assert rows.squeeze(dim=0).shape == paddle.squeeze(input=rows, axis=0).shape == [2, 3]
        assert x.unsqueeze(dim=0).shape == [1, 2, 3]
        for times in ((2, 1), ([2, 1],), ((2, 1),), (paddle.to_tensor([2, 1]),)):
            assert x.tile(*times).shape == [4, 3]
        assert x.tile(repeat_times=[2, 1]).shape == [4, 3] and x.tile(2).shape == [2, 6]
        """
    )


def test_solutions_of_batches_of_vectors():
    run(
        """
        rng = np.random.default_rng(0)
        sizes = [((2, 2, 2), (2, 2)), ((2, 2, 2, 2), (2, 2, 2)), ((2, 3, 3), (2, 3)), ((3, 3), (3,)), ((3, 3), (3, 2)),
                 ((2, 3, 3), (2, 3, 1)), ((5, 1, 3, 3), (5, 2, 3))]
        for of_matrices, of_others in sizes:
            a, b = rng.normal(size=of_matrices), rng.normal(size=of_others)
            vectors = b.ndim == a.ndim - 1
            want = np.linalg.solve(a, b[..., None])[..., 0] if vectors else np.linalg.solve(a, b)
            x, y = paddle.to_tensor(a), paddle.to_tensor(b)
            np.testing.assert_allclose(paddle.linalg.solve(x, y).numpy(), want, 1e-6)
            np.testing.assert_allclose(x.solve(y).numpy(), want, 1e-6)
            if vectors:
                turned = np.linalg.solve(np.swapaxes(a, -1, -2), b[..., None])[..., 0]
                np.testing.assert_allclose(paddle.linalg.solve(x, y, left=False).numpy(), turned, 1e-6)
        """
    )

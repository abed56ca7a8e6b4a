"""Operators and kernels that macros over sequences register: OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE and its kin."""

import numpy as np
import pytest

import lamella as lm
from support.user_ops import load, use


@pytest.fixture(autouse=True, scope="module")
def library():
    load("sequences")


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64", "uint8", "bool", "float16"])
def test_a_kernel_for_each_combination(dtype, index):
    values = np.array([1, 0, 3]).astype(dtype)
    y = use("t_pick", {"in": lm.asarray(values), "indices": lm.asarray(np.array([2, 0, 1, 2], index))}, {"out": 1})
    assert y.dtype == getattr(lm, dtype) and y.tolist() == values[[2, 0, 1, 2]].tolist()


def test_combinations_that_are_not_there():
    for dtype, index in (("int16", "int64"), ("float32", "uint8")):
        inputs = {"in": lm.ones(2, dtype=dtype), "indices": lm.zeros(2, dtype=index)}
        with pytest.raises((NotImplementedError, TypeError), match="t_pick"):
            use("t_pick", inputs, {"out": 1})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_an_operator_for_each_function(name, dtype):
    x = lm.asarray(np.linspace(-2, 2, 5).astype(dtype))
    np.testing.assert_allclose(use(f"t_seq_{name}", {"in": x}, {"out": 1}).numpy(), getattr(np, name)(x.numpy()), 1e-6)


def test_texts():
    wanted = "a b c | a:1 a:2 b:1 b:2 | a:b b:a c:d d:c | pbool x qbool x | ka kb "
    assert wanted in lm.ops.user_op.t_seq_text.schema

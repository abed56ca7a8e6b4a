"""Functions of functions beside `lm.grad`."""

import pytest

import lamella as lm
from support.tensors import leaf


@pytest.mark.parametrize("name", ["checkpoint", "grad", "hessian", "jacobian", "jvp", "vjp", "vmap"])
def test_found_at_the_top_too(name):
    assert getattr(lm, name) is getattr(lm.autograd, name)
    assert name in lm.__all__ and name in dir(lm)


def test_they_work_there():
    x = leaf(1.0, 2.0)
    assert lm.vmap(lambda row: row.sum())(lm.ones([3, 2])).tolist() == [2, 2, 2]
    assert lm.jvp(lambda x: x * x, x.detach(), lm.ones([2]))[1].tolist() == [2, 4]
    assert lm.vjp(lambda x: x * x, x.detach())[1](lm.ones([2]))[0].tolist() == [2, 4]
    assert lm.jacobian(lambda x: x * x, x.detach()).tolist() == [[2, 0], [0, 4]]
    assert lm.hessian(lambda x: (x * x).sum(), x.detach()).tolist() == [[2, 0], [0, 2]]
    lm.checkpoint(lm.exp, x).sum().backward()
    assert x.grad.shape == (2,)

"""First and second derivatives of every operator against differences, in both modes of the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm

from .calls import CALLS, KEYS, WITHOUT_GRADIENT, get_item, leaf, set_item
from .samples import DIFFERENTIABLE, DIFFERENTIABLE_COMPLEX, GRADIENT_SHAPES, OTHERS, Operator, arguments, case_id


def check(f: Callable[..., Any], inputs: Sequence[lm.Tensor]) -> None:
    for fast in (False, True):
        assert lm.autograd.gradcheck(f, inputs, atol=1e-7, rtol=1e-5, fast_mode=fast)
        assert lm.autograd.gradgradcheck(f, inputs, atol=1e-6, rtol=2e-5, fast_mode=fast)


@pytest.mark.parametrize("shapes", GRADIENT_SHAPES.values(), ids=GRADIENT_SHAPES)
@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=case_id)
def test_elementwise(op: Operator, shapes: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    arrays = arguments(op, shapes[: op.inputs], "float64", rng)
    check(op, [lm.tensor(a, stop_gradient=not op.differentiable[i]) for i, a in enumerate(arrays)])


@pytest.mark.parametrize("op", DIFFERENTIABLE_COMPLEX, ids=case_id)
def test_elementwise_complex(op: Operator, rng: np.random.Generator) -> None:
    arrays = arguments(op, [(2, 2)] * op.inputs, "complex128", rng)
    check(op, [lm.tensor(a, stop_gradient=not op.differentiable[i]) for i, a in enumerate(arrays)])


@pytest.mark.parametrize("name", CALLS)
def test_every_other_operator(name: str) -> None:
    for call, inputs in CALLS[name]:
        check(call, inputs)


def test_the_table_holds_each_operator_once() -> None:
    """A new operator takes a line in CALLS, or in WITHOUT_GRADIENT."""
    assert sorted([*CALLS, *WITHOUT_GRADIENT]) == sorted(OTHERS)


@pytest.mark.parametrize("name", sorted(WITHOUT_GRADIENT & {"zeros_like", "full_like", "argmax", "one_hot", "nonzero"}))
def test_operators_without_a_gradient_give_none(name: str) -> None:
    a = lm.tensor([1.0, 0.0, 2.0], stop_gradient=False)
    rest = {"full_like": [3.0], "one_hot": [3]}.get(name, [])
    result = getattr(lm, name)(a.astype("int64") if name == "one_hot" else a, *rest)
    for y in result if isinstance(result, tuple) else [result]:
        assert y.stop_gradient


@pytest.mark.parametrize("key", KEYS)
def test_indexing(key: Any) -> None:
    check(get_item(key), [leaf(2, 3)])


@pytest.mark.parametrize("key", KEYS)
def test_assignment(key: Any) -> None:
    check(set_item(key), [leaf(2, 3), leaf(1, low=1.5)])

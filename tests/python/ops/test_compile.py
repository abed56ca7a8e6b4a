"""Every operator in a compiled function: the numbers of the call as it is, and its gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import _tree

from .calls import CALLS, KEYS, get_item, leaf, set_item
from .samples import ELEMENTWISE, GRADIENT_SHAPES, Operator, arguments, case_id

#: Why calls of the table may run as they are: they make arrays or generators, or sizes depend on elements.
REASONS = ("an array of numpy", "np: random numbers", "random numbers come from", "the size of", "numbers stand among")


def fresh(inputs: Sequence[lm.Tensor]) -> list[lm.Tensor]:
    """Copies of tensors: leaves, each of the same layout."""
    copies = []
    for x in inputs:
        copies.append(x.detach().clone())
        if not x.stop_gradient:
            copies[-1].stop_gradient = False
    return copies


def outcome(f: Callable[..., Any], inputs: Sequence[lm.Tensor]) -> tuple[list[Any], list[Any], list[Any]]:
    """The results of a call, the gradients of their sum, and the inputs afterwards."""
    given = fresh(inputs)
    lm.random.seed(7)
    results = _tree.flatten(f(*given))[0]
    targets = [y for y in results if not y.stop_gradient and not y.is_leaf]
    wanted = [x for x in given if not x.stop_gradient]
    grads: Sequence[Any] = ()
    if targets and wanted:
        grads = lm.grad(targets, wanted, [lm.ones_like(y) for y in targets], allow_unused=True)
    plain = [[None if x is None else x.detach().numpy() for x in xs] for xs in (results, grads, given)]
    return plain[0], plain[1], plain[2]


def check(f: Callable[..., Any], inputs: Sequence[lm.Tensor]) -> None:
    """Compares calls; all but the first run as a graph, or for a reason as they are."""
    expected = outcome(f, inputs)
    compiled = lm.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lm.CompileWarning)
        for _ in range(5):
            got = outcome(compiled, inputs)
            for part, (a, b) in enumerate(zip(expected, got, strict=True)):
                assert len(a) == len(b)
                for x, y in zip(a, b, strict=True):
                    assert (x is None) == (y is None)
                    if x is None:
                        continue
                    assert x.dtype == y.dtype
                    if part == 1:
                        # Gradients of joined operators are summed in another order.
                        close = 1e-4 if x.dtype.name in ("float32", "complex64") else 1e-11
                        np.testing.assert_allclose(y, x, close, close)
                    else:
                        np.testing.assert_array_equal(y, x)
    explanation = lm.compile.explain(compiled)
    assert len(explanation.graphs) == 1 or explanation.breaks[0][1].startswith(REASONS), str(explanation)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ELEMENTWISE, ids=case_id)
def test_elementwise(op: Operator, dtype: str, rng: np.random.Generator) -> None:
    given = dtype if dtype in op.dtypes else op.dtypes[-1]
    shapes: Any = GRADIENT_SHAPES["broadcast"]
    arrays = arguments(op, shapes[: op.inputs], given, rng)
    floating = given.startswith(("float", "complex"))
    tensors = [lm.tensor(a, stop_gradient=not (op.differentiable[i] and floating)) for i, a in enumerate(arrays)]
    check(lambda *xs: op(*xs), tensors)


@pytest.mark.parametrize("name", CALLS)
def test_every_other_operator(name: str) -> None:
    for call, inputs in CALLS[name]:
        check(call, inputs)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key: Any) -> None:
    check(get_item(key), [leaf(2, 3)])
    check(set_item(key), [leaf(2, 3), leaf(1, low=1.5)])

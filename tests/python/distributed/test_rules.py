"""Operators on global tensors give what they give on whole ones, gradients included, however their tensors lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import _C, _tree
from lamella.distributed import distribute
from lamella.distributed.mesh import placement
from lamella.distributed.rules import composition_of, find
from ops.calls import CALLS
from ops.random_calls import RANDOM_CALLS

from .ranks import run

SIZE = 2

# Operators that are given tensors and have no rule: they compute on whole tensors, and name themselves otherwise.
WITHOUT_RULE = [
    *("sum_to", "nonzero", "put", "argwhere", "unravel_index", "ravel_multi_index", "index_put", "masked_select"),
    *("masked_scatter", "meshgrid", "column_stack", "block_diag", "cartesian_prod", "combinations", "renorm"),
    *("permutation", "unique", "unique_consecutive", "allclose", "bincount", "histogram", "histc", "histogramdd"),
    *("nonzero_static", "searchsorted", "isin", "bucketize", "unique_all", "unique_counts", "unique_inverse"),
    *("unique_values", "multinomial", "addr", "addbmm", "kron", "cov", "corrcoef", "diag", "diag_embed", "diagflat"),
    *("diagonal_scatter", "linalg_cholesky_solve", "linalg_cholesky_inverse", "linalg_cholesky_ex"),
    *("linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lstsq", "linalg_lu", "linalg_lu_unpack", "linalg_lu_solve"),
    *("linalg_matrix_sqrth", "linalg_polar", "linalg_pinv", "linalg_matrix_rank", "linalg_geqrf"),
    *("linalg_householder_product", "linalg_ormqr", "linalg_solve", "linalg_solve_ex", "linalg_solve_triangular"),
    *("linalg_inv_ex", "stft", "istft", "max_unpool1d", "max_unpool2d", "max_unpool3d", "ctc_loss", "cdist", "pdist"),
    *("dist", "feature_alpha_dropout", "embedding_bag", "affine_grid", "gaussian_nll_loss", "pairwise_distance"),
    *("shape_of", "dynamic_shape", "dynamic_reshape", "dynamic_broadcast", "dynamic_interpolate"),
]


def _creates(operator: dict[str, Any]) -> bool:
    """True for operators that no tensor is given to, and for the processes' own."""
    return operator["name"].startswith("distributed_") or not any("Tensor" in one for one in operator["types"][:1])


def test_operators_without_a_rule_are_known() -> None:
    names = {
        operator["name"]
        for operator in _C.operators()
        if not _creates(operator) and find(operator["name"]) is None and composition_of(operator["name"]) is None
    }
    assert names == set(WITHOUT_RULE)


def _outputs(result: Any) -> list[lm.Tensor]:
    return [x for x in _tree.flatten(result)[0] if isinstance(x, lm.Tensor)]


def _results(function: Callable[..., Any], leaves: Sequence[lm.Tensor]) -> tuple[list[Any], list[Any]]:
    """Values, and the gradients of the sum of their squares."""
    for x in leaves:
        x.stop_gradient = False
    results = _outputs(function(*leaves))
    differentiable = [x for x in results if not x.stop_gradient]
    if differentiable:
        sum(((x * x).sum() for x in differentiable), start=lm.zeros([])).backward()
    grads = [None if x.grad is None else x.grad.numpy() for x in leaves]
    return [x.detach().numpy() for x in results], grads


def _signatures(leaves: Sequence[lm.Tensor]) -> dict[tuple[str, ...], None]:
    """Everything whole or split along one axis, and one tensor split or partial."""
    found = [tuple("B" for _ in leaves)]
    for axis in range(3):
        found.append(tuple(f"S({axis})" if x.ndim > axis and x.shape[axis] >= SIZE else "B" for x in leaves))
    found.append(tuple("P" if i == 0 else "B" for i in range(len(leaves))))
    found.append(tuple("P" if i == len(leaves) - 1 else "B" for i in range(len(leaves))))
    return dict.fromkeys(found)


def _check(function: Callable[..., Any], leaves: Sequence[lm.Tensor]) -> int:
    """Compares a call with that on whole tensors; returns for how many signatures there is a way."""
    plain = [x.detach() for x in leaves]
    values, grads = _results(function, [lm.tensor(x.numpy()) for x in plain])
    cases = list(_signatures(plain))

    def work(rank: int) -> list[Any]:
        mesh = placement("cpu", range(SIZE))
        found: list[Any] = []
        for signature in cases:
            own = [distribute(x, mesh, one) for x, one in zip(plain, signature, strict=True)]
            try:
                found.append(_results(function, own))
            except RuntimeError as error:
                if "has no SBP rule" not in str(error):
                    raise
                found.append(None)
        return found

    results = run(SIZE, work)
    for signature, *each in zip(cases, *results, strict=True):
        for one in each:
            if one is None:
                continue
            for value, expected in zip(one[0], values, strict=True):
                assert value.shape == expected.shape, signature
                np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9, err_msg=str(signature))
            for grad, expected in zip(one[1], grads, strict=True):
                if expected is None:
                    assert grad is None or not grad.any(), signature
                else:
                    np.testing.assert_allclose(grad, expected, rtol=1e-7, atol=1e-8, err_msg=str(signature))
    return sum(one is not None for one in results[0])


# Operators of which the calls above are without an axis that could be split, and have a rule for others.
_SMALL = ("vstack", "multilabel_soft_margin_loss", "rnn", "lstm", "nanpercentile", "dynamic_slice")
#: Calls with a source of random numbers, whose parts have others.
_DRAWS = {*RANDOM_CALLS, "gumbel_softmax", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"}
_DRAWS |= {"feature_alpha_dropout"}


@pytest.mark.parametrize("name", [one for one in CALLS if one not in _DRAWS and "distributed" not in one])
def test_operators(name: str) -> None:
    calls = CALLS[name][:3] if name != "scaled_dot_product_attention" else CALLS[name][:2]
    ways = [_check(function, leaves) for function, leaves in calls]
    assert min(ways) >= 1
    if name not in (*WITHOUT_RULE, *_SMALL) and any(
        x.ndim > 1 and max(x.shape) >= SIZE for _, leaves in calls for x in leaves
    ):
        assert max(ways) > 1, f"{name} has no way but broadcast"


ELEMENTWISE = [operator for operator in _C.operators() if operator["elementwise"]]


@pytest.mark.parametrize("operator", ELEMENTWISE, ids=lambda one: one["name"])
def test_elementwise_operators(operator: dict[str, Any]) -> None:
    rng = np.random.default_rng(len(operator["name"]))
    dtype = next(one for one in ("float64", "int64", "bool", "complex128") if one in operator["dtypes"])
    values = []
    for i, shape in zip(range(operator["inputs"]), [(4, 3), (3,), (4, 1), (4, 3)], strict=False):
        if i in operator["settings"]:
            values.append(lm.asarray(operator["settings"][i], dtype="float64"))
        elif dtype == "bool" or (operator["mask_input"] and i == 0):
            values.append(lm.asarray(rng.random(shape) > 0.5))
        elif dtype == "complex128":
            values.append(lm.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)))
        elif dtype == "int64":
            values.append(lm.asarray(rng.integers(0, 5, shape)))
        else:
            values.append(lm.asarray(rng.uniform(operator["sample_low"], operator["sample_high"], shape)))
    function = getattr(lm, operator["name"])
    expected = function(*values).numpy()
    cases = [*_signatures(values), tuple("P" for _ in values)]

    def work(rank: int) -> list[Any]:
        mesh = placement("cpu", range(SIZE))
        return [
            function(*(distribute(x, mesh, one) for x, one in zip(values, case, strict=True))).numpy() for case in cases
        ]

    for found in run(SIZE, work):
        for value in found:
            np.testing.assert_allclose(value, expected, rtol=1e-10)


# Operator, signatures of its arguments, and that of the result: where a way costs nothing it is taken.
CHOICES: list[tuple[Any, list[str], str]] = [
    (lambda a, b: a + b, ["P", "P"], "P"),
    (lambda a, b: a + b, ["P", "B"], "P"),
    (lambda a, b: a * b, ["P", "B"], "P"),
    (lambda a, b: a - b, ["S(1)", "B"], "S(1)"),
    (lambda a, b: -a, ["P"], "P"),
    (lambda a: lm.relu(a), ["S(1)"], "S(1)"),
    (lambda a: a.sum(axis=0), ["S(0)"], "P"),
    (lambda a: a.sum(axis=0), ["S(1)"], "S(0)"),
    (lambda a: a.max(axis=1, keepdims=True), ["S(1)"], "P(max)"),
    (lambda a: a.min(axis=1), ["S(1)"], "P(min)"),
    (lambda a: a.mean(), ["S(0)"], "P"),
    (lambda a, b: a @ b, ["S(0)", "B"], "S(0)"),
    (lambda a, b: a @ b, ["B", "S(1)"], "S(1)"),
    (lambda a, b: a @ b, ["S(1)", "S(0)"], "P"),
    (lambda a, b: lm.linear(a, b, lm.ones([8])), ["S(1)", "S(1)"], "P"),
    (lambda a, b: lm.einsum("ij,kj->ik", a, b), ["S(1)", "S(1)"], "P"),
    (lambda a: a.reshape([2, 4, 8]), ["S(0)"], "S(0)"),
    (lambda a: a.reshape([8, 2, 4]), ["S(1)"], "S(1)"),
    (lambda a: a.T, ["S(0)"], "S(1)"),
    (lambda a: lm.softmax(a, axis=1), ["S(0)"], "S(0)"),
    (lambda a: a[:, 2:5], ["S(0)"], "S(0)"),
    (lambda a: a[:, None], ["S(1)"], "S(2)"),
    (lambda a: a.astype("float64"), ["P"], "P"),
    (lambda a, b: lm.embedding(lm.arange(5), a), ["S(0)"], "P"),
    (lambda a, b: lm.embedding(lm.arange(5), a), ["S(1)"], "S(1)"),
]


@pytest.mark.parametrize(("function", "given", "expected"), CHOICES)
def test_what_costs_nothing_is_chosen(function: Any, given: list[str], expected: str) -> None:
    x = np.random.default_rng(2).standard_normal((8, 8)).astype("float32")
    arguments = function.__code__.co_argcount

    def work(rank: int) -> Any:
        mesh = placement("cpu", range(SIZE))
        tensors = [distribute(lm.asarray(x), mesh, one) for one in [*given, "B"][:arguments]]
        from lamella.distributed import _carrier

        log = _carrier.current().log  # type: ignore[attr-defined]
        log.clear()
        y = function(*tensors)
        assert not log, log
        return y.sbp[0].short, y.numpy()

    whole = function(*[lm.asarray(x)] * arguments).numpy()
    for signature, value in run(SIZE, work):
        assert signature == expected
        np.testing.assert_allclose(value, whole, rtol=1e-5, atol=1e-5)

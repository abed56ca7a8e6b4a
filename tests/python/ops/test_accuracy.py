"""Every operator's value and first, second and third derivative, in all modes, against 90-digit numbers."""

from __future__ import annotations

import itertools
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from . import accuracy, accuracy_bounds, accuracy_references
from .accuracy import FORMATS, MODES, NARROW
from .accuracy_bounds import BOUNDS
from .samples import ELEMENTWISE

PAGE = Path(__file__).parents[3] / "docs" / "accuracy.md"


def complaint(points: np.ndarray, got: np.ndarray, truth: np.ndarray, errors: np.ndarray, bound: float) -> str:
    worst = np.argsort(-np.nan_to_num(errors, nan=np.inf))[:5]
    rows = [f"at {points[i]}: got {got[i]!r}, not {truth[i, 0]!r}: {errors[i]:.3g} ulps" for i in worst]
    return f"{int((errors > bound).sum())} of {len(points)} errors above {bound} ulps\n" + "\n".join(rows)


def test_every_operator_has_a_reference() -> None:
    floating = [op.name for op in ELEMENTWISE if "float32" in op.dtypes]
    known = {
        *accuracy_references.UNARY,
        *accuracy_references.BINARY,
        *accuracy_references.MORE,
        *accuracy_references.EXACT,
    }
    assert sorted(set(floating) - known) == [], "operators without a reference in accuracy_references.py"
    listed = {*accuracy_references.UNARY, *accuracy_references.BINARY} - set(accuracy_references.DESCRIBED)
    assert sorted(listed - set(BOUNDS)) == []


def test_descriptions_are_references() -> None:
    """What a new operator is compared with until it has a line in the table: tried on those that have one."""
    compared = 0
    for op in ELEMENTWISE:
        if op.inputs != 1 or op.name not in accuracy_references.UNARY or not (op.reference or "").startswith("np."):
            continue
        x = accuracy.Jet.variables([mp.mpf(0.375)])[0]
        try:
            got = accuracy_references.described(op)(x)
        except (AttributeError, TypeError):  # a function that NUMPY lacks, or a formula for arrays
            continue
        truth = accuracy_references.UNARY[op.name](x)
        for order in range(4):
            assert mp.almosteq(got.derivative((order,)), truth.derivative((order,)), 1e-60), (op.name, order)
        compared += 1
    assert compared >= 12


def test_large_bounds_have_a_reason() -> None:
    for name, bound in BOUNDS.items():
        assert bound.reason or max(bound.ulps) <= accuracy_bounds.USUAL, f"{name}: say why it may be off that far"


@pytest.mark.parametrize("name", accuracy_references.UNARY)
def test_operator_of_one_number(name: str) -> None:
    for dtype, mode in itertools.product(FORMATS, MODES):
        points, got, truth, errors = accuracy.unary_errors(name, dtype, mode)
        order = len(mode)
        bound = accuracy_bounds.bound_of(name).of(dtype, order)
        errors = np.where([accuracy_bounds.is_left_out(name, order, dtype, x) for x in points], 0, errors)
        assert (errors <= bound).all(), f"{name} {dtype} {mode or 'value'}: " + complaint(
            points, got, truth, errors, bound
        )


@pytest.mark.parametrize("name", accuracy_references.BINARY)
def test_operator_of_two_numbers(name: str) -> None:
    _, orders = accuracy.binary_truth(name)
    for dtype, order in itertools.product(FORMATS, orders):
        total = sum(order)
        if not all(accuracy.is_differentiable(name, i) for i in range(2) if order[i]):
            continue
        if total > 1 and dtype in NARROW:
            continue
        modes = ["".join(m) for m in itertools.product("RF", repeat=total)] if total < 3 else ["RRR", "FFF", "FRR"]
        bound = BOUNDS[name].of(dtype, total)
        for mode in modes:
            points, got, truth, errors = accuracy.binary_errors(name, dtype, mode, order)
            assert (errors <= bound).all(), f"{name} {dtype} {order} {mode or 'value'}: " + complaint(
                points, got, truth, errors, bound
            )


@pytest.mark.parametrize("name", accuracy_references.MORE)
def test_operator_of_more_numbers(name: str) -> None:
    arguments = [mp.mpf(v) for v in (0.75, -2.5, 0.125, 3)]
    reference = accuracy_references.MORE[name]
    count = 3 if name == "lerp" else 4
    jet = reference(*accuracy.Jet.variables(arguments[:count]))
    xs = [accuracy.lm.asarray(np.array([float(v)])) for v in arguments[:count]]
    for total in range(4):
        for variables in itertools.combinations_with_replacement(range(count), total):
            exponents = tuple(variables.count(i) for i in range(count))
            truth = np.array([accuracy.as_floats(jet.derivative(exponents))])
            for mode in ("R" * total, "F" * total):
                got = accuracy.as_numpy(accuracy.derived(accuracy.operator(name), mode, variables)(*xs))
                assert accuracy.ulps(got, truth, "float64").max() <= accuracy_bounds.USUAL, (name, variables, mode)


def test_the_page_has_the_bounds() -> None:
    text = PAGE.read_text()
    assert accuracy_bounds.table() in text, "docs/accuracy.md differs: ./dev doc writes it"

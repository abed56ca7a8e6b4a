"""First and second derivatives of any function of tensors, against central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import lamella as lm

Function = Callable[..., lm.Tensor]


def _value(f: Function, arrays: Sequence[np.ndarray], weights: np.ndarray) -> float:
    return float((f(*[lm.asarray(a) for a in arrays]).numpy() * weights).sum())


def _differences(
    g: Callable[[list[np.ndarray]], float], arrays: Sequence[np.ndarray], i: int, step: float
) -> np.ndarray:
    result = np.zeros_like(arrays[i])
    for index in np.ndindex(arrays[i].shape):
        sides = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[i][index] += sign * step
            sides.append(g(moved))
        result[index] = (sides[0] - sides[1]) / (2 * step)
    return result


def check_gradients(f: Function, *arrays: np.ndarray, second: bool = True, seed: int = 7) -> None:
    """Checks the gradients of ``f`` with respect to every array, and the gradients of those."""
    rng = np.random.default_rng(seed)
    shape = f(*[lm.asarray(a) for a in arrays]).shape
    weights = rng.uniform(0.5, 1.5, shape)
    directions = [rng.uniform(0.5, 1.5, a.shape) for a in arrays]

    def gradients(values: Sequence[np.ndarray], create_graph: bool) -> tuple[list[lm.Tensor], list[lm.Tensor]]:
        tensors = [lm.tensor(a, stop_gradient=False) for a in values]
        return lm.grad([f(*tensors)], tensors, grad_outputs=[lm.asarray(weights)], create_graph=create_graph), tensors

    grads, _ = gradients(arrays, create_graph=False)
    for i, grad in enumerate(grads):
        assert grad.shape == arrays[i].shape
        expected = _differences(lambda moved: _value(f, moved, weights), arrays, i, 1e-6)
        np.testing.assert_allclose(grad.numpy(), expected, rtol=2e-5, atol=1e-7)
    if not second:
        return

    def total_of(grads: list[lm.Tensor]) -> lm.Tensor:
        total = lm.asarray(0.0, dtype="float64")
        for grad, direction in zip(grads, directions, strict=True):
            total = total + (grad * lm.asarray(direction)).sum()
        return total

    grads, tensors = gradients(arrays, create_graph=True)
    total = total_of(grads)
    got = [None] * len(tensors) if total.stop_gradient else lm.grad([total], tensors, allow_unused=True)
    for i, grad in enumerate(got):
        expected = _differences(lambda moved: total_of(gradients(moved, False)[0]).item(), arrays, i, 1e-6)
        values = np.zeros_like(expected) if grad is None else grad.numpy()
        np.testing.assert_allclose(values, expected, rtol=5e-5, atol=2e-6)

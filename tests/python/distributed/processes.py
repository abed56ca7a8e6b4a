"""Run on four processes by test_processes.py: what the stand-in's ranks do, on the library's own groups."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import lamella as lm
import lamella.distributed as dist
from distributed.models import LAYOUTS, made, train_parallel, train_whole
from distributed.wholes import joined, random_parts
from lamella.distributed import sbp
from lamella.distributed.global_tensor import adjoint
from lamella.distributed.mesh import placement
from lamella.distributed.redistribute import redistribute

SHAPE = (5, 7)


def every_pair(mesh: placement, kinds: list[str], limit: int) -> None:
    """Brings random parts from each signature to each other, and gradients back."""
    rng = np.random.default_rng(5)
    pairs = list(itertools.product(itertools.product(kinds, repeat=mesh.ndim), repeat=2))
    at = mesh.coordinate()
    for i in rng.permutation(len(pairs))[:limit]:
        source, target = pairs[i]
        before, after = tuple(map(sbp.parse, source)), tuple(map(sbp.parse, target))
        whole, gradient = (rng.integers(-50, 50, SHAPE).astype("float64") for _ in range(2))
        parts = random_parts(whole, mesh.shape, source, rng)
        back = random_parts(gradient, mesh.shape, [one.short for one in adjoint(after)], rng)
        x = lm.tensor(parts[at], stop_gradient=False)
        y = redistribute(x, SHAPE, mesh, before, after)
        y.backward(lm.asarray(back[at]))
        assert x.grad is not None
        found = dist.all_gather_object((at, y.detach().numpy().tolist(), x.grad.numpy().tolist()))
        values = {tuple(place): np.array(value) for place, value, _ in found}
        np.testing.assert_array_equal(joined(values, mesh.shape, target), whole, f"{source} -> {target}")
        if not any("(m" in one for one in (*source, *target)):
            gradients = {tuple(place): np.array(value) for place, _, value in found}
            expected = [one.short for one in adjoint(before)]
            np.testing.assert_array_equal(joined(gradients, mesh.shape, expected), gradient)


def training() -> None:
    """Losses and parameters over meshes are those of one process."""
    wholes: dict[str, Any] = {}
    for name, shape, plan, given in LAYOUTS.values():
        size = int(np.prod(shape))
        mesh = placement("cpu", np.arange(size).reshape(shape))
        mesh.connect()
        if dist.get_rank() not in mesh:
            continue
        losses, expected = wholes.setdefault(name, train_whole(name))
        found, parameters = train_parallel(made(name), name, shape, plan, given)
        np.testing.assert_allclose(found, losses, rtol=1e-9)
        for key, value in expected.items():
            np.testing.assert_allclose(parameters[key], value, rtol=1e-6, atol=1e-9)


def random_numbers(mesh: placement) -> None:
    """Dropout drops the same of what is whole, and something else of each part."""
    x = lm.ones([32, 32])
    lm.random.seed(3 + dist.get_rank())
    try:
        lm.dropout(dist.distribute(x, placement("cpu", [[0, 1, 2, 3]]), ["B", "B"]), 0.5)
    except RuntimeError as error:
        assert "begin at different seeds" in str(error)
    else:
        raise AssertionError("different seeds were not noticed")
    lm.random.seed(3)
    dropped = lm.dropout(dist.distribute(x, mesh, "B"), 0.5).to_local().tolist()
    cut = lm.dropout(dist.distribute(x, mesh, "S(0)"), 0.5).to_local().tolist()
    every = dist.all_gather_object((dropped, cut))
    assert all(whole == dropped for whole, _ in every)
    assert len({str(part) for _, part in every}) == dist.get_world_size()


def parts(mesh: placement) -> None:
    """Parts become global tensors, and gradients come back to them."""
    rank = dist.get_rank()
    own = lm.tensor(np.full((1 + (rank < 2), 3), float(rank)), stop_gradient=False)
    x = own.to_global(mesh, sbp.split(0))
    assert x.shape == (6, 3)
    (x * x).sum().backward()
    np.testing.assert_array_equal(own.grad.numpy(), 2 * own.detach().numpy())  # type: ignore[union-attr]
    first = lm.asarray(np.arange(3.0) + rank).to_global(mesh, sbp.broadcast)
    np.testing.assert_array_equal(first.to_local().numpy(), np.arange(3.0))


def main() -> None:
    dist.init_process_group(timeout=60)
    line, square = placement("cpu", range(4)), placement("cpu", [[0, 1], [2, 3]])
    every_pair(line, ["S(0)", "S(1)", "B", "P", "P(max)", "P(min)"], 36)
    every_pair(square, ["S(0)", "S(1)", "B", "P"], 80)
    parts(line)
    random_numbers(line)
    training()
    dist.barrier()
    print("all is well", flush=True)


if __name__ == "__main__":
    main()

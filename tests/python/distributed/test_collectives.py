"""Collective operations on several processes, beside numpy; the programs compare them."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamella as lm
import lamella.distributed as dist

from .running import by_mpirun, needs_gloo, needs_mpi, together


@needs_gloo
def test_operations_over_gloo(tmp_path: Path) -> None:
    done = together("collectives", 3, tmp_path, "gloo")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines() == [f"checked {rank}" for rank in range(3)]


@needs_mpi
def test_operations_over_mpi() -> None:
    done = by_mpirun("collectives", 2, "mpi")
    assert done.returncode == 0, done.stdout
    assert "checked 0" in done.stdout and "checked 1" in done.stdout


@needs_mpi
@needs_gloo
def test_gloo_under_mpirun() -> None:
    done = by_mpirun("hello", 2)
    assert done.returncode == 0, done.stdout
    assert "rank 0 of 2, gloo, sum 1" in done.stdout and "rank 1 of 2, gloo, sum 1" in done.stdout


@needs_mpi
def test_processes_of_mpi_on_one_machine_listen_nowhere() -> None:
    done = by_mpirun("hello", 2, LAMELLA_TEST_BACKEND="mpi")
    assert done.returncode == 0, done.stdout
    assert "rank 0 of 2, mpi, sum 1" in done.stdout and "rank 1 of 2, mpi, sum 1" in done.stdout


def test_shapes_alone_follow_from_the_group(request: pytest.FixtureRequest) -> None:
    request.addfinalizer(dist.destroy_process_group)
    group = dist.init_process_group("meta", rank=2, world_size=5)
    x = lm.empty([7, 3], device="meta", dtype="bfloat16").requires_grad_()
    results = {
        (7, 3): [dist.all_reduce(x), dist.all_reduce(x, "max"), dist.broadcast(x), dist.reduce(x, "product")],
        (35, 3): [dist.all_gather(x), dist.gather(x)],
        (28, 3): [dist.all_gather(x, sizes=[1, 10, 7, 0, 10])],
        (1, 3): [dist.reduce_scatter(x), dist.reduce_scatter(x, "max"), dist.scatter(x)],
        (7, 1): [dist.reduce_scatter(x, axis=1, sizes=[0, 0, 1, 1, 1])],
        (1, 15): [dist.all_to_all(x, 0, 1)],
        (): [dist.send(x, 0)],
    }
    for shape, ys in results.items():
        for y in ys:
            assert y.shape == shape and y.dtype == x.dtype and not y.stop_gradient
            (dx,) = lm.autograd.grad(y.sum(), [x])
            assert dx.shape == x.shape
    with pytest.raises(RuntimeError, match="moves no data"):
        dist.all_reduce(lm.ones([2]))
    assert dist.new_group([4, 2]).rank == 1 and group.size == 5


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: dist.all_reduce(x, "avg", "self"), ValueError, "'mean', 'max', 'min' or 'product', not 'avg'"),
        (lambda x: dist.all_reduce(x > 0, group="self"), TypeError, "bools are joined by op='max'"),
        (lambda x: dist.all_reduce(x.astype("int32"), "mean", "self"), TypeError, "cast x, or take op='sum'"),
        (lambda x: dist.all_reduce(x.astype("complex64"), "max", "self"), TypeError, "no order"),
        (lambda x: dist.broadcast(x, 1, "self"), ValueError, "root is a rank in group 'self', from 0 to 0, not 1"),
        (lambda x: dist.all_gather(x, 2, group="self"), IndexError, "axis 2"),
        (lambda x: dist.all_gather(x, sizes=[3], group="self"), ValueError, "rank 0, whose tensor has the size 2"),
        (
            lambda x: dist.reduce_scatter(x, sizes=[1], group="self"),
            ValueError,
            "do not add up to the size 2 of axis 0",
        ),
        (lambda x: dist.all_to_all(x, sizes=[1, 1], group="self"), ValueError, "for each of the 1 processes"),
        (lambda x: dist.send(x, 0, tag=-1, group="self"), ValueError, "tag is at least 0"),
        (lambda x: dist.recv(x, 0, tag=99, group="self"), RuntimeError, "nothing was sent"),
        (lambda x: dist.scatter([1.0], group="self"), TypeError, "x: expected a Tensor, got list"),
        (lambda x: dist.scatter(None, group="self"), ValueError, "x is a tensor on process 0"),
        (lambda x: dist.all_reduce(x.requires_grad_(), group="self", async_op=True), ValueError, "without a gradient"),
        (lambda x: dist.reduce_scatter(x, "max", group="self", async_op=True), ValueError, "'sum' or 'mean' where"),
        (lambda x: dist.all_reduce(x, group="other"), RuntimeError, "no process group"),
        (lambda x: dist.all_reduce(x, group=3), TypeError, "ProcessGroup, its name or None, not int"),
        (lambda x: dist.all_gather_object({1: 2}, "self"), TypeError, "keys of a dict are str, not int"),
        (lambda x: dist.all_gather_object([x], "self"), TypeError, "tensors go through"),
    ],
)
def test_mistakes_are_named(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call(lm.ones([2, 3]))


def test_plain_values_travel_through_the_host_s_memory_whatever_the_default_device_is() -> None:
    before = lm.get_default_device()
    lm.set_default_device("meta")
    try:
        assert dist.all_gather_object({"a": [1]}, "self") == [{"a": [1]}]
        assert dist.broadcast_object("x", group="self") == "x"
        assert dist.scatter(lm.ones([2], device="cpu"), group="self").tolist() == [1.0, 1.0]
    finally:
        lm.set_default_device(before)


def test_a_group_of_this_process_alone_is_always_there() -> None:
    group = dist.get_group("self")
    assert (group.rank, group.size, group.ranks, group.backend) == (0, 1, (0,), "self")
    assert "name" in dir(group) and "'self'" in repr(group)
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    (dist.all_reduce(x, "product", group) * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert dist.all_gather_object({"$": {"$bytes": b"\0"}}, group) == [{"$": {"$bytes": b"\0"}}]
    # All examples of vmap go in one message.
    mapped = lm.vmap(lambda a: dist.all_to_all(a, 0, 1, group=group))(lm.arange(24.0).reshape([2, 3, 4]))
    assert mapped.tolist() == lm.arange(24.0).reshape([2, 3, 4]).tolist()

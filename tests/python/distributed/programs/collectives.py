"""Compares every collective operation with numpy, on each process.

The argument is the backend. Where a test names a type of devices, each process has its own.
"""

import sys

import numpy as np

import lamella as lm
import lamella.distributed as dist
from support import default_device

group = dist.init_process_group(sys.argv[1], timeout=20)
rank, n = group.rank, group.size
default_device.use_own(rank)
rng = np.random.default_rng(5)
REDUCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "product": np.prod}


def same(got, expected, **bounds):
    np.testing.assert_allclose(got.detach().numpy(), expected, **bounds)


def everyones(shape, low=-3.0, high=3.0, dtype="float64"):
    """What all processes hold, the same on all of them, along a new axis 0."""
    return rng.uniform(low, high, (n, *shape)).astype(dtype)


def uneven(shape, axis):
    """One array for each process, of different sizes along an axis; that of rank 0 is empty."""
    sizes = [2 * i for i in range(n)]
    return [rng.normal(size=(*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]


def reductions():
    for dtype in ("float32", "float64", "int8", "int32", "int64", "uint8", "uint16", "complex64", "complex128", "bool"):
        x = everyones((5, 3)).astype(dtype)
        for op, reference in REDUCTIONS.items():
            is_bool, is_complex = dtype == "bool", dtype.startswith("complex")
            if (is_bool and op not in ("max", "min")) or (is_complex and op in ("max", "min")):
                continue
            if op == "mean" and not (dtype.startswith("float") or is_complex):
                continue
            expected = reference(x, axis=0).astype(dtype) if op == "mean" or is_bool else reference(x, axis=0)
            expected = expected.astype(dtype)
            own = lm.asarray(x[rank])
            same(dist.all_reduce(own, op), expected, rtol=1e-5)
            if dtype not in ("float64", "bool"):  # the others go the same way
                continue
            same(dist.reduce(own, op, root=n - 1), expected if rank == n - 1 else 0 * expected, rtol=1e-5)
            same(dist.reduce_scatter(own, op), np.array_split(expected, n)[rank], rtol=1e-5)
            sizes = [0] * (n - 1) + [3]
            same(dist.reduce_scatter(own, op, axis=1, sizes=sizes), expected[:, : sizes[rank]], rtol=1e-5)
    # Sums of numbers of 16 bits that 16 bits lose on the way.
    x = lm.asarray([256.0, 1.0] if rank == 0 else [1.0, 1.0], dtype="bfloat16")
    rounded = lm.tensor(255.0 + n).astype("bfloat16").item()
    assert dist.all_reduce(x).astype("float32").tolist() == [rounded, float(n)]
    assert dist.all_reduce(x).dtype == lm.bfloat16
    nan = lm.asarray([float("nan") if rank == n - 1 else 1.0, 2.0])
    same(dist.all_reduce(nan, "max"), [np.nan, 2.0])
    same(dist.all_reduce(nan, "min"), [np.nan, 2.0])


def movements():
    for dtype in ("bfloat16", "bool", "complex128"):
        x = lm.asarray(everyones((2, 3))).astype(dtype)
        whole = x.astype("complex128").numpy()

        def plain(y):
            return y.astype("complex128")

        same(plain(dist.broadcast(x[rank], root=n - 1)), whole[n - 1])
        same(plain(dist.all_gather(x[rank], axis=1)), np.concatenate(whole, axis=1))
        same(plain(dist.scatter(x[1] if rank == 1 else None, root=1, axis=-1)), np.array_split(whole[1], n, -1)[rank])
    for axis in (0, 1, 2):
        parts = uneven((2, 3, 4), axis)
        whole, own = np.concatenate(parts, axis), lm.asarray(parts[rank])
        sizes = [part.shape[axis] for part in parts]
        same(dist.all_gather(own, axis), whole)
        same(dist.all_gather(own, axis, sizes=sizes), whole)
        same(dist.gather(own, 1, axis), whole if rank == 1 else 0 * whole)
        same(dist.scatter(lm.asarray(whole) if rank == 0 else None, 0, axis, sizes=sizes), parts[rank])
        for joined in (axis, (axis + 1) % 3):
            x = everyones((2, 3, 4))
            cut = [np.array_split(one, n, axis)[rank] for one in x]
            same(dist.all_to_all(lm.asarray(x[rank]), axis, joined), np.concatenate(cut, joined))
    # Process i sends i + j rows to process j.
    x = [np.arange(sum(i + j for j in range(n))) + 100 * i for i in range(n)]
    sent = [rank + j for j in range(n)]
    starts = [sum(i + j for j in range(rank)) for i in range(n)]
    expected = np.concatenate([x[i][starts[i] :][: i + rank] for i in range(n)])
    same(dist.all_to_all(lm.asarray(x[rank]), sizes=sent), expected)
    same(dist.all_to_all(lm.asarray(x[rank]), sizes=sent, received=[i + rank for i in range(n)]), expected)
    assert dist.all_gather(lm.zeros([0, 3])).shape == (0, 3)
    x = everyones((4, 6))
    same(dist.all_gather(lm.asarray(x[rank]).T[::2]), np.concatenate([one.T[::2] for one in x]))


def gradients():
    """Each gradient is that of the sum of all processes' losses, which numpy differentiates by the transposed sums."""
    x = everyones((n * 2, 3), low=0.5)
    weights = everyones((n * 2 * n, 3))
    calls = {
        "all_reduce": (lambda a: dist.all_reduce(a), lambda w: w.sum(0)),
        "mean": (lambda a: dist.all_reduce(a, "mean"), lambda w: w.mean(0)),
        "max": (lambda a: dist.all_reduce(a, "max"), lambda w: w.sum(0) * (x[rank] == x.max(0))),
        "product": (lambda a: dist.all_reduce(a, "product"), lambda w: w.sum(0) * x.prod(0) / x[rank]),
        "all_gather": (lambda a: dist.all_gather(a), lambda w: np.split(w.sum(0), n)[rank]),
        "reduce_scatter": (lambda a: dist.reduce_scatter(a), lambda w: np.concatenate(w)),
        "broadcast": (lambda a: dist.broadcast(a, 1), lambda w: w.sum(0) * (rank == 1)),
        "reduce": (lambda a: dist.reduce(a, root=1), lambda w: w[1]),
        "gather": (lambda a: dist.gather(a, root=1), lambda w: np.split(w[1], n)[rank]),
        "scatter": (lambda a: dist.scatter(a, root=1), lambda w: np.concatenate(w) * (rank == 1)),
        "all_to_all": (
            lambda a: dist.all_to_all(a),
            lambda w: np.concatenate([np.split(one, n)[rank] for one in w]),
        ),
    }
    for name, (call, expected) in calls.items():
        leaf = lm.tensor(x[rank], stop_gradient=False)
        y = call(leaf)
        w = weights[:, : y.shape[0]]
        (y * lm.asarray(w[rank])).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), expected(w), rtol=1e-10, atol=1e-12, err_msg=name)
    # A second derivative goes through the collective operations once more.
    leaf = lm.tensor(x[rank], stop_gradient=False)
    (first,) = lm.autograd.grad(dist.all_reduce(leaf * leaf * leaf).sum(), [leaf], create_graph=True)
    (second,) = lm.autograd.grad(first.sum(), [leaf])
    same(second, n * 6 * x[rank])
    _, tangent = lm.jvp(lambda a: dist.all_reduce(a * a), (leaf.detach(),), (lm.ones_like(leaf),))
    same(tangent, 2 * x.sum(0))
    mapped = lm.vmap(lambda a: dist.all_gather(a * 2))(lm.asarray(x[rank]))
    same(mapped, 2 * np.concatenate(x, axis=1))


def messages():
    if rank == 0:
        x = lm.tensor([1.0, 2.0, 3.0], stop_gradient=False)
        works = [dist.recv([2], n - 1, tag=4, async_op=True), dist.send(lm.arange(2.0), n - 1, tag=9, async_op=True)]
        (dist.send(x * 2, n - 1, tag=3) + x.sum()).backward()
        same(x.grad, [17.0, 33.0, 49.0])
        same(works[0].wait(), [5.0, 6.0])
        works[1].wait()
    elif rank == n - 1:
        dist.send(lm.tensor([5.0, 6.0]), 0, tag=4)
        y = dist.recv(lm.zeros([3], dtype="float32").requires_grad_(), 0, tag=3)
        (y * y * 2).sum().backward()
        same(dist.recv([2], 0, tag=9), [0.0, 1.0])


def later():
    x = lm.full([1000], float(rank))
    works = [dist.all_reduce(x, async_op=True), dist.all_gather(x[:1], async_op=True), dist.barrier(async_op=True)]
    in_place = dist.all_reduce_(y := x.clone(), async_op=True)
    assert works[2].wait() is None and works[0].is_completed()
    same(works[0].wait()[:2], [n * (n - 1) / 2] * 2)
    same(works[1].wait(), range(n))
    assert in_place.wait() is y and y[0].item() == n * (n - 1) / 2
    same(dist.all_reduce_(x.clone(), "mean")[:1], [(n - 1) / 2])
    odd = lm.full([3, 4], rank + 1.0, dtype="bfloat16")
    assert dist.all_reduce_(odd.T[1:3], "mean", async_op=True).wait().shape == (2, 3)
    same(odd[0].astype("float32"), [rank + 1.0, (n + 1) / 2, (n + 1) / 2, rank + 1.0])
    same(dist.broadcast_(x.clone(), n - 1)[:1], [n - 1])


def plain_objects():
    value = {"rank": rank, "list": [1, 2.5, None, True], "bytes": bytes([0, rank]), "odd": {"$bytes": "x"}}
    assert dist.all_gather_object(value) == [{**value, "rank": i, "bytes": bytes([0, i])} for i in range(n)]
    assert dist.broadcast_object(("a", b"") if rank == 1 else object(), root=1) == ["a", b""]


def groups():
    reverse = dist.new_group(list(reversed(range(n))))
    same(dist.all_gather(lm.asarray([rank]), group=reverse), list(reversed(range(n))))
    pair = dist.new_group([n - 1, 0], name="pair")
    assert pair.rank == (1 if rank == 0 else 0 if rank == n - 1 else -1) and pair.ranks == (n - 1, 0)
    if pair.rank >= 0:
        same(dist.all_reduce(lm.asarray(rank), group="pair"), n - 1)
    alone = dist.new_group([1])
    if rank == 1:
        same(dist.all_reduce(lm.asarray(4.0), group=alone), 4.0)
    else:
        try:
            dist.all_reduce(lm.asarray(4.0), group=alone)
        except RuntimeError as error:
            assert "not a member" in str(error)
        else:
            raise AssertionError
    dist.seed(7)
    common = lm.rand([2])
    dist.seed(7, replicated=False)
    own = lm.rand([2])
    assert len({tuple(v) for v in dist.all_gather_object(common.tolist())}) == 1
    assert len({tuple(v) for v in dist.all_gather_object(own.tolist())}) == n


for check in (reductions, movements, gradients, messages, later, plain_objects, groups):
    check()
dist.barrier()
dist.destroy_process_group()
assert not dist.is_initialized()
print("checked", rank)

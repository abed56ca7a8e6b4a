"""Deterministic algorithms: results that do not depend on the number of threads."""

import numpy as np
import pytest

import lamella as lm


@pytest.fixture
def deterministic():
    threads = lm.get_num_threads()
    lm.use_deterministic_algorithms(True)
    yield
    lm.use_deterministic_algorithms(False)
    lm.set_num_threads(threads)


def results() -> bytes:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> lm.Tensor:
        return lm.tensor(rng.standard_normal(shape).astype("float32"), stop_gradient=False)

    a, b, x, w = drawn(300, 200), drawn(200, 150), drawn(8, 6, 20, 20), drawn(7, 6, 3, 3)
    y, z = lm.matmul(a, b), lm.conv2d(x, w, padding=1)
    lm.autograd.backward([y, z], [lm.ones_like(y), lm.ones_like(z)])
    return b"".join(t.detach().numpy().tobytes() for t in (y, z, a.grad, b.grad, x.grad, w.grad))


def test_the_number_of_threads_changes_nothing(deterministic) -> None:
    assert lm.are_deterministic_algorithms_enabled()
    seen = set()
    for threads in (1, 2, 4):
        lm.set_num_threads(threads)
        seen.add(results())
    assert len(seen) == 1


def test_the_switch() -> None:
    assert not lm.are_deterministic_algorithms_enabled()
    for wrong in (None, "yes", object()):
        with pytest.raises(TypeError):
            lm.use_deterministic_algorithms(wrong)


def bits(value: object) -> bytes:
    if isinstance(value, lm.Tensor):
        x = value.detach()
        return (x.astype("float32") if x.dtype == lm.bfloat16 else x).numpy().tobytes()
    return b"".join(map(bits, value)) if isinstance(value, (list, tuple)) else b""


def drawn(*shape: int, seed: int = 0) -> lm.Tensor:
    return lm.tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"), stop_gradient=False)


def places(high: int, *shape: int, seed: int = 1) -> lm.Tensor:
    return lm.asarray(np.random.default_rng(seed).integers(0, high, shape))


def spread(n: int) -> lm.Tensor:
    """A matrix that is its own transpose, positive definite."""
    a = drawn(n, n).detach()
    return lm.tensor((a @ a.mT / n + lm.eye(n)).numpy(), stop_gradient=False)


#: By name, calls large enough for several threads, whose sums could come in another order for another number of them:
#: reductions, products, factors, and everything that adds at places which an index names.
ORDERED = {
    "sum": (lm.sum, [drawn(700, 701)]),
    "mean": (lambda x: lm.mean(x, axis=0), [drawn(700, 701)]),
    "var": (lm.var, [drawn(700, 701)]),
    "logsumexp": (lambda x: lm.logsumexp(x, axis=0), [drawn(700, 701)]),
    "cumulative_sum": (lambda x: lm.cumulative_sum(x, axis=0), [drawn(70000, 3)]),
    "matmul": (lm.matmul, [drawn(300, 301), drawn(301, 200)]),
    "linear": (lm.linear, [drawn(300, 200), drawn(150, 200), drawn(150)]),
    "conv2d": (lambda x, w: lm.conv2d(x, w, padding=1), [drawn(8, 6, 20, 20), drawn(7, 6, 3, 3)]),
    "layer_norm": (lambda x, w: lm.layer_norm(x, [300], w, w), [drawn(700, 300), drawn(300)]),
    "batch_norm": (
        lambda x, w: lm.batch_norm(x, None, None, w, w, training=True),
        [drawn(50, 30, 40), drawn(30)],
    ),
    "embedding": (lambda w: lm.embedding(places(50, 20000), w), [drawn(50, 32)]),
    "embedding_bag": (lambda w: lm.embedding_bag(places(50, 400, 50), w), [drawn(50, 32)]),
    "scatter_add": (lambda x, s: lm.scatter_add(x, 0, places(50, 20000, 8), s), [drawn(50, 8), drawn(20000, 8)]),
    "scatter_reduce": (
        lambda x, s: lm.scatter_reduce(x, 0, places(50, 20000), s, "mean"),
        [drawn(50), drawn(20000)],
    ),
    "index_add": (lambda x, s: lm.index_add(x, 0, places(50, 20000), s), [drawn(50, 8), drawn(20000, 8)]),
    "index_put": (
        lambda x, s: lm.index_put(x, [places(50, 20000)], s, accumulate=True),
        [drawn(50, 8), drawn(20000, 8)],
    ),
    "index": (lambda x: x[places(50, 20000)], [drawn(50, 32)]),
    "gather": (lambda x: lm.gather(x, 0, places(50, 20000, 8)), [drawn(50, 8)]),
    "bincount": (lambda w: lm.bincount(places(50, 20000), weights=w.detach()), [drawn(20000)]),
    "max_pool2d": (lambda x: lm.max_pool2d(x, 3, stride=1), [drawn(8, 16, 40, 40)]),
    "avg_pool2d": (lambda x: lm.avg_pool2d(x, 3, stride=1), [drawn(8, 16, 40, 40)]),
    "cross_entropy": (lambda x: lm.cross_entropy(x, places(100, 2000)), [drawn(2000, 100)]),
    "linalg_solve": (lm.linalg.solve, [spread(200), drawn(200, 30)]),
    "linalg_cholesky": (lm.linalg.cholesky, [spread(200)]),
    "linalg_qr": (lambda a: tuple(lm.linalg.qr(a)), [drawn(220, 200)]),
    "linalg_eigh": (lambda a: lm.linalg.eigvalsh(a), [spread(150)]),
    "linalg_inv": (lm.linalg.inv, [spread(200)]),
    "linalg_det": (lm.linalg.slogdet, [spread(200)]),
}


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_sums_come_in_one_order(deterministic, name: str) -> None:
    call, inputs = ORDERED[name]
    seen = set()
    for threads in (1, 2, 3, 4):
        lm.set_num_threads(threads)
        outputs = call(*inputs)
        listed = [outputs] if isinstance(outputs, lm.Tensor) else list(outputs)
        followed = [y for y in listed if not y.stop_gradient]
        grads = lm.grad(followed, inputs, [lm.ones_like(y) for y in followed], allow_unused=True) if followed else []
        seen.add(bits([*listed, *(g for g in grads if g is not None)]))
    assert len(seen) == 1


def test_the_precision_of_products() -> None:
    assert lm.get_float32_matmul_precision() == "highest"
    try:
        for precision in ("high", "medium", "highest"):
            lm.set_float32_matmul_precision(precision)
            assert lm.get_float32_matmul_precision() == precision
    finally:
        lm.set_float32_matmul_precision("highest")
    for wrong, error in (("higher", ValueError), (None, TypeError), (1, TypeError)):
        with pytest.raises(error, match="set_float32_matmul_precision"):
            lm.set_float32_matmul_precision(wrong)
    assert lm.get_float32_matmul_precision() == "highest"

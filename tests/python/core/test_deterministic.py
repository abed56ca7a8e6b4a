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

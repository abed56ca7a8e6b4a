"""Memory statistics, threads, random state, configuration."""

import gc

import numpy as np
import pytest

import lamella as lm


def test_memory_statistics():
    gc.collect()
    lm.reset_peak_memory()
    before = lm.memory_allocated()
    x = lm.zeros((1000, 1000))
    assert lm.memory_allocated() - before >= 4_000_000
    del x
    assert lm.memory_allocated() == before
    assert lm.max_memory_allocated() >= before + 4_000_000
    assert lm.memory_reserved() >= lm.memory_allocated("cpu")
    lm.reset_peak_memory("cpu")
    assert lm.max_memory_allocated() < before + 4_000_000
    reserved = lm.memory_reserved()
    lm.empty_cache()
    lm.memory.empty_cache("cpu")
    assert lm.memory_reserved() <= reserved - 4_000_000
    assert lm.memory_allocated("meta") == 0
    for wrong, error in [("mars", ValueError), (3, TypeError)]:
        with pytest.raises(error):
            lm.memory_allocated(wrong)


def test_memory_of_steps():
    w = lm.tensor(np.ones((64, 64), np.float32), stop_gradient=False)
    x = lm.ones((32, 64))

    def steps(count):
        for _ in range(count):
            lm.tanh(x @ w).sum().backward()
            w.clear_grad()
        gc.collect()
        return lm.memory_allocated()

    before = steps(20)
    assert steps(500) == before


def test_threads():
    before = lm.get_num_threads()
    try:
        lm.set_num_threads(1)
        assert lm.get_num_threads() == 1
        for wrong in (0, -1, 2**40):
            with pytest.raises(ValueError, match="set_num_threads"):
                lm.set_num_threads(wrong)
        for wrong in ("2", 1.5, True, None):
            with pytest.raises(TypeError, match="set_num_threads"):
                lm.set_num_threads(wrong)
    finally:
        lm.set_num_threads(before)


def test_random_state():
    lm.seed(7)
    first = lm.rand((5,)).tolist()
    state = lm.random.get_rng_state()
    second = lm.rand((5,)).tolist()
    lm.random.set_rng_state(state)
    assert lm.rand((5,)).tolist() == second != first
    lm.random.seed(7)
    assert lm.rand((5,)).tolist() == first
    lm.seed(-1)
    for wrong in ("x", 1.5, None):
        with pytest.raises(TypeError):
            lm.seed(wrong)
        with pytest.raises(TypeError):
            lm.random.set_rng_state(wrong)
    with pytest.raises(ValueError):
        lm.seed(2**70)


def test_configuration(capsys):
    entries = lm.config.config()
    assert entries["version"] == lm.__version__ and entries["threads"] == lm.get_num_threads()
    lm.show_config()
    assert lm.__version__ in capsys.readouterr().out


def test_cuda_queries():
    count = lm.cuda.device_count()
    assert lm.cuda.is_available() == (count > 0)
    lm.cuda.synchronize()
    if not count:
        with pytest.raises(RuntimeError, match="cuda"):
            lm.ones(1).cuda()
        with pytest.raises(RuntimeError, match="cuda"):
            lm.zeros(1, device="cuda:0")
    with pytest.raises(ValueError):
        lm.ones(1).cuda(-1)

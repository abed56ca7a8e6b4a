"""Hooks of data parallel models, which take the mean of gradients and send less for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
import lamella.distributed as dist
from lamella.distributed import hooks

from .running import needs_gloo, together


@needs_gloo
def test_hooks_in_two_processes(tmp_path: Path) -> None:
    done = together("hooks", 2, tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_one_process_alone_asks_its_hook(dtype: str, rng: np.random.Generator) -> None:
    model = dist.DistributedDataParallel(lm.nn.Linear(3, 2), group="self")
    model.register_comm_hook(hooks.compressed(dtype))
    x = lm.asarray(rng.normal(size=(4, 3)).astype("float32"))
    model(x).sum().backward()
    expected = x.sum(axis=0).astype(dtype).astype("float32")
    np.testing.assert_array_equal(model.module.weight.grad.numpy(), np.stack([expected.numpy()] * 2))
    with pytest.raises(RuntimeError, match="there is a hook already"):
        model.register_comm_hook(hooks.mean)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: hooks.compressed("int32"), TypeError, "dtype is a floating one, not int32"),
        (lambda: hooks.PowerSGD(0), ValueError, "rank is an int of at least 1, not 0"),
        (lambda: hooks.PowerSGD(start=-1), ValueError, "start is an int of at least 0, not -1"),
        (lambda: hooks.PowerSGD(min_compression=0.0), ValueError, "min_compression is a number of more than 0"),
        (
            lambda: dist.DistributedDataParallel(lm.nn.Linear(1, 1), group="self").register_comm_hook(3),  # type: ignore[arg-type]
            TypeError,
            "hook is a function of a bucket, not 3",
        ),
    ],
)
def test_mistakes_are_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()

"""What does not fit into the caches is written past them, by stores that the smaller cases never reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lamella as lm

_UNITS = {"K": 10, "M": 20}


def last_cache() -> int:
    """In bytes; 0 where the system does not tell."""
    sizes = [path.read_text().strip() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max((int(size[:-1]) << _UNITS[size[-1]] for size in sizes), default=0)


#: Bytes, a little more than what is still kept in the caches; the kernels believe in no more than 64 MiB of these.
LARGE = max(32 << 20, min(last_cache(), 64 << 20)) + (1 << 20)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_outputs_larger_than_the_caches(dtype: str, shift: int, rng: np.random.Generator) -> None:
    """They are written past the caches, but for the parts of cache lines at their ends."""
    n = LARGE // np.dtype(dtype).itemsize + 5
    a = rng.integers(0, 2, n + shift).astype(dtype)[shift:]
    x = lm.asarray(a)
    expected = np.logical_not(a) if dtype == "bool" else a + a
    out = lm.zeros([n + shift], dtype=x.dtype)[shift:]
    compute = lm.logical_not if dtype == "bool" else lambda x, **out: lm.add(x, x, **out)
    compute(x, out=out)
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(compute(x).numpy(), expected)
    if dtype != "bool":
        np.testing.assert_array_equal((x[1:] * x[0]).numpy(), a[1:] * a[0])
        after = a + np.array(1, dtype)
        x.add_(1)
        np.testing.assert_array_equal(x.numpy(), after)


@pytest.mark.parametrize("columns", [3001, 4096])
def test_large_outputs_of_operands_in_other_orders(columns: int, rng: np.random.Generator) -> None:
    """They are written a tile at a time, of which rows begin and end within cache lines."""
    rows = LARGE // (4 * columns) + 1
    a, b = (rng.integers(-9, 9, shape).astype("float32") for shape in ((rows, columns), (columns, rows)))
    np.testing.assert_array_equal((lm.asarray(a) + lm.asarray(b).T).numpy(), a + b.T)


@pytest.mark.parametrize("width", [1024, 1000, 20000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "op",
    [
        lambda x: lm.softmax(x, axis=1),
        lambda x: lm.log_softmax(x, axis=1),
        lambda x: lm.layer_norm(
            x, (x.shape[1],), lm.arange(x.shape[1], dtype=x.dtype), lm.ones(x.shape[1], dtype=x.dtype)
        ),
        lambda x: lm.rms_norm(x, (x.shape[1],)),
    ],
    ids=["softmax", "log_softmax", "layer_norm", "rms_norm"],
)
def test_rows_larger_than_the_caches(
    op: Callable[[lm.Tensor], lm.Tensor], dtype: str, width: int, rng: np.random.Generator
) -> None:
    """Bit for bit what a few rows give by themselves."""
    rows = LARGE // 2 // (width * np.dtype(dtype).itemsize) + 3
    x = lm.asarray(rng.standard_normal((rows, width)).astype(dtype))
    whole = op(x).numpy()
    for first in range(0, rows, 100):
        np.testing.assert_array_equal(whole[first : first + 100], op(x[first : first + 100]).numpy())

"""Functions that are written in Python tell of arguments that are no tensors as those in C++ do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamella as lm

ONE = lm.ones([2, 2])
IMAGES = lm.ones([1, 1, 4, 4])

FFT = sorted(set(lm.fft.__all__) - {"fftfreq", "rfftfreq"})

CASES: dict[str, Callable[[Any], object]] = {
    **{name: getattr(lm.fft, name) for name in FFT},
    "fractional_max_pool2d": lambda x: lm.fractional_max_pool2d(x, 2, 3),
    "fractional_max_pool2d_with_indices": lambda x: lm.fractional_max_pool2d_with_indices(x, 2, 3),
    "fractional_max_pool3d": lambda x: lm.fractional_max_pool3d(x, 2, 3),
    "fractional_max_pool3d_with_indices": lambda x: lm.fractional_max_pool3d_with_indices(x, 2, 3),
    "cond": lm.linalg.cond,
    "matrix_rank": lambda x: lm.linalg.matrix_rank(x, rtol=0.1),
    "pinv": lambda x: lm.linalg.pinv(x, rtol=0.1),
    "lstsq": lambda x: lm.linalg.lstsq(x, ONE, rtol=0.1),
    "multi_dot": lambda x: lm.linalg.multi_dot([ONE, x]),
    "norm": lambda x: lm.linalg.norm(x, ord=2),
    "pca_lowrank": lm.linalg.pca_lowrank,
    "svd_lowrank": lm.linalg.svd_lowrank,
    "tensordot": lambda x: lm.tensordot(ONE, x),
    "tensorinv": lm.linalg.tensorinv,
    "tensorsolve": lambda x: lm.linalg.tensorsolve(ONE, x),
    "vander": lm.linalg.vander,
    "rrelu": lambda x: lm.rrelu(x, training=True),
    "triplet_margin_with_distance_loss": lambda x: lm.triplet_margin_with_distance_loss(ONE, x, ONE),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("wrong", [None, 3, 1.5, "x", (1.0, 2.0), {}, lm.float32], ids=repr)
def test_what_is_no_tensor_is_a_type_error(name: str, wrong: object) -> None:
    function = name.removesuffix("_with_indices")
    with pytest.raises(TypeError, match=rf"\[{function}\] [\w ]+: expected a Tensor, got {type(wrong).__name__}"):
        CASES[name](wrong)


def test_sizes_of_windows_are_whole_numbers() -> None:
    for size in (2.5, float("inf"), (2, 2.0), "2"):
        with pytest.raises(TypeError, match=r"\[fractional_max_pool2d\] kernel_size: expected whole numbers"):
            lm.fractional_max_pool2d(IMAGES, size, 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\[fractional_max_pool2d\] random_samples: expected a Tensor, got int"):
        lm.fractional_max_pool2d(IMAGES, 2, 2, random_samples=3)  # type: ignore[arg-type]

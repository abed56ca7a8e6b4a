"""Convolutions on CUDA by cuDNN, which the emulation stands in for, and without it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support import emulation

pytestmark = pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")

#: Sizes of x, weight, and settings. None is so small that the library's own loops take it.
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "rows": ((2, 6, 11), (8, 6, 3), {}),
    "rows, all settings": ((2, 6, 19), (8, 3, 4), {"stride": 2, "dilation": 2, "padding": 3, "groups": 2}),
    "images": ((2, 6, 7, 9), (5, 6, 3, 2), {}),
    "images, all settings": (
        (3, 12, 9, 8),
        (10, 6, 3, 2),
        {"stride": (2, 1), "dilation": (1, 2), "padding": (0, 1), "groups": 2},
    ),
    "last pixels unread": ((2, 6, 8, 8), (5, 6, 3, 3), {"stride": 2}),
    "uneven padding": ((2, 6, 8, 7), (5, 6, 2, 4), {"padding": "same"}),
    "pixels": ((2, 6, 5, 5), (5, 6, 1, 1), {}),
    "volumes": ((2, 5, 4, 6, 5), (4, 5, 2, 3, 3), {"stride": (1, 2, 1), "padding": 1}),
}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 4e-2}


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    lm.cuda.set_cudnn_enabled(True)
    lm.set_float32_matmul_precision("highest")


def convolution(x: lm.Tensor, weight: lm.Tensor, **settings: Any) -> lm.Tensor:
    return getattr(lm, f"conv{x.ndim - 2}d")(x, weight, **settings)


def given(name: str, dtype: str, device: str = "cuda") -> tuple[list[lm.Tensor], dict[str, Any]]:
    """x and weight, rounded to the dtype, and the settings."""
    x, weight, settings = CASES[name]
    rng = np.random.default_rng(1)
    tensors = [lm.asarray(rng.uniform(-1, 1, shape), device="cpu").astype(dtype).to(device) for shape in (x, weight)]
    for tensor in tensors:
        tensor.stop_gradient = False
    return tensors, settings


def all_of(name: str, dtype: str, device: str = "cuda") -> list[np.ndarray]:
    """The output, both gradients, and gradients of a gradient, in float64."""
    (x, weight), settings = given(name, dtype, device)
    y = convolution(x, weight, **settings)
    seed = lm.asarray(np.random.default_rng(2).uniform(-1, 1, y.shape), device="cpu").astype(dtype).to(device)
    dx, dweight = lm.grad([y], [x, weight], [seed], create_graph=True)
    again = lm.grad([(dx * dx).sum() + (dweight * dweight).sum()], [x, weight])
    return [one.detach().astype("float64").to("cpu").numpy() for one in (y, dx, dweight, *again)]


def compare(found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float) -> None:
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, atol=tolerance * max(1.0, float(np.abs(want).max())), rtol=0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CASES)
def test_with_and_without_cudnn_as_on_the_cpu(name: str, dtype: str) -> None:
    exact = all_of(name, dtype, "cpu")
    compare(all_of(name, dtype), exact, TOLERANCE[dtype])
    lm.cuda.set_cudnn_enabled(False)
    assert not lm.cuda.is_cudnn_enabled()
    compare(all_of(name, dtype), exact, TOLERANCE[dtype])


@pytest.mark.parametrize("name", ["rows", "images, all settings", "volumes"])
def test_each_is_one_launch(name: str) -> None:
    (x, weight), settings = given(name, "float32")
    for is_enabled in (True, False):
        lm.cuda.set_cudnn_enabled(is_enabled)
        y = convolution(x, weight, **settings)  # what is made once
        seed = lm.ones_like(y)
        lm.grad([y], [x, weight], [seed])
        with emulation.counted() as forward:
            y = convolution(x, weight, **settings)
        with emulation.counted() as backward:
            lm.grad([y], [x, weight], [seed])
        assert (forward == {"launches": 1}) == is_enabled, forward
        assert (backward == {"launches": 2}) == is_enabled, backward


def test_float32_is_rounded_only_where_it_may_be() -> None:
    """Algorithms that round, that use transforms, or whose bits vary compute what shows here."""
    exact = all_of("images", "float32", "cpu")
    lm.set_float32_matmul_precision("high")
    rounded = all_of("images", "float32")
    compare(rounded, exact, 4e-3)
    assert np.abs(rounded[0] - exact[0]).max() > 1e-5
    lm.set_float32_matmul_precision("highest")
    compare(all_of("images", "float32"), exact, 1e-5)


def test_where_it_has_no_algorithm_the_library_computes() -> None:
    rng = np.random.default_rng(3)
    x, weight = (lm.asarray(rng.uniform(-1, 1, shape), device="cuda") for shape in ((2, 7, 6, 6), (5, 7, 3, 3)))
    with emulation.without("cudnn"):
        y = convolution(x, weight)
        with emulation.counted() as launched:
            convolution(x, weight)
    assert launched["launches"] > 1
    np.testing.assert_allclose(
        y.to("cpu").numpy(), convolution(x.to("cpu"), weight.to("cpu")).numpy(), atol=1e-12, rtol=0
    )


def test_operands_that_begin_anywhere() -> None:
    """Views of one number less alignment have plans of their own."""
    (x, weight), settings = given("images", "float32", "cpu")
    expected = convolution(x, weight, **settings).detach().numpy()
    for offset in (0, 1, 2, 4):
        moved = [lm.zeros([tensor.size + offset], device="cuda") for tensor in (x, weight)]
        for room, tensor in zip(moved, (x, weight), strict=True):
            room[offset:] = tensor.detach().flatten().to("cuda")
        parts = [room[offset:].reshape(t.shape) for room, t in zip(moved, (x, weight), strict=True)]
        np.testing.assert_allclose(convolution(*parts, **settings).to("cpu").numpy(), expected, atol=1e-5)


def test_devices_have_plans_of_their_own() -> None:
    """Also those that are not the current one."""
    exact = all_of("images", "float32", "cpu")
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        compare(all_of("images", "float32", device), exact, 1e-5)


def test_threads_have_plans_of_their_own() -> None:
    exact = all_of("images", "float32", "cpu")
    with ThreadPoolExecutor(3) as pool:
        for work in [pool.submit(all_of, "images", "float32") for _ in range(3)]:
            compare(work.result(), exact, 1e-5)


def test_the_setting_is_checked() -> None:
    assert lm.cuda.cudnn_version() == 91900
    with pytest.raises(TypeError, match="set_cudnn_enabled"):
        lm.cuda.set_cudnn_enabled("yes")  # type: ignore[arg-type]
    assert lm.cuda.is_cudnn_enabled()


@pytest.mark.parametrize("library", ["", "/none.so"])
def test_without_the_library(library: str) -> None:
    program = """
import lamella as lm
x, w = lm.ones([2, 6, 5, 5], device="cuda"), lm.ones([5, 6, 3, 3], device="cuda")
print(lm.cuda.cudnn_version(), lm.conv2d(x, w).sum().item())
"""
    variables = {**os.environ, "LAMELLA_CUDNN_LIBRARY": library}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
    assert done.stdout.split() == ["None", str(54.0 * 90)], done.stderr

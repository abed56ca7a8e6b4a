"""Attention by kernels of CUDA beside that of the CPU: results, gradients, and what is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as lm
from support import emulation

pytestmark = pytest.mark.skipif(not lm.cuda.is_available(), reason="there is no CUDA device")

TOLERANCES = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
# Queries, keys, width of queries and of values: parts of tiles, several tiles, each width of tiles.
SIZES = [(1, 1, 1, 1), (5, 3, 4, 2), (20, 132, 64, 56), (33, 72, 65, 128), (140, 30, 13, 96), (20, 36, 200, 130)]
MASKS = ["none", "causal", "bools", "keys", "numbers"]
LAYOUTS = ["plain", "heads inside", "shared keys", "cut", "columns"]


def laid_out(array: np.ndarray, layout: str, shared: bool, dtype: str, device: str) -> lm.Tensor:
    """Returns a tensor [2, 3, rows, width] whose strides are those of a layout."""

    def put(part: np.ndarray) -> lm.Tensor:
        return lm.asarray(np.ascontiguousarray(part), dtype=dtype, device=device)

    if layout == "heads inside":
        return lm.swapaxes(put(np.swapaxes(array, 1, 2)), 1, 2)
    if layout == "shared keys" and shared:
        return put(array[:, :1])
    if layout == "cut":
        return put(np.pad(array, [(0, 0), (0, 0), (0, 0), (1, 2)]))[..., 1:-2]
    if layout == "columns":
        return lm.swapaxes(put(np.swapaxes(array, 2, 3)), 2, 3)
    return put(array)


def mask_of(kind: str, queries: int, keys: int, rng: np.random.Generator) -> np.ndarray | None:
    if kind == "none":
        return None
    if kind == "bools":
        keep = rng.random((2, 1, queries, keys)) < 0.6
        keep[0, 0, 0] = False
        return keep
    if kind == "keys":
        return rng.random((2, 1, 1, keys)) < 0.6
    numbers = rng.normal(size=(3, queries, keys)).astype("float32")
    numbers[1, -1] = -np.inf
    numbers[2, rng.random((queries, keys)) < 0.3] = -np.inf
    return numbers


def attend(
    arrays: list[np.ndarray], mask: np.ndarray | None, layout: str, dtype: str, device: str, **settings: Any
) -> list[np.ndarray]:
    """Returns the result and the gradients; on the CPU in float32 for 16 bits."""
    computed = dtype if device == "cuda" else "float32"
    *operands, seed = arrays
    tensors = [laid_out(a, layout, i > 0, computed, device) for i, a in enumerate(operands)]
    for tensor in tensors:
        tensor.stop_gradient = False
    if mask is not None:
        settings["attn_mask"] = lm.asarray(mask, dtype="bool" if mask.dtype == bool else computed, device=device)
    if "dropout_p" in settings:
        settings["generator"] = lm.Generator(device, 3)
    y = lm.scaled_dot_product_attention(*tensors, **settings)
    assert str(y.dtype).endswith(computed)
    gradients = lm.grad([y], tensors, [laid_out(seed, layout, False, computed, device)])
    return [x.detach().astype("float32").numpy() for x in (y, *gradients)]


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    return lm.asarray(array.astype("float32"), device="cpu").astype(dtype).astype("float32").numpy()


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_kernels_agree_with_the_cpu(
    sizes: tuple[int, int, int, int], mask: str, dtype: str, rng: np.random.Generator
) -> None:
    """Every other case has dropout, and each layout comes with each size."""
    queries, keys, width, value_width = sizes
    number = SIZES.index(sizes) + MASKS.index(mask) + list(TOLERANCES).index(dtype)
    shapes = [(2, 3, queries, width), (2, 3, keys, width), (2, 3, keys, value_width), (2, 3, queries, value_width)]
    arrays = [rounded(rng.normal(size=shape), dtype) for shape in shapes]
    given = mask_of("none" if mask == "causal" else mask, queries, keys, rng)
    if given is not None and given.dtype != bool:
        given = rounded(given, dtype)
    settings: dict[str, Any] = {"dropout_p": 0.3} if number % 2 else {}
    if mask == "causal":
        settings |= {"is_causal": True, "scale": -0.2}
    layout = LAYOUTS[number % len(LAYOUTS)]
    results = [attend(arrays, given, layout, dtype, device, **settings) for device in ("cuda", "cpu")]
    for actual, expected in zip(*results, strict=True):
        top = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCES[dtype] * top)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("masked", [False, True])
def test_groups_of_heads_share_keys(masked: bool, dtype: str, rng: np.random.Generator) -> None:
    q, k, v, seed = (rounded(rng.normal(size=(2, h, n, 6)), dtype) for h, n in [(4, 9), (2, 11), (2, 11), (4, 9)])
    mask = rng.random((2, 4, 9, 11)) < 0.7 if masked else None
    results = [
        attend([q, k, v, seed], mask, "heads inside", dtype, device, enable_gqa=True) for device in ("cuda", "cpu")
    ]
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCES[dtype] * max(1, np.abs(expected).max()))


def test_many_axes_of_matrices(rng: np.random.Generator) -> None:
    """Axes that lie in memory in an order in which no two of them are one."""
    shapes = [(2, 3, 2, 2, n, 4) for n in (5, 6, 6, 5)]
    arrays = [rng.normal(size=shape).astype("float32") for shape in shapes]
    results = []
    for device in ("cuda", "cpu"):
        q, k, v, seed = (
            lm.permute_dims(lm.asarray(a.transpose(3, 1, 0, 2, 4, 5).copy(), device=device), (2, 1, 3, 0, 4, 5))
            for a in arrays
        )
        tensors = [x.detach() for x in (q, k, v)]
        for tensor in tensors:
            tensor.stop_gradient = False
        y = lm.scaled_dot_product_attention(*tensors)
        results.append([x.detach().numpy() for x in (y, *lm.grad([y], tensors, [seed]))])
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_nothing_to_see_or_to_compute(dtype: str) -> None:
    def ones(*shape: int) -> lm.Tensor:
        x = lm.ones(list(shape), dtype=dtype, device="cuda")
        x.stop_gradient = False
        return x

    for shapes in [((2, 0, 3), (2, 4, 3), (2, 4, 5)), ((0, 2, 3), (0, 4, 3), (0, 4, 5)), ((2, 3), (0, 3), (0, 5))]:
        tensors = [ones(*shape) for shape in shapes]
        y = lm.scaled_dot_product_attention(*tensors)
        assert y.shape == (*shapes[0][:-1], 5)
        for x in (y, *lm.grad([y.sum()], tensors)):
            assert not x.detach().astype("float32").numpy().any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_have_the_same_bits_in_each_run(dtype: str, rng: np.random.Generator) -> None:
    arrays = [rng.normal(size=(2, 3, 70, 40)).astype("float32") for _ in range(4)]
    first, second = (attend(arrays, None, "plain", dtype, "cuda", dropout_p=0.2) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_second_derivatives_drop_the_same(rng: np.random.Generator) -> None:
    """The gradient that builds a graph is composed of operators, and has the kernels' bits of dropout."""
    arrays = [lm.asarray(rng.normal(size=(2, 7, 5)).astype("float32"), device="cuda") for _ in range(3)]
    for tensor in arrays:
        tensor.stop_gradient = False
    y = lm.scaled_dot_product_attention(*arrays, dropout_p=0.4, generator=lm.Generator("cuda", 5))
    by_kernels = lm.grad([y.sum()], arrays, retain_graph=True)
    composed = lm.grad([y.sum()], arrays, create_graph=True)
    for a, b in zip(by_kernels, composed, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), atol=1e-5)


@pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA")
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_it_is_one_launch_and_three_for_the_gradients(dtype: str) -> None:
    tensors = [lm.ones([2, 3, 4], dtype=dtype, device="cuda") for _ in range(3)]
    for tensor in tensors:
        tensor.stop_gradient = False
    with emulation.counted() as forward:
        y = lm.scaled_dot_product_attention(*tensors)
    seed = lm.ones([2, 3, 4], dtype=dtype, device="cuda")
    with emulation.counted() as backward:
        lm.grad([y], tensors, [seed])
    assert (forward, backward) == ({"launches": 1}, {"launches": 3})


@pytest.mark.skipif(emulation.library() is None, reason="this is no build on the emulation of CUDA, with its cuDNN")
@pytest.mark.parametrize("forward_alone", [0, 3])
def test_cudnn_takes_attention_of_sizes_that_return(forward_alone: int) -> None:
    """Its results lie as the queries do; the kernels compute their gradients until there is a plan for these, too."""
    generator = np.random.default_rng(2)
    shape = (1, 257 + forward_alone, 2, 128)  # [batch, position, head, element]
    arrays = [generator.normal(size=shape) for _ in range(4)]

    def run(device: str, wants_gradients: bool = True) -> tuple[lm.Tensor, list[np.ndarray]]:
        x = [lm.asarray(array, dtype="float32", device=device).astype("bfloat16") for array in arrays]
        for tensor in x[:3]:
            tensor.stop_gradient = not wants_gradients
        y = lm.nn.functional.scaled_dot_product_attention(*(t.swapaxes(1, 2) for t in x[:3]), is_causal=True)
        grads = lm.grad([y], x[:3], [x[3].swapaxes(1, 2)]) if wants_gradients else []
        return y, [t.detach().astype("float32").numpy() for t in (y, *grads)]

    _, expected = run("cpu")
    for _ in range(forward_alone):
        run("cuda", wants_gradients=False)
    for call in range(3):
        y, found = run("cuda")
        of_cudnn = call + forward_alone >= 2
        assert (y.strides[1] < y.strides[2]) == of_cudnn
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=0.02 * np.abs(want).max())

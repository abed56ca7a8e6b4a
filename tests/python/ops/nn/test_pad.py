"""Padding against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm

NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize("pad", [(1, 2), (2, 0, 0, 1), (1, 1, 2, 2, 0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_pad(dtype: str, pad: tuple[int, ...], mode: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(2, 3, 4)) * 5).astype(dtype)
    widths = [(0, 0)] * (3 - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    if mode == "reflect" and len(pad) == 6:
        widths[0] = (0, 1)
    expected = np.pad(x, widths, NUMPY_MODES[mode], **({"constant_values": 1} if mode == "constant" else {}))
    got = lm.pad(lm.asarray(x), pad, mode, 1)
    assert got.dtype == getattr(lm, dtype)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_pad_cuts_and_refuses() -> None:
    x = lm.arange(5)
    assert lm.pad(x, (-1, -2)).tolist() == [1, 2]
    assert lm.pad(x, (-1, 2), value=7).tolist() == [1, 2, 3, 4, 7, 7]
    assert lm.pad(x, ()).tolist() == [0, 1, 2, 3, 4]
    assert lm.pad(lm.zeros([0]), (1, 1)).tolist() == [0, 0]
    for pad, mode in [
        ((1,), "constant"),
        ((1, 1, 1, 1), "constant"),
        ((-3, -3), "constant"),
        ((5, 0), "reflect"),
        ((0, 6), "circular"),
        ((1, 1), "mirror"),
    ]:
        with pytest.raises(ValueError, match=r"^\[pad\]"):
            lm.pad(x, pad, mode)
    with pytest.raises(ValueError, match=r'^\[pad\] mode "replicate"'):
        lm.pad(lm.zeros([0]), (1, 1), "replicate")


@pytest.mark.parametrize("mode", NUMPY_MODES)
def test_gradients_of_pad(mode: str, rng: np.random.Generator) -> None:
    for pad in ((2, 1), (-1, 2), (1, 0, 2, -1), (1, 2, 1, 1, 0, 1)):
        if mode == "reflect" and len(pad) == 6:
            continue  # the first axis has no element beside its edge

        def padded(x: lm.Tensor, pad: tuple[int, ...] = pad) -> lm.Tensor:
            return lm.square(lm.pad(x, pad, mode, 0.5))

        x = lm.asarray(rng.normal(size=(1, 4, 4)))
        x.stop_gradient = False
        assert lm.autograd.gradcheck(padded, [x]) and lm.autograd.gradgradcheck(padded, [x])


def test_gradient_of_pad_in_low_precision() -> None:
    x = lm.ones([3], dtype="float16")
    x.stop_gradient = False
    lm.pad(x, (0, 4000), "replicate").backward(lm.ones([4003], dtype="float16"))
    # Summed in float32, and rounded once: 2048 + 1 is 2048 in float16.
    assert x.grad.tolist() == [1, 1, 4000]


def test_pad_of_examples_and_huge_sizes(rng: np.random.Generator) -> None:
    x = lm.asarray(rng.normal(size=(3, 2, 4)))
    for mode in NUMPY_MODES:
        got = lm.autograd.vmap(lambda e, mode=mode: lm.pad(e, (1, 2, 1, 0), mode))(x)
        np.testing.assert_array_equal(got.numpy(), lm.pad(x, (1, 2, 1, 0), mode).numpy())
    assert lm.pad(lm.zeros([2, 0]), (0, 0, 1, 1), "replicate").shape == (4, 0)
    assert lm.pad(lm.zeros([3], device="meta"), (1 << 40, 0)).shape == ((1 << 40) + 3,)
    for pad in ((1 << 62, 1 << 62), ((1 << 63) - 1, 0), (-(1 << 63), 0)):
        with pytest.raises(ValueError, match=r"\[pad\]|elements"):
            lm.pad(lm.zeros([3]), pad)

"""Layers that put elements around their input, against numpy's pad."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import lamella as lm
from lamella import nn

RNG = np.random.default_rng(11)
#: Layers of each kind, their modes in numpy, and what they are made with beside the padding.
KINDS = {
    "Constant": ("constant", (0.5,), {"constant_values": 0.5}),
    "Zero": ("constant", (), {}),
    "Reflection": ("reflect", (), {}),
    "Replication": ("edge", (), {}),
    "Circular": ("wrap", (), {}),
}
SIZES = {1: (5,), 2: (4, 5), 3: (3, 4, 5)}


def widths(padding, axes):
    """The padding as numpy wants it, of as many axes as the input has."""
    sides = [padding] * 2 * axes if isinstance(padding, int) else list(padding)
    return [(0, 0)] * 2 + [(sides[i], sides[i + 1]) for i in range(2 * axes - 2, -1, -2)]


@pytest.mark.parametrize("axes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_padding(kind, axes):
    mode, settings, options = KINDS[kind]
    x = RNG.normal(size=(2, 3, *SIZES[axes]))
    for padding in (2, 0, tuple(range(1, 2 * axes + 1))[::-1] if axes == 1 else (1, 2, 0, 1, 1, 0)[: 2 * axes]):
        layer = getattr(nn, f"{kind}Pad{axes}d")(padding, *settings)
        expected = np.pad(x, widths(padding, axes), mode, **options)
        np.testing.assert_array_equal(layer(lm.asarray(x)).numpy(), expected)
        np.testing.assert_array_equal(layer(lm.asarray(x[0])).numpy(), expected[0])
        np.testing.assert_array_equal(copy.deepcopy(layer)(lm.asarray(x)).numpy(), expected)
    assert layer(lm.zeros((0, 3, *SIZES[axes]))).shape == (0, *expected.shape[1:])
    assert f"{kind}Pad{axes}d(padding={layer.padding}" in repr(layer)
    assert lm.autograd.check_layer(layer, lm.tensor(x[:1, :1], stop_gradient=False), check_options={"fast_mode": True})


@pytest.mark.parametrize("axes", SIZES)
def test_negative_padding_cuts(axes):
    x = RNG.normal(size=(2, 3, *SIZES[axes]))
    cut = x[(slice(None), slice(None), *[slice(1, -1)] * axes)]
    np.testing.assert_array_equal(getattr(nn, f"ZeroPad{axes}d")(-1)(lm.asarray(x)).numpy(), cut)


def test_bad_padding():
    for make, error, message in (
        (lambda: nn.ZeroPad2d((1, 2)), ValueError, r"\[ZeroPad2d\] padding takes one number or 4, not 2"),
        (lambda: nn.ReflectionPad1d(0.5), TypeError, r"\[ReflectionPad1d\] padding is an int or 2"),
        (lambda: nn.CircularPad1d(1)(lm.ones((3,))), ValueError, r"\[CircularPad1d\] x has 2 or 3 axes"),
        (lambda: nn.ConstantPad3d(1, 0.0)(lm.ones((3, 3, 3))), ValueError, r"\[ConstantPad3d\] x has 4 or 5 axes"),
        (lambda: nn.ReflectionPad1d(5)(lm.ones((1, 2, 5))), ValueError, r"\[pad\]"),
    ):
        with pytest.raises(error, match=message):
            make()

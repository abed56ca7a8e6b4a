"""Batch norms that became part of the layer before them."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.nn import utils

RNG = np.random.default_rng(18)
SIZES = {1: (7,), 2: (5, 6), 3: (4, 5, 4)}


def trained(norm):
    """A batch norm in evaluation with statistics and parameters of its own."""
    for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
        if tensor is not None:
            nn.init.uniform_(tensor, 0.5, 2.0)
    return norm.eval()


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("axes", SIZES)
def test_convolutions(axes, transpose, groups, bias, affine):
    kind = getattr(nn, f"Conv{'Transpose' if transpose else ''}{axes}d")
    conv = kind(4, 6, 2, stride=2, padding=1, groups=groups, bias=bias, dtype="float64").eval()
    norm = trained(getattr(nn, f"BatchNorm{axes}d")(6, eps=0.01, affine=affine, dtype="float64"))
    x = lm.asarray(RNG.normal(size=(2, 4, *SIZES[axes])))
    fused = utils.fuse_conv_bn_eval(conv, norm, transpose)
    np.testing.assert_allclose(fused(x).detach().numpy(), norm(conv(x)).detach().numpy(), rtol=1e-10, atol=1e-12)
    assert type(fused) is kind and list(fused.state_dict()) == ["weight", "bias"] and fused.weight is not conv.weight


@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers(bias):
    linear = nn.Linear(3, 4, bias=bias, dtype="float64").eval()
    norm = trained(nn.BatchNorm1d(4, dtype="float64"))
    x = lm.asarray(RNG.normal(size=(5, 3)))
    fused = utils.fuse_linear_bn_eval(linear, norm)
    np.testing.assert_allclose(fused(x).detach().numpy(), norm(linear(x)).detach().numpy(), rtol=1e-10)


def test_what_is_refused():
    linear, norm = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    for call, message in (
        (lambda: utils.fuse_linear_bn_eval(nn.Linear(3, 4), norm), r"\[fuse_linear_bn_eval\] .* call eval\(\) first"),
        (
            lambda: utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(3).eval()),
            "bn has 3 features, the layer .* 4",
        ),
        (lambda: utils.fuse_conv_bn_eval(linear, nn.BatchNorm1d(4, track_running_stats=False).eval()), "no running"),
    ):
        with pytest.raises(ValueError, match=message):
            call()

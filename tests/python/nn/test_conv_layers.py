"""Layers of convolution, pooling and normalization."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import lamella as lm
from lamella import nn

X = np.random.default_rng(5).normal(size=(2, 4, 8, 8)).astype("float32")


def test_convolutions() -> None:
    layer = nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2)
    assert layer.weight.shape == (6, 2, 3, 2) and layer.bias.shape == (6,)
    y = layer(lm.asarray(X))
    np.testing.assert_array_equal(
        y.detach().numpy(), lm.conv2d(lm.asarray(X), layer.weight, layer.bias, 2, 1, 1, 2).detach().numpy()
    )
    y.sum().backward()
    assert layer.weight.grad.shape == layer.weight.shape
    np.testing.assert_allclose(layer.bias.grad.numpy(), np.full(6, y.size / 6))
    same = nn.Conv2d(4, 6, 3, padding="same", bias=False, dtype="float64")
    assert same.bias is None and same.weight.dtype == lm.float64
    assert same(lm.asarray(X)).shape == (2, 6, 8, 8)
    assert nn.Conv1d(8, 3, 3)(lm.asarray(X[0])).shape == (4, 3, 6)
    assert nn.Conv3d(2, 1, 2)(lm.asarray(X)).shape == (1, 3, 7, 7)
    assert len(list(nn.Conv1d(1, 1, 1, bias=False).parameters())) == 1


def test_transposed_convolutions() -> None:
    x = lm.asarray(X)
    layer = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
    assert layer.weight.shape == (4, 3, 3, 3)
    assert layer(x).shape == (2, 6, 16, 16)
    assert layer(x, output_size=(15, 16)).shape == (2, 6, 15, 16)
    np.testing.assert_array_equal(layer(x, [16, 16]).detach().numpy(), layer(x).detach().numpy())
    with pytest.raises(ValueError, match=r"output_size lies between \(15, 15\) and \(16, 16\)"):
        layer(x, (17, 16))
    with pytest.raises(ValueError, match="output_size takes one number or 2"):
        layer(x, (16, 16, 16))
    assert nn.ConvTranspose1d(8, 3, 2, stride=2)(lm.asarray(X[0])).shape == (4, 3, 16)
    assert nn.ConvTranspose3d(2, 1, 2)(x).shape == (1, 5, 9, 9)


def test_starting_values_of_convolutions() -> None:
    lm.seed(3)
    weight = nn.Conv2d(16, 64, 5).weight.detach().numpy()
    bound = 1 / math.sqrt(16 * 25)
    assert np.abs(weight).max() <= bound and abs(weight.std() - bound / math.sqrt(3)) < 0.02 * bound


def test_convolutions_refuse() -> None:
    with pytest.raises(TypeError, match=r"\[Conv2d\] in_channels is an int"):
        nn.Conv2d(2.0, 2, 1)
    with pytest.raises(ValueError, match=r"\[Conv2d\] groups divides both channels"):
        nn.Conv2d(3, 2, 1, groups=2)
    with pytest.raises(ValueError, match=r"\[Conv2d\] kernel_size takes one number or 2"):
        nn.Conv2d(2, 2, (1, 1, 1))
    with pytest.raises(ValueError, match=r"\[Conv1d\] padding is a number for each axis"):
        nn.Conv1d(2, 2, 1, padding="full")
    with pytest.raises(TypeError, match=r"\[ConvTranspose1d\] padding"):
        nn.ConvTranspose1d(2, 2, 1, padding="same")
    with pytest.raises(ValueError, match=r"\[conv1d\]"):
        nn.Conv1d(2, 2, 3)(lm.ones([1, 3, 5]))


def test_pools() -> None:
    x = lm.asarray(X)
    for layer, expected in [
        (nn.MaxPool2d(2), lm.max_pool2d(x, 2)),
        (nn.MaxPool2d(3, 2, 1, 1, ceil_mode=True), lm.max_pool2d(x, 3, 2, 1, ceil_mode=True)),
        (nn.MaxPool1d(2), lm.max_pool1d(x[0], 2)),
        (nn.MaxPool3d(2), lm.max_pool3d(x, 2)),
        (nn.AvgPool1d(2, padding=1, count_include_pad=False), lm.avg_pool1d(x[0], 2, 2, 1, False, False)),
        (nn.AvgPool2d(3, divisor_override=4), lm.avg_pool2d(x, 3, divisor_override=4)),
        (nn.AvgPool3d(2, ceil_mode=True), lm.avg_pool3d(x, 2, ceil_mode=True)),
        (nn.LPPool1d(2, 2), lm.lp_pool1d(x[0], 2, 2)),
        (nn.LPPool2d(2, 2, 1), lm.lp_pool2d(x, 2, 2, 1)),
        (nn.LPPool3d(4, 2), lm.lp_pool3d(x, 4, 2)),
        (nn.AdaptiveAvgPool1d(3), lm.adaptive_avg_pool1d(x[0], 3)),
        (nn.AdaptiveAvgPool2d((1, 2)), lm.adaptive_avg_pool2d(x, (1, 2))),
        (nn.AdaptiveAvgPool3d(2), lm.adaptive_avg_pool3d(x, 2)),
        (nn.AdaptiveMaxPool1d(3), lm.adaptive_max_pool1d(x[0], 3)),
        (nn.AdaptiveMaxPool2d(3), lm.adaptive_max_pool2d(x, 3)),
        (nn.AdaptiveMaxPool3d(2), lm.adaptive_max_pool3d(x, 2)),
    ]:
        given = x[0] if type(layer).__name__.endswith("1d") else x
        np.testing.assert_array_equal(layer(given).numpy(), expected.numpy())
        assert not list(layer.parameters()) and repr(layer)
    values, places = nn.MaxPool2d(2, return_indices=True)(x)
    np.testing.assert_array_equal(values.numpy(), lm.max_pool2d(x, 2).numpy())
    assert places.dtype == lm.int64
    assert len(nn.AdaptiveMaxPool1d(2, return_indices=True)(x[0])) == 2


def test_norms() -> None:
    x = lm.asarray(X)
    for layer, expected in [
        (nn.LayerNorm(8), lm.layer_norm(x, 8)),
        (nn.LayerNorm((4, 8, 8), eps=0.1, elementwise_affine=False), lm.layer_norm(x, (4, 8, 8), eps=0.1)),
        (nn.RMSNorm((8, 8)), lm.rms_norm(x, (8, 8))),
        (nn.GroupNorm(2, 4), lm.group_norm(x, 2)),
        (nn.InstanceNorm2d(4, affine=True), lm.instance_norm(x)),
        (nn.InstanceNorm1d(4), lm.reshape(lm.instance_norm(lm.reshape(x, (2, 4, 64))), x.shape)),
        (nn.LocalResponseNorm(3, k=2.0), lm.local_response_norm(x, 3, k=2.0)),
    ]:
        given = lm.reshape(x, (2, 4, 64)) if isinstance(layer, nn.InstanceNorm1d) else x
        got = lm.reshape(layer(given), x.shape)
        np.testing.assert_allclose(got.detach().numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)
        assert repr(layer)
    one = nn.InstanceNorm2d(4)(x[0])
    np.testing.assert_array_equal(one.numpy(), lm.instance_norm(x[:1])[0].numpy())
    assert nn.InstanceNorm3d(2)(lm.ones([1, 2, 2, 2, 2])).shape == (1, 2, 2, 2, 2)
    assert nn.LayerNorm(8, bias=False).bias is None
    layer = nn.GroupNorm(2, 4)
    layer.weight.grad = None
    layer(x).sum().backward()
    assert layer.weight.grad.shape == (4,)
    with pytest.raises(ValueError, match=r"\[InstanceNorm2d\] x has 3 or 4 axes"):
        nn.InstanceNorm2d(4)(x[0, 0])
    with pytest.raises(ValueError, match=r"\[GroupNorm\] num_groups"):
        nn.GroupNorm(3, 4)
    with pytest.raises(ValueError, match=r"\[LayerNorm\] normalized_shape"):
        nn.LayerNorm(())


def test_instance_norm_with_running_statistics() -> None:
    x = lm.asarray(X)
    layer = nn.InstanceNorm2d(4, track_running_stats=True)
    np.testing.assert_allclose(layer(x).numpy(), nn.InstanceNorm2d(4)(x).numpy(), rtol=1e-5, atol=1e-6)
    mean, var = X.mean((2, 3)).mean(0), X.var((2, 3), ddof=1).mean(0)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.1 * mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * var, rtol=1e-5)
    assert set(layer.state_dict()) == {"running_mean", "running_var", "num_batches_tracked"}
    layer.eval()
    before = layer.running_mean.tolist()
    expected = lm.instance_norm(
        x, running_mean=layer.running_mean, running_var=layer.running_var, use_input_stats=False
    )
    np.testing.assert_array_equal(layer(x).numpy(), expected.numpy())
    np.testing.assert_array_equal(layer(x[0]).numpy(), expected[0].numpy())
    assert layer.running_mean.tolist() == before and layer.num_batches_tracked.item() == 1
    plain = nn.InstanceNorm2d(4, momentum=None, track_running_stats=True)
    for part in (x[:1], x[1:]):
        plain(part)
    np.testing.assert_allclose(plain.running_mean.numpy(), mean, rtol=1e-4, atol=1e-6)
    assert nn.InstanceNorm2d(4).running_mean is None and "track_running_stats=True" in repr(layer)


def test_batch_norm() -> None:
    x = lm.asarray(X)
    layer = nn.BatchNorm2d(4)
    y = layer(x)
    np.testing.assert_allclose(y.detach().numpy().mean((0, 2, 3)), 0, atol=1e-6)
    mean, var = X.mean((0, 2, 3)), X.var((0, 2, 3), ddof=1)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.1 * mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * var, rtol=1e-5)
    assert layer.num_batches_tracked.item() == 1
    assert set(layer.state_dict()) == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    layer.eval()
    expected = (X - layer.running_mean.numpy()[:, None, None]) / np.sqrt(
        layer.running_var.numpy()[:, None, None] + 1e-5
    )
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    assert layer.num_batches_tracked.item() == 1
    layer.reset_running_stats()
    assert layer.num_batches_tracked.item() == 0 and (layer.running_var.numpy() == 1).all()
    with pytest.raises(ValueError, match=r"\[BatchNorm2d\] x has 4 axes"):
        layer(x[0])


def test_batch_norm_of_all_batches() -> None:
    layer = nn.BatchNorm1d(4, momentum=None, affine=False)
    batches = [lm.asarray(X[0].T.copy() * scale) for scale in (1, 2, 5)]
    for batch in batches:
        layer(lm.reshape(batch, (-1, 4)))
    means = [b.numpy().reshape(-1, 4).mean(0) for b in batches]
    np.testing.assert_allclose(layer.running_mean.numpy(), np.mean(means, 0), rtol=1e-4, atol=1e-6)
    without = nn.BatchNorm1d(4, track_running_stats=False)
    assert without.running_mean is None and "running_mean" not in without.state_dict()
    x = lm.asarray(X[:, :, 0])
    np.testing.assert_array_equal(without(x).detach().numpy(), without.eval()(x).detach().numpy())
    assert nn.BatchNorm3d(2)(lm.ones([2, 2, 1, 1, 3])).shape == (2, 2, 1, 1, 3)


def test_a_network_learns() -> None:
    """Stripes against columns."""
    lm.seed(0)
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 64)
    images = rng.normal(size=(64, 1, 8, 8)).astype("float32")
    stripes = np.tile(np.array([1, -1], "float32"), 4)
    images += np.where(labels[:, None, None, None] == 0, stripes[:, None], stripes[None, :])
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.GroupNorm(2, 8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 2),
    )
    optimizer = lm.optim.Adam(net.parameters(), lr=0.02)
    x, t = lm.asarray(images), lm.asarray(labels)
    losses = []
    for _ in range(25):
        loss = lm.cross_entropy(net(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]
    net.eval()
    assert (net(x).detach().numpy().argmax(1) == labels).all()


MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("padding", [1, (2, 1), "same", "valid"])
@pytest.mark.parametrize("mode", MODES)
def test_padding_modes_of_convolutions(mode: str, padding: int | tuple[int, int] | str) -> None:
    layer = nn.Conv2d(4, 3, (4, 2), padding=padding, dilation=(1, 2), padding_mode=mode)
    sides = {"same": [(1, 2), (1, 1)], "valid": [(0, 0)] * 2, 1: [(1, 1)] * 2}.get(padding, [(2, 2), (1, 1)])
    x = np.pad(X, [(0, 0), (0, 0), *sides], MODES[mode])
    expected = lm.conv2d(lm.asarray(x), layer.weight, layer.bias, dilation=(1, 2))
    np.testing.assert_allclose(layer(lm.asarray(X)).detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert ("padding_mode" in repr(layer)) == (mode != "zeros")


def test_padding_modes_refuse() -> None:
    with pytest.raises(ValueError, match=r"\[Conv1d\] padding_mode is one of 'zeros', .* not 'mirror'"):
        nn.Conv1d(1, 1, 1, padding_mode="mirror")


def test_sync_batch_norm() -> None:
    net = nn.Sequential(nn.Conv2d(4, 4, 1), nn.Sequential(nn.BatchNorm2d(4)), nn.BatchNorm1d(8))
    x = lm.asarray(X)
    twin = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(net))
    assert [type(m).__name__ for m in twin.modules()] == [
        *("Sequential", "Conv2d", "Sequential", "SyncBatchNorm", "SyncBatchNorm")
    ]
    for training in (True, False):
        net.train(training)
        twin.train(training)
        a, b = (m[1](m[0](x)).detach().numpy() for m in (net, twin))
        np.testing.assert_array_equal(a, b)
    assert list(twin.state_dict()) == list(net.state_dict())
    np.testing.assert_array_equal(twin[1][0].running_mean.numpy(), net[1][0].running_mean.numpy())
    assert nn.SyncBatchNorm(4)(lm.ones((2, 4))).shape == (2, 4)
    alone = nn.BatchNorm2d(4)
    shared = nn.SyncBatchNorm.convert_sync_batchnorm(alone)
    assert shared.weight is alone.weight and shared.running_var is alone.running_var
    with pytest.raises(ValueError, match=r"\[SyncBatchNorm\] x has at least 2 axes"):
        shared(lm.ones((4,)))


@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.InstanceNorm1d])
def test_statistics_that_are_no_longer_tracked(kind, rng):
    layer = kind(3, track_running_stats=True)
    x = lm.asarray(rng.standard_normal((4, 3, 5)).astype("float32"))
    layer(x)
    before = layer.running_mean.tolist(), layer.running_var.tolist(), layer.num_batches_tracked.item()
    layer.track_running_stats = False
    of_batch = layer(x)
    assert (layer.running_mean.tolist(), layer.running_var.tolist(), layer.num_batches_tracked.item()) == before
    layer.eval()
    # Batch norm still has statistics for evaluation; instance norm goes by each example.
    assert bool(lm.all(layer(x) == of_batch)) == (kind is nn.InstanceNorm1d)

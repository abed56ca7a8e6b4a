"""GradScaler: scaled losses, skipped steps, a factor that adapts."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


def training(lr: float = 0.1) -> tuple[lm.Tensor, lm.optim.SGD]:
    w = lm.tensor([1.0, 2.0], stop_gradient=False)
    return w, lm.optim.SGD([w], lr=lr)


def test_a_step_is_that_of_the_unscaled_loss() -> None:
    plain, plain_optimizer = training()
    (plain * plain).sum().backward()
    plain_optimizer.step()

    w, optimizer = training()
    scaler = lm.amp.GradScaler(init_scale=1024.0)
    scaler.scale((w * w).sum()).backward()
    np.testing.assert_allclose(w.grad.numpy(), [2048.0, 4096.0])
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(w.detach().numpy(), plain.detach().numpy(), rtol=1e-6)
    assert scaler.get_scale() == 1024.0


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_step_with_infinite_gradients_is_left_out(bad: float) -> None:
    w, optimizer = training()
    scaler = lm.amp.GradScaler(init_scale=8.0)
    scaler.scale((w * lm.asarray([1.0, bad])).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert w.tolist() == [1.0, 2.0] and scaler.get_scale() == 4.0


def test_the_factor_grows() -> None:
    w, optimizer = training(0.0)
    scaler = lm.amp.GradScaler(init_scale=2.0, growth_factor=4.0, growth_interval=2)
    scales = []
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale(w.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [2.0, 8.0, 8.0, 32.0]
    other = lm.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(ValueError, match="lacks"):
        other.load_state_dict({"scale": 1.0})


def test_gradients_can_be_unscaled_first() -> None:
    w, optimizer = training()
    scaler = lm.amp.GradScaler(init_scale=16.0)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="twice"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="twice"):
        scaler.step(optimizer)
    np.testing.assert_allclose(w.detach().numpy(), [0.9, 1.9], rtol=1e-6)
    scaler.update()
    scaler.update(new_scale=3.0)
    assert scaler.get_scale() == 3.0
    with pytest.raises(RuntimeError, match="after step"):
        scaler.update()


def test_disabled() -> None:
    w, optimizer = training()
    scaler = lm.amp.GradScaler(enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(w.detach().numpy(), [0.9, 1.9], rtol=1e-6)


def test_errors() -> None:
    w, optimizer = training()
    scaler = lm.amp.GradScaler()
    for options in (
        {"init_scale": 0.0},
        {"growth_factor": 1.0},
        {"backoff_factor": 1.0},
        {"growth_interval": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            lm.amp.GradScaler(**options)
    with pytest.raises(TypeError):
        scaler.scale("loss")
    with pytest.raises(RuntimeError, match="closure"):
        scaler.step(optimizer, closure=lambda: w.sum())
    half = lm.tensor([1.0], dtype="float16", stop_gradient=False)
    (half * 1).backward()
    with pytest.raises(ValueError, match="float16"):
        scaler.unscale_(lm.optim.SGD([half]))
    a, b = scaler.scale((lm.ones([1]), [lm.ones([1])]))
    assert a.item() == b[0].item() == 65536.0


def test_training_in_mixed_precision() -> None:
    rng = np.random.default_rng(0)
    x = lm.asarray(rng.standard_normal((64, 8)).astype("float32"))
    target = x @ lm.asarray(rng.standard_normal((8, 1)).astype("float32"))
    lm.seed(0)
    model = lm.nn.Linear(8, 1)
    optimizer = lm.optim.Adam(model.parameters(), lr=0.05)
    scaler = lm.amp.GradScaler()
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        with lm.autocast(dtype=lm.float16):
            loss = lm.mse_loss(model(x), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]

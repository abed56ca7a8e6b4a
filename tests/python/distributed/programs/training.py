"""Trains on several processes and compares with one; with the argument "forever" it does not end."""

import copy
import os
import pickle
import sys

import numpy as np

import lamella as lm
import lamella.distributed as dist
from lamella.nn import functional as F
from support import default_device

dist.init_process_group(os.environ.get("LAMELLA_TEST_BACKEND"), timeout=20)
rank, n = dist.get_rank(), dist.get_world_size()
default_device.use_own(rank)
rng = np.random.default_rng(3)
X = lm.asarray(rng.normal(size=(4 * n, 6)).astype("float64"))
T = lm.asarray(rng.integers(0, 3, 4 * n))
SHARE = slice(rank * 4, rank * 4 + 4)


class Square(lm.PyLayer):
    """A layer of its own in the model."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return 2 * x * dy


class Model(lm.nn.Module):
    """Layers, one of them tied to another, a checkpoint, and a PyLayer."""

    def __init__(self, seed):
        super().__init__()
        lm.seed(seed)
        self.first = lm.nn.Linear(6, 8, dtype="float64")
        self.middle = lm.nn.Linear(8, 8, dtype="float64")
        self.last = lm.nn.Linear(8, 3, dtype="float64")
        self.tied = self.middle

    def forward(self, x):
        x = lm.checkpoint(lambda a: F.relu(self.middle(a)), self.first(x))
        return self.last(Square.apply(self.tied(x)))


def steps(model, batches, optimizer):
    for x, t in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        lm.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss


def equal(model, reference):
    for (name, a), b in zip(model.named_parameters(), reference.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


def adam(model):
    return lm.optim.Adam(model.parameters(), lr=0.01)


def as_one_process():
    for settings in ({}, {"bucket_mb": 1e-4}, {"bucket_mb": 1e-4, "find_unused_parameters": True}):
        reference, model = Model(0), dist.DistributedDataParallel(Model(rank), **settings)
        steps(reference, [(X, T)] * 3, adam(reference))
        steps(model, [(X[SHARE], T[SHARE])] * 3, adam(model))
        equal(model, reference)
    # Gradients that were added up without communication count with the next ones.
    model.zero_grad()
    reference.zero_grad()
    with model.no_sync():
        F.cross_entropy(model(X[SHARE]), T[SHARE]).backward()
    F.cross_entropy(model(X[SHARE]), T[SHARE]).backward()
    (2 * F.cross_entropy(reference(X), T)).backward()
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12)
    state = model.state_dict()
    assert list(state) == [f"module.{name}" for name in reference.state_dict()]
    # A copy does next what the model does.
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        steps(other, [(X[SHARE], T[SHARE])], adam(other))
        expected = copy.deepcopy(reference)
        steps(expected, [(X, T)], adam(expected))
        equal(other, expected)


class Choice(lm.nn.Module):
    """One layer or the other."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (lm.nn.Linear(2, 2) for _ in range(3))

    def forward(self, x, first):
        return self.a(x) if first else self.b(x)


def unused_parameters():
    model = dist.DistributedDataParallel(Choice(), find_unused_parameters=True)
    model(lm.ones([1, 2]), rank == 0).sum().backward()
    assert model.module.a.bias.grad.tolist() == [1 / n] * 2
    assert model.module.b.bias.grad.tolist() == [(n - 1) / n] * 2
    assert model.module.c.bias.grad is None
    strict = dist.DistributedDataParallel(Choice())
    try:
        strict(lm.ones([1, 2]), True).sum().backward()
    except RuntimeError as error:
        assert "4 parameters got no gradient in this backward pass: b.weight" in str(error)
    else:
        raise AssertionError
    strict.zero_grad()
    x = lm.ones([1, 2])
    sum(layer(x).sum() for layer in (strict.module.a, strict.module.b, strict.module.c)).backward()
    assert strict.module.c.bias.grad.tolist() == [1.0, 1.0]  # after an error the next pass is a whole one


def buffers_and_uneven_batches():
    model = dist.DistributedDataParallel(lm.nn.Sequential(lm.nn.Linear(6, 2), lm.nn.BatchNorm1d(2)))
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1)
    x = X.astype("float32")
    with model.join():
        for _ in range(1 + rank):
            optimizer.zero_grad()
            model(x[SHARE]).square().mean().backward()
            optimizer.step()
    for values in zip(*dist.all_gather_object([v.tolist() for v in model.state_dict().values()]), strict=True):
        assert all(value == values[0] for value in values)
    try:
        dist.DistributedDataParallel(lm.nn.Linear(2, 2 + rank))
    except ValueError as error:
        assert "differ: (name, dtype, shape, stop_gradient)" in str(error)
    else:
        raise AssertionError


def batch_norm_over_all():
    """The processes have batches of different sizes; the reference has one of all samples."""
    sizes = [2 + i for i in range(n)]
    start = sum(sizes[:rank])
    samples = rng.normal(size=(sum(sizes), 3, 2))
    weights = lm.asarray(rng.normal(size=samples.shape))
    model = lm.nn.Sequential(lm.nn.BatchNorm1d(3, dtype="float64"))
    reference = copy.deepcopy(model)
    model = lm.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    own = slice(start, start + sizes[rank])
    whole = lm.tensor(samples, stop_gradient=False)
    part = lm.tensor(samples[own], stop_gradient=False)
    y = model(part)
    (y * weights[own]).sum().backward()
    (expected := reference(whole) * weights).sum().backward()
    np.testing.assert_allclose((y * weights[own]).detach().numpy(), expected.detach().numpy()[own], rtol=1e-9)
    np.testing.assert_allclose(part.grad.numpy(), whole.grad.numpy()[own], rtol=1e-7, atol=1e-10)
    bias = dist.all_reduce(model[0].bias.grad).numpy()
    np.testing.assert_allclose(bias, reference[0].bias.grad.numpy(), rtol=1e-9)
    for name, value in reference.state_dict().items():
        np.testing.assert_allclose(model.state_dict()[name].numpy(), value.numpy(), rtol=1e-9)
    assert model.eval()(part).shape == part.shape
    half = lm.nn.SyncBatchNorm(3, dtype="bfloat16")(lm.asarray(samples[own]).astype("bfloat16"))
    assert half.dtype == lm.bfloat16


def half_precision():
    lm.seed(0)
    model = dist.DistributedDataParallel(lm.nn.Linear(4, 2, dtype="bfloat16"))
    (model(lm.ones([1, 4], dtype="bfloat16")) * (256.0 if rank == 0 else 1.0)).sum().backward()
    assert model.module.bias.grad.tolist() == [float(lm.tensor((256.0 + n - 1) / n).astype("bfloat16").item())] * 2


if sys.argv[1:] == ["forever"]:
    model = dist.DistributedDataParallel(Model(0))
    optimizer = adam(model)
    while True:
        steps(model, [(X[SHARE], T[SHARE])], optimizer)
        print("step", flush=True)
for check in (as_one_process, unused_parameters, buffers_and_uneven_batches, batch_norm_over_all, half_precision):
    check()
dist.barrier()
print("checked", rank)

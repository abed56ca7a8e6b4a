"""Cuts the parameters of models in place over the processes, and compares with one process."""

import copy
import pickle
import sys
import tempfile

import numpy as np

import lamella as lm
import lamella.distributed as dist
from distributed.models import Convolutional, Transformer
from lamella.distributed.fully_shard import unit_of
from lamella.nn import functional as F

dist.init_process_group(timeout=20)
rank, n = dist.get_rank(), dist.get_world_size()
rng = np.random.default_rng(3)
DATA = {
    "transformer": (rng.integers(0, 13, (4, 6)), rng.integers(0, 13, (4, 6))),
    "convolutional": (rng.standard_normal((8, 1, 8, 8)), rng.integers(0, 10, 8)),
}


def made(name, seed):
    lm.seed(seed)
    model = {"transformer": Transformer, "convolutional": Convolutional}[name]()
    if name == "transformer":
        model.head.weight = model.tokens.weight
    return model.to("float64")


def cut(name, seed, reshard=True):
    model = made(name, seed)
    if name == "transformer":
        for block in model.blocks:
            dist.fully_shard(block.norm1)
            dist.fully_shard(block, reshard_after_forward=reshard)
    assert dist.fully_shard(model) is model
    return model


def batch(name, whole):
    x, t = DATA[name]
    share = slice(None) if whole else slice(rank * len(x) // n, (rank + 1) * len(x) // n)
    return lm.asarray(x[share]), lm.asarray(t[share].reshape(-1))


def adam(model):
    return lm.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1, eps=1e-6)


def step(name, model, optimizer, whole):
    x, t = batch(name, whole)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), t)
    loss.backward()
    norm = lm.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    return (loss if whole else dist.all_reduce(loss.detach(), "mean")).item(), norm.item()


def whole(x):
    return (x.whole() if isinstance(x, dist.GlobalTensor) else x).detach().numpy()


def same(state, expected, rtol=1e-8, atol=1e-10):
    assert list(state) == list(expected)
    for key, x in expected.items():
        np.testing.assert_allclose(whole(state[key]), whole(x), rtol=rtol, atol=atol, err_msg=key)


def as_one_process():
    for name in DATA:
        reference = made(name, 0)
        optimizer = adam(reference)
        expected = [step(name, reference, optimizer, True) for _ in range(3)]
        for seed, reshard in ((0, True), (rank, False)):
            model = cut(name, seed, reshard)
            assert [key for key, _ in model.named_parameters()] == [key for key, _ in reference.named_parameters()]
            held = sum(p.to_local().size for p in model.parameters())
            assert held < sum(p.size for p in reference.parameters()) / n * 1.5
            own = adam(model)
            same(model.state_dict(), made(name, 0).state_dict())
            found = [step(name, model, own, False) for _ in range(3)]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
            same(model.state_dict(), reference.state_dict())
            flats = unit_of(model).exchange.flats
            assert not any(flat.is_here for flat in flats) and model.head.weight.shape == reference.head.weight.shape
            with lm.no_grad():
                np.testing.assert_allclose(
                    model(batch(name, True)[0]).numpy(), reference(batch(name, True)[0]).numpy(), rtol=1e-8, atol=1e-10
                )
            assert not any(flat.is_here for flat in flats)


def accumulation():
    reference, model = made("transformer", 0), cut("transformer", 0)
    x, t = batch("transformer", False)
    with dist.no_gradient_sync(model):
        F.cross_entropy(model(x), t).backward()
    assert all(p.grad is None for p in model.parameters())
    F.cross_entropy(model(x), t).backward()
    (2 * F.cross_entropy(reference(batch("transformer", True)[0]), batch("transformer", True)[1])).backward()
    for (key, p), q in zip(model.named_parameters(), reference.parameters(), strict=True):
        np.testing.assert_allclose(whole(p.grad), q.grad.numpy(), rtol=1e-8, atol=1e-11, err_msg=key)


def states_and_copies():
    name = "transformer"
    model, reference = cut(name, 0), made(name, 0)
    optimizer, other = adam(model), adam(reference)
    step(name, model, optimizer, False)
    step(name, reference, other, True)
    folder = dist.broadcast_object(tempfile.mkdtemp() if rank == 0 else None)
    dist.save_checkpoint(folder, step=1, model=model, optimizer=optimizer)
    step(name, reference, other, True)
    for duplicate in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), cut(name, 9)):
        again = adam(duplicate)
        dist.load_checkpoint(folder, model=duplicate, optimizer=again)
        step(name, duplicate, again, False)
        same(duplicate.state_dict(), reference.state_dict())
    plain = made(name, 5)
    dist.load_checkpoint(folder, model=plain, optimizer=adam(plain))
    same(plain.state_dict(), model.state_dict())
    fresh = cut(name, 7)
    fresh.load_state_dict(reference.state_dict())
    same(fresh.state_dict(), reference.state_dict())


def options():
    lm.seed(0)
    net = lm.nn.Sequential(*(lm.nn.Linear(8, 8) for _ in range(3)), lm.nn.Linear(8, 1))
    reference = copy.deepcopy(net)
    x = rng.standard_normal((4 * n, 8)).astype("float32")
    own = lm.asarray(x[4 * rank : 4 * rank + 4])
    for part in net[1:]:
        dist.fully_shard(part, dtype="bfloat16", reduce_dtype="float32")
    dist.fully_shard(net, dtype=lm.bfloat16, output_dtype="float32", ignored=[net[0].bias])
    y = net(own)
    assert y.dtype == lm.float32 and not isinstance(net[0].bias, dist.GlobalTensor)
    y.square().mean().backward()
    reference(lm.asarray(x)).square().mean().backward()
    for (key, p), q in zip(net.named_parameters(), reference.parameters(), strict=True):
        assert p.dtype == p.grad.dtype == lm.float32
        if key != "0.bias":
            np.testing.assert_allclose(whole(p.grad), q.grad.numpy(), rtol=0.1, atol=0.02, err_msg=key)
    # Parts of a model that is itself not cut.
    net = copy.deepcopy(reference)
    for part in net[:2]:
        dist.fully_shard(part)
    net(own).square().mean().backward()
    for key, q in reference.named_parameters():
        if key[0] in "01":
            np.testing.assert_allclose(whole(net.get_parameter(key).grad), q.grad.numpy(), rtol=1e-4, atol=1e-6)


def replicas():
    """Each pair of processes keeps the whole between them."""
    if n != 4:
        return
    grid = lm.placement("cpu", [[0, 1], [2, 3]])
    reference = made("convolutional", 0)
    optimizer = adam(reference)
    expected = [step("convolutional", reference, optimizer, True) for _ in range(3)]
    alone = lm.placement("cpu", [[[0], [1]], [[2], [3]]])  # of four processes, each keeps the whole
    for mesh in (grid, lm.placement("cpu", [[[0, 1]], [[2, 3]]]), alone):
        model = made("convolutional", rank)
        dist.fully_shard(model, placement=mesh)
        own = adam(model)
        found = [step("convolutional", model, own, False) for _ in range(3)]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        same(model.state_dict(), reference.state_dict())
    wrapped = dist.FullyShardedDataParallel(made("convolutional", rank), group=grid.group(1), replicas=grid.group(0))
    own = adam(wrapped)
    for _ in range(3):
        x, t = batch("convolutional", False)
        own.zero_grad()
        F.cross_entropy(wrapped(x), t).backward()
        wrapped.clip_grad_norm_(0.5)
        own.step()
    same(wrapped.state_dict(), reference.state_dict())


def two_axes():
    """Layers are split over one axis of the processes, and what each has of them over the other."""
    if n != 4:
        return
    grid = lm.placement("cpu", [[0, 1], [2, 3]])
    data, layers = grid.along(0), grid.along(1)
    lm.seed(0)
    net = lm.nn.Sequential(
        lm.nn.LayerNorm(6), lm.nn.Linear(6, 8), lm.nn.Tanh(), lm.nn.Linear(8, 8), lm.nn.Linear(8, 3)
    ).to("float64")
    x, t = lm.asarray(rng.standard_normal((8, 6))), lm.asarray(rng.integers(0, 3, 8))
    place = data.coordinate()[0]
    share = slice(4 * place, 4 * place + 4)
    reference = copy.deepcopy(net)
    model = dist.parallelize(copy.deepcopy(net), layers, {"1": lm.sbp.split(0), "3.weight": lm.sbp.split(1)})
    dist.fully_shard(model[1], placement=data)
    dist.fully_shard(model, placement=data)
    assert model[1].weight.sbp == (lm.sbp.split(0), lm.sbp.split(0)) and model[1].weight.to_local().shape == (2, 6)
    assert model[3].weight.sbp == (lm.sbp.split(1), lm.sbp.split(0)) and model[0].bias.sbp[0] == lm.sbp.broadcast
    same(model.state_dict(), reference.state_dict(), 0, 0)
    optimizer, other = adam(model), adam(reference)
    for norm_type in (2.0, float("inf")):
        optimizer.zero_grad()
        other.zero_grad()
        loss, expected = F.cross_entropy(model(x[share]), t[share]), F.cross_entropy(reference(x), t)
        loss.backward()
        expected.backward()
        mean = dist.all_reduce(loss.detach().whole(), "mean", group=data.group(0))
        np.testing.assert_allclose(mean.item(), expected.item(), rtol=1e-9)
        norms = [lm.nn.utils.clip_grad_norm_(one.parameters(), 0.05, norm_type).item() for one in (model, reference)]
        np.testing.assert_allclose(norms[0], norms[1], rtol=1e-9)
        optimizer.step()
        other.step()
    same(model.state_dict(), reference.state_dict())
    folder = dist.broadcast_object(tempfile.mkdtemp() if rank == 0 else None)
    dist.save_checkpoint(folder, step=1, model=model, optimizer=optimizer)
    plain = copy.deepcopy(net)
    dist.load_checkpoint(folder, model=plain, optimizer=adam(plain))
    same(plain.state_dict(), reference.state_dict())


def mistakes():
    class Scaled(lm.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = lm.nn.Parameter(lm.tensor(1.0))

    line = lm.placement("cpu", range(n))
    for make, error, words in (
        (lambda: dist.fully_shard(dist.fully_shard(lm.nn.Linear(2, 2))), ValueError, "the module is cut already"),
        (lambda: dist.fully_shard(Scaled()), ValueError, "'scale' has no axis to cut"),
        (lambda: dist.fully_shard(lm.ones([1])), TypeError, r"module is an nn.Module, not Tensor"),
        (lambda: dist.fully_shard(lm.nn.Linear(1, 1), dtype="int8"), TypeError, "floating ones, not int8"),
        (
            lambda: dist.fully_shard(dist.parallelize(lm.nn.Linear(2, 2), line)),
            ValueError,
            "'weight' is a global tensor over",
        ),
        (lambda: dist.no_gradient_sync(lm.nn.Linear(1, 1)).__enter__(), ValueError, "the module is not cut"),
    ):
        try:
            make()
        except error as found:
            assert words in str(found), found
        else:
            raise AssertionError(words)


for check in (as_one_process, accumulation, states_and_copies, options, replicas, two_axes, mistakes):
    if not sys.argv[1:] or check.__name__ in sys.argv[1:]:
        check()
dist.barrier()
print("checked", rank)

"""Trains models in stages, alone and with data and tensor parallelism, and compares with one process."""

import os
import sys

import numpy as np

import lamella as lm
import lamella.distributed as dist
from distributed.models import Block, Scale
from lamella.distributed import Pipeline
from lamella.nn import functional as F
from support import default_device

dist.init_process_group(os.environ.get("LAMELLA_TEST_BACKEND"), timeout=90)
rank, n = dist.get_rank(), dist.get_world_size()
default_device.use_own(rank)
rng = np.random.default_rng(3)
TOKENS, NEXT = rng.integers(0, 13, (8, 6)), rng.integers(0, 13, (8, 6))


class Embed(lm.nn.Module):
    """Tokens and places; the mask goes along to the stages behind."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = lm.nn.Embedding(13, 16), lm.nn.Embedding(6, 16)

    def forward(self, x):
        return self.tokens(x) + self.places(lm.arange(6)), x != 0


class Masked(lm.nn.Module):
    """A block of a transformer, and a layer of its own."""

    def __init__(self):
        super().__init__()
        self.block = Block(16)

    def forward(self, x, mask):
        return Scale.apply(self.block(x) * mask.astype(x.dtype).expand_dims(-1)), mask


class Head(lm.nn.Module):
    """The product with all tokens."""

    def __init__(self):
        super().__init__()
        self.linear = lm.nn.Linear(16, 13)

    def forward(self, x, mask):
        return self.linear(x)


def loss_of(y, target):
    return F.cross_entropy(y.reshape((-1, 13)), target.reshape((-1,)))


def stages():
    lm.seed(0)
    return [part.to("float64") for part in (Embed(), Masked(), Masked(), Head())]


def batches(count=8):
    return lm.asarray(TOKENS[:count]), lm.asarray(NEXT[:count])


def reference(steps, count=8):
    """Losses, norms of gradients and the state of one process."""
    parts = stages()
    parameters = [p for part in parts for p in part.parameters()]
    optimizer = lm.optim.SGD(parameters, lr=0.1, momentum=0.9)
    x, t = batches(count)
    found = []
    for _ in range(steps):
        y, mask = parts[0](x)
        for part in parts[1:3]:
            y, mask = part(y, mask)
        loss = loss_of(parts[3](y, mask), t)
        optimizer.zero_grad()
        loss.backward()
        found.append((loss.item(), lm.nn.utils.clip_grad_norm_(parameters, 0.5).item()))
        optimizer.step()
    state = {f"{i}.{key}": x.numpy() for i, part in enumerate(parts) for key, x in part.state_dict().items()}
    return found, state


def train(pipe, x, t, steps=2):
    optimizer = lm.optim.SGD(pipe.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = pipe.step(x if pipe.is_first else None, t if pipe.is_last else None)
        norm = pipe.clip_grad_norm_(0.5)
        optimizer.step()
        found.append((loss.item(), norm.item()))
    return found


def same(pipe, expected):
    state = pipe.state_dict()
    for key, x in state.items():
        np.testing.assert_allclose(x.numpy(), expected[key], rtol=1e-8, atol=1e-10, err_msg=key)
    return state


def as_one_process():
    for microbatches, count in ((1, 8), (2, 8), (3, 8), (4, 4), (8, 8)):
        expected, state = reference(2, count)
        pipe = Pipeline(stages(), microbatches, loss=loss_of)
        found = train(pipe, *batches(count))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        own = same(pipe, state)
        assert sorted(name for names in dist.all_gather_object(list(own)) for name in names) == sorted(state)
    y = pipe(batches()[0] if pipe.is_first else None)
    assert y.shape == (8, 6, 13) and y.stop_gradient and len({str(v) for v in dist.all_gather_object(y.tolist())}) == 1
    other = Pipeline(
        [lambda i=i: [Embed, Masked, Masked, Head][i]().to("float64") for i in range(4)],
        2,
        loss=lm.nn.CrossEntropyLoss(),
    )
    other.load_state_dict({key: lm.asarray(x) for key, x in state.items()})
    same(other, state)


class Through(lm.nn.Module):
    """Gives what it is given."""

    def forward(self, *given):
        return given


def interleaved():
    """Several stages on each process; the names are those of the sequence, with the modules that do nothing."""
    for chunks, microbatches in ((2, 4), (2, 8), (3, 4)):
        extra = [Through() for _ in range(max(n * chunks - 4, 0))]
        parts = stages()
        parts = [*parts[:1], *extra, *parts[1:]]
        expected, state = reference(2)
        places = {0: 0, **{i: i + len(extra) for i in (1, 2, 3)}}
        state = {f"{places[int(key[0])]}{key[1:]}": x for key, x in state.items()}
        pipe = Pipeline(parts, microbatches, loss=loss_of, chunks=chunks)
        found = train(pipe, *batches())
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        own = same(pipe, state)
        assert sorted(name for names in dist.all_gather_object(list(own)) for name in names) == sorted(state)
        y = pipe(batches()[0] if pipe.is_first else None)
        assert y.shape == (8, 6, 13)


def sums_and_scales():
    expected, state = reference(1)
    pipe = Pipeline(
        stages(), 4, loss=lambda y, t: loss_of(y, t) * t.shape[0] / 8, reduction="sum", balance=[1] * (n - 1) + [5 - n]
    )
    scaler = dist.ShardedGradScaler(init_scale=4.0)
    optimizer = lm.optim.SGD(pipe.parameters(), lr=0.1, momentum=0.9)
    loss = pipe.step(*batches(), scaler=scaler)
    scaler.unscale_(optimizer)
    norm = pipe.clip_grad_norm_(0.5)
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose((loss.item(), norm.item()), expected[0], rtol=1e-9)
    same(pipe, state)


def with_data_parallelism():
    mesh = lm.placement("cpu", np.arange(n).reshape(2, n // 2))
    replicas, line = mesh.group(0), mesh.group(1)
    expected, state = reference(2)
    x, t = batches()
    own = slice(4 * replicas.rank, 4 * replicas.rank + 4)
    wraps = [lambda stage: dist.DistributedDataParallel(stage, group=replicas)]
    wraps += [lambda stage, k=k: dist.FullyShardedDataParallel(stage, stage=k, group=replicas) for k in (1, 2, 3)]
    for wrap in wraps:
        pipe = Pipeline(stages(), 2, loss=loss_of, group=line, wrap=wrap)
        found = train(pipe, x[own], t[own])
        np.testing.assert_allclose([norm for _, norm in found], [norm for _, norm in expected], rtol=1e-9)
        losses = dist.all_reduce(lm.tensor([loss for loss, _ in found], dtype="float64"), "mean", group=replicas)
        np.testing.assert_allclose(losses.numpy(), [loss for loss, _ in expected], rtol=1e-9)
        same(pipe, state)
    pipe = Pipeline(stages(), 2, loss=loss_of, group=line, wrap=wraps[0], chunks=2)
    found = train(pipe, x[own], t[own])
    np.testing.assert_allclose([norm for _, norm in found], [norm for _, norm in expected], rtol=1e-9)
    same(pipe, state)
    try:
        Pipeline(stages(), 2, loss=loss_of, group=line, wrap=wraps[1], chunks=2)
    except ValueError as error:
        assert "with several chunks, wrap leaves each stage its parameters" in str(error)
    else:
        raise AssertionError


PLAN = {
    "*.block.attention.[qkv]_proj": "S(0)",
    "*.block.attention.out_proj": "S(1)",
    "*.block.up": "S(0)",
    "*.block.down": "S(1)",
}


def with_tensor_parallelism():
    """Two stages (and two replicas where there are eight processes) of two processes that share each product."""
    mesh = np.arange(n).reshape(n // 4, 2, 2)
    everyone = lm.placement("cpu", mesh)
    replicas, line = everyone.group(0), everyone.group(1)
    meshes = [lm.placement("cpu", pair.tolist()) for pair in mesh.reshape(-1, 2)]
    for one in meshes:
        one.connect()
    own = next(one for one in meshes if rank in one)
    expected, state = reference(2)
    x, t = batches()
    share = slice(8 // (n // 4) * replicas.rank, 8 // (n // 4) * (replicas.rank + 1))
    wraps = [None]
    if n > 4:
        wraps = [lambda stage: dist.DistributedDataParallel(stage, group=replicas)]
        wraps += [lambda stage: dist.FullyShardedDataParallel(stage, stage=3, group=replicas)]
    for wrap in wraps:
        parts = stages()
        for part in parts[line.rank * 2 : line.rank * 2 + 2]:
            names = {f"0.{name}" for name, _ in part.named_parameters()}
            holder = lm.nn.Sequential(part)
            dist.parallelize(holder, own, PLAN if any("attention" in name for name in names) else {})
        pipe = Pipeline(parts, 2, loss=loss_of, group=line, placement=own, wrap=wrap)
        found = train(pipe, x[share], t[share])
        np.testing.assert_allclose([norm for _, norm in found], [norm for _, norm in expected], rtol=1e-9)
        losses = dist.all_reduce(lm.tensor([loss for loss, _ in found], dtype="float64"), "mean")
        np.testing.assert_allclose(losses.numpy(), [loss for loss, _ in expected], rtol=1e-9)
        same(pipe, state)


def mistakes():
    shared = lm.nn.Linear(2, 2)
    for words, call in {
        "processes have a stage each, and there are 1 modules": lambda: Pipeline([shared], 1),
        "is one of stage 0, too": lambda: Pipeline([shared] * n, 1),
        "microbatches is a multiple of 2 processes, not 3": lambda: Pipeline([lm.nn.ReLU()] * 4, 3, chunks=2),
        "microbatches is an int of at least 1, not 0": lambda: Pipeline([lm.nn.ReLU()] * n, 0),
        "balance has": lambda: Pipeline([lm.nn.ReLU()] * n, 1, balance=[n]),
        "reduction is": lambda: Pipeline([lm.nn.ReLU()] * n, 1, reduction="none"),
    }.items():
        try:
            call()
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


CHECKS = {
    2: (as_one_process, interleaved, sums_and_scales, mistakes),
    4: (as_one_process, interleaved, with_data_parallelism, with_tensor_parallelism),
}
for check in CHECKS.get(n, (with_tensor_parallelism,)):
    if not sys.argv[1:] or check.__name__ in sys.argv[1:]:
        check()
dist.barrier()
print("checked", rank)

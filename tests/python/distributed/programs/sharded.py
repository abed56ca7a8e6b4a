"""Trains models whose parameters, gradients and state are cut over the processes, and compares with one process."""

import copy
import itertools
import os
import pickle
import sys

import numpy as np

import lamella as lm
import lamella.distributed as dist
from distributed.models import Convolutional, Transformer
from lamella.distributed import FullyShardedDataParallel
from lamella.nn import functional as F
from support import default_device

dist.init_process_group(os.environ.get("LAMELLA_TEST_BACKEND"), timeout=20)
rank, n = dist.get_rank(), dist.get_world_size()
default_device.use_own(rank)
rng = np.random.default_rng(3)
#: By name: inputs and targets of all processes.
DATA = {
    "transformer": (rng.integers(0, 13, (4, 6)), rng.integers(0, 13, (4, 6))),
    "convolutional": (rng.standard_normal((8, 1, 8, 8)), rng.integers(0, 10, 8)),
    "layers": (rng.standard_normal((8, 6)), rng.integers(0, 3, 8)),
}


@lm.library.custom_op("lamella_tests::squared", mutates_args=())
def squared(x: lm.Tensor) -> lm.Tensor:
    return x * x


def backward(ctx, dy):
    (x,) = ctx.saved_tensors
    return 2 * x * dy


squared.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


class Product(lm.PyLayer):
    """A layer of its own, which saves a parameter."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return dy @ w.T, x.T @ dy


class Layers(lm.nn.Module):
    """Layers in a list, of which one is shared, one runs again in backward, one is frozen, and one has statistics.

    A parameter of the model's own is used by what runs again, too.
    """

    def __init__(self):
        super().__init__()
        self.first = lm.nn.Linear(6, 8)
        self.middle = lm.nn.ModuleList([lm.nn.Linear(8, 8, bias=False) for _ in range(3)])
        self.middle[2].requires_grad_(False)
        self.scale = lm.nn.Parameter(lm.rand((8, 8)))
        self.norm, self.last = lm.nn.LayerNorm(8), lm.nn.Linear(8, 3)

    def forward(self, x):
        x = lm.checkpoint(lambda a: F.relu(self.middle[0](a)), self.first(x))
        x = squared(self.middle[2](self.middle[1](self.middle[0](x))))
        return self.last(self.norm(lm.checkpoint(lambda a: Product.apply(a, self.scale), x)))


def made(name, seed):
    lm.seed(seed)
    model = {"transformer": Transformer, "convolutional": Convolutional, "layers": Layers}[name]()
    if name == "transformer":
        model.head.weight = model.tokens.weight
    return model.to("float64")


def batch(name, whole):
    x, t = DATA[name]
    share = slice(None) if whole else slice(rank * len(x) // n, (rank + 1) * len(x) // n)
    return lm.asarray(x[share]), lm.asarray(t[share].reshape(-1))


def step(name, model, optimizer, whole, clip):
    x, t = batch(name, whole)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), t)
    loss.backward()
    norm = clip(0.5)
    optimizer.step()
    return (loss if whole else dist.all_reduce(loss.detach(), "mean")).item(), norm.item()


def clip_of(model):
    if isinstance(model, FullyShardedDataParallel):
        return model.clip_grad_norm_
    return lambda most: lm.nn.utils.clip_grad_norm_(model.parameters(), most)


def same(state, expected):
    assert list(state) == list(expected)
    for key, x in expected.items():
        np.testing.assert_allclose(state[key].numpy(), x.numpy(), rtol=1e-8, atol=1e-10, err_msg=key)


def adam(model):
    return lm.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1, eps=1e-6)


def as_one_process():
    for name in DATA:
        reference = made(name, 0)
        optimizer = adam(reference)
        expected = [step(name, reference, optimizer, True, clip_of(reference)) for _ in range(3)]
        for stage in (1, 2, 3):
            model = FullyShardedDataParallel(made(name, rank), stage=stage)
            assert sum(p.size for p in model.parameters()) < sum(p.size for p in reference.parameters()) // n + 8 * n
            own = adam(model)
            found = [step(name, model, own, False, clip_of(model)) for _ in range(3)]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
            same(model.state_dict(), reference.state_dict())


def nothing_whole_is_kept():
    """In stage 3 parameters are dropped after each unit, and do not lie in what the pass has saved."""
    model = FullyShardedDataParallel(made("transformer", 0), stage=3)
    flats = model._exchange.flats
    x, t = batch("transformer", False)
    most, ahead = [], []
    first, second = model.module.blocks
    for block in (first, second):
        block.register_forward_hook(lambda *_: most.append(sum(flat.is_here for flat in flats)))
    (next_one,) = second.forward.__self__.flats
    # While the first block runs, the second one's parameters are on their way: from the second pass on.
    first.norm1.register_forward_hook(lambda *_: ahead.append(next_one.is_here or next_one.is_coming))
    for _ in range(2):
        loss = F.cross_entropy(model(x), t)
        assert [flat.is_here for flat in flats] == [True] + [False] * (len(flats) - 1)
        loss.backward()
        assert not any(flat.is_here for flat in flats)
        with lm.no_grad():
            model(x)
        assert not any(flat.is_here for flat in flats)
    assert ahead == [False, True, True, True]
    assert max(most) <= 2 and not hasattr(model.module.head, "weight")


def accumulation_and_scaling():
    for stage in (1, 2, 3):
        reference, model = made("layers", 0), FullyShardedDataParallel(made("layers", 0), stage=stage)
        scaler = dist.ShardedGradScaler(init_scale=8.0)
        optimizer = adam(model)
        x, t = batch("layers", False)
        with model.no_sync():
            scaler.scale(F.cross_entropy(model(x), t)).backward()
        scaler.scale(F.cross_entropy(model(x), t)).backward()
        scaler.step(optimizer)
        scaler.update()
        other = adam(reference)
        (2 * F.cross_entropy(reference(batch("layers", True)[0]), batch("layers", True)[1])).backward()
        other.step()
        same(model.state_dict(), reference.state_dict())
        # One process alone sees an infinite gradient, and all leave the step out.
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(x), t)).backward()
        if rank == 0:
            next(p for p in model.parameters() if p.grad is not None).grad[0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 4.0
        same(model.state_dict(), reference.state_dict())


def states():
    """States are those of one process, and parts of them come back; copies do next what the model does."""
    for name, stage in itertools.product(("transformer", "layers"), (2, 3)):
        model, reference = FullyShardedDataParallel(made(name, 0), stage=stage), made(name, 0)
        optimizer, other = adam(model), adam(reference)
        step(name, model, optimizer, False, clip_of(model))
        step(name, reference, other, True, clip_of(reference))
        parts = {key: copy.deepcopy(x) for key, x in model.sharded_state_dict().items()}
        assert list(parts) == list(reference.state_dict())
        state = copy.deepcopy(model.optimizer_state_dict(optimizer, sharded=True))
        whole = model.optimizer_state_dict(optimizer)
        names = [key for key, _ in reference.named_parameters()]
        for i, values in other.state_dict()["state"].items():
            for key, x in values.items():
                np.testing.assert_allclose(np.asarray(whole["state"][names[i]][key]), np.asarray(x), atol=1e-12)
        step(name, reference, other, True, clip_of(reference))
        fresh = FullyShardedDataParallel(made(name, 5), stage=stage)
        fresh.load_state_dict(parts)
        again = adam(fresh)
        fresh.load_optimizer_state_dict(again, state)
        step(name, fresh, again, False, clip_of(fresh))
        same(fresh.state_dict(), reference.state_dict())
        fresh.load_state_dict(made(name, 7).state_dict())
        same(fresh.state_dict(), made(name, 7).state_dict())
        for duplicate in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            again = adam(duplicate)
            duplicate.load_optimizer_state_dict(again, whole)
            step(name, duplicate, again, False, clip_of(duplicate))
            same(duplicate.state_dict(), reference.state_dict())


def options():
    lm.seed(0)
    model = FullyShardedDataParallel(
        made("transformer", 0), units=lm.nn.Linear, group_by=lambda _, p: p.ndim > 1, broadcast_buffers=False
    )
    reference = made("transformer", 0)
    groups = [
        {"params": [p for p in reference.parameters() if (p.ndim > 1) == k], "weight_decay": d}
        for k, d in ((True, 0.5), (False, 0.0))
    ]
    other = lm.optim.AdamW(groups, lr=0.01, eps=1e-6)
    optimizer = lm.optim.AdamW(
        [{"params": model.shards(True), "weight_decay": 0.5}, {"params": model.shards(False), "weight_decay": 0.0}],
        lr=0.01,
        eps=1e-6,
    )
    for _ in range(2):
        step("transformer", model, optimizer, False, clip_of(model))
        step("transformer", reference, other, True, clip_of(reference))
    same(model.state_dict(), reference.state_dict())
    assert next(iter(lm.nn.Sequential(model).state_dict())) == "0." + next(iter(reference.state_dict()))
    # Moved, also as a part of another module, it has other shards.
    before = model.state_dict()
    lm.nn.Sequential(model).to("float32")
    assert all(p.dtype == lm.float32 and p.is_shard for p in model.parameters())
    assert model(batch("transformer", False)[0]).dtype == lm.float32
    model.to("float64")
    for key, x in model.state_dict().items():
        np.testing.assert_array_equal(x.numpy(), before[key].numpy().astype("float32"))

    def fill(part):
        if isinstance(part, lm.nn.LayerNorm):
            part.weight.detach().fill_(3.0)

    model.apply(fill)
    assert model.state_dict()["norm.weight"].tolist() == [3.0] * 16
    for norm_type in (1.0, float("inf")):
        x, t = batch("transformer", False)
        model.zero_grad()
        F.cross_entropy(model(x), t).backward()
        reference.load_state_dict(model.state_dict())
        reference.zero_grad()
        F.cross_entropy(reference(batch("transformer", True)[0]), batch("transformer", True)[1]).backward()
        expected = lm.nn.utils.clip_grad_norm_(reference.parameters(), 0.1, norm_type).item()
        np.testing.assert_allclose(model.clip_grad_norm_(0.1, norm_type).item(), expected, rtol=1e-9)


def nested_by_hand(model, **options):
    """Wraps parts of a model, the innermost first, and the model."""
    if isinstance(model, Transformer):
        for i, block in enumerate(model.blocks):
            block.norm1 = FullyShardedDataParallel(block.norm1, **options)
            model.blocks[i] = FullyShardedDataParallel(block, stage=2, units=lm.nn.Linear, **options)
    else:
        for i in range(3):
            if not model.middle[i].weight.stop_gradient:
                model.middle[i] = FullyShardedDataParallel(model.middle[i], **options)
    return FullyShardedDataParallel(model, stage=3, units=lambda part: False, **options)


def nested():
    """Units within units, by the function that names them and by hand."""
    kinds = lm.nn.Linear, lm.nn.LayerNorm, type(made("transformer", 0).blocks[0])
    for name in ("transformer", "layers"):
        reference = made(name, 0)
        optimizer = adam(reference)
        expected = [step(name, reference, optimizer, True, clip_of(reference)) for _ in range(2)]
        for model in (
            FullyShardedDataParallel(made(name, rank), units=kinds),
            nested_by_hand(made(name, 0)),
            FullyShardedDataParallel(made(name, 0), units=kinds, named=True),
        ):
            own = adam(model)
            found = [step(name, model, own, False, clip_of(model)) for _ in range(2)]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
            same(model.state_dict(), reference.state_dict())
            assert list(model.sharded_state_dict()) == list(reference.state_dict())
            assert not any(flat.is_here for flat in model._exchange.flats)
            state = model.optimizer_state_dict(own)
            again = adam(model)
            model.load_optimizer_state_dict(again, state)
            for p, q in zip(own.state.values(), again.state.values(), strict=True):
                assert p["exp_avg"].tolist() == q["exp_avg"].tolist()
            with model.summon_full_params(with_grads=True):
                for p, q in zip(model.module.parameters(), reference.parameters(), strict=True):
                    assert (p.grad is None) == (q.grad is None)
                    if q.grad is not None:
                        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-11)
                assert [key for key, _ in model.module.named_parameters()] == [
                    key for key, _ in reference.named_parameters()
                ]
            duplicate = pickle.loads(pickle.dumps(model))
            same(duplicate.state_dict(), reference.state_dict())
    named = [key for key, _ in model.named_parameters()]
    assert named == [key for key, _ in reference.named_parameters()]
    inner = FullyShardedDataParallel(lm.nn.Linear(2, 2), group="self")
    try:
        FullyShardedDataParallel(lm.nn.Sequential(inner))
    except ValueError as error:
        assert "'0' is cut over the group 'self'" in str(error)
    else:
        raise AssertionError


def beside_global_tensors():
    """Layers are split over one axis of the processes, and what each has of them over the other."""
    if n != 4:
        return
    grid = lm.placement("cpu", [[0, 1], [2, 3]])
    data, layers = grid.along(0), grid.along(1)
    lm.seed(0)
    net = lm.nn.Sequential(lm.nn.LayerNorm(6), lm.nn.Linear(6, 8), lm.nn.Tanh(), lm.nn.Linear(8, 3)).to("float64")
    x, t = lm.asarray(DATA["layers"][0]), lm.asarray(DATA["layers"][1])
    place = data.coordinate()[0]
    for options in ({"stage": 2}, {"stage": 3}, {"named": True}):
        reference = copy.deepcopy(net)
        split = dist.parallelize(
            copy.deepcopy(net), layers, {"1": lm.sbp.split(0), "3.weight": lm.sbp.split(1)}, synchronize=False
        )
        model = FullyShardedDataParallel(split, group=data.group(0), **options)
        pair = adam(reference), adam(model)
        for norm_type in (2.0, float("inf")):
            losses, norms = [], []
            for one, optimizer, share in (
                (reference, pair[0], slice(None)),
                (model, pair[1], slice(4 * place, 4 * place + 4)),
            ):
                optimizer.zero_grad()
                loss = F.cross_entropy(one(x[share]), t[share])
                loss.backward()
                if one is model:
                    loss = loss.detach().whole()
                    loss = dist.all_reduce(loss.detach(), "mean", group=data.group(0))
                    norms.append(model.clip_grad_norm_(0.05, norm_type).item())
                else:
                    norms.append(lm.nn.utils.clip_grad_norm_(one.parameters(), 0.05, norm_type).item())
                losses.append(loss.item())
                optimizer.step()
            np.testing.assert_allclose(losses[1], losses[0], rtol=1e-9)
            np.testing.assert_allclose(norms[1], norms[0], rtol=1e-9)
        state = model.state_dict()
        assert state["1.weight"].sbp == (lm.sbp.split(0),)
        same({key: value.whole() for key, value in state.items()}, reference.state_dict())
        again = FullyShardedDataParallel(
            dist.parallelize(copy.deepcopy(net), layers, {"1": lm.sbp.split(0), "3.weight": lm.sbp.split(1)}),
            group=data.group(0),
        )
        again.load_state_dict(state)
        same({key: value.whole() for key, value in again.state_dict().items()}, reference.state_dict())
        try:
            model.sharded_state_dict()
        except RuntimeError as error:
            assert "'0.weight' is a global tensor" in str(error)
        else:
            raise AssertionError


def other_dtypes():
    """Parameters are gathered in bfloat16; what is left out of the model's parts stays as it is."""
    lm.seed(0)
    net = lm.nn.Sequential(*(lm.nn.Sequential(lm.nn.Linear(8, 8), lm.nn.ReLU()) for _ in range(3)))
    reference = copy.deepcopy(net)
    x = rng.standard_normal((4 * n, 8)).astype("float32")
    for options in ({}, {"reduce_dtype": "float32"}, {"named": True}):
        model = FullyShardedDataParallel(copy.deepcopy(net), dtype="bfloat16", **options)
        seen = []
        model.module[1][0].register_forward_hook(lambda layer, *_, seen=seen: seen.append(layer.weight.dtype))
        y = model(lm.asarray(x[4 * rank : 4 * rank + 4]))
        assert y.dtype == lm.bfloat16 and seen == [lm.bfloat16]
        with model.no_sync():
            y.square().mean().backward()
        model(lm.asarray(x[4 * rank : 4 * rank + 4])).square().mean().backward()
        reference.zero_grad()
        (2 * reference(lm.asarray(x)).square().mean()).backward()
        assert all(p.dtype == p.grad.dtype == lm.float32 for p in model.parameters())
        same(model.state_dict(), reference.state_dict())
        total = sum(float((p.grad * p.grad).sum().item()) for p in reference.parameters()) ** 0.5
        np.testing.assert_allclose(model.clip_grad_norm_(1e9).item(), total, rtol=3e-2)
        with model.summon_full_params():
            np.testing.assert_array_equal(
                model.module[0][0].weight.detach().numpy(), reference[0][0].weight.detach().numpy()
            )
    left = copy.deepcopy(net)
    model = FullyShardedDataParallel(left, ignored=[left[0], left[1][0].bias])
    assert [key for key, p in model.named_parameters() if not getattr(p, "is_shard", False)] == [
        "module.0.0.weight",
        "module.0.0.bias",
        "module.1.0.bias",
    ]
    model(lm.asarray(x)).square().mean().backward()
    expected = reference[0][0].weight, reference[0][0].bias, reference[1][0].bias
    for (key, p), q in zip(left.named_parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy() / 2, rtol=1e-5, atol=1e-7, err_msg=key)
    same(model.state_dict(), reference.state_dict())


def second_derivatives_and_passes():
    """A penalty on the gradient of the inputs, and two passes over one graph."""

    def penalty(model, whole):
        x = batch("layers", whole)[0].detach()
        x.stop_gradient = False
        (slope,) = lm.autograd.grad(model(x).square().sum(), [x], create_graph=True)
        return slope.square().mean()

    for stage in (2, 3):
        reference, model = made("layers", 0), FullyShardedDataParallel(made("layers", 0), stage=stage)
        for one, whole in ((reference, True), (model, False)):
            optimizer = adam(one)
            loss = penalty(one, whole)
            loss.backward(retain_graph=True)
            loss.backward()
            optimizer.step()
        same(model.state_dict(), reference.state_dict())


def mistakes():
    model = FullyShardedDataParallel(made("layers", 0))
    x, t = batch("layers", False)
    for make in (lm.optim.LAMB, lm.optim.LARS, lm.optim.Muon, lm.optim.Adafactor, lm.optim.LBFGS):
        try:
            make(model.parameters())
        except ValueError as error:
            assert f"[{make.__name__}]" in str(error) and "shard" in str(error)
        else:
            raise AssertionError(make)
    split = dist.parallelize(lm.nn.Linear(4, 4), lm.placement("cpu", range(n)), {"weight": "S(0)"})
    for make, words in (
        (lambda: FullyShardedDataParallel(split), "'weight' is a global tensor over processes of the group"),
        (lambda: model.state_dict(keep_vars=True), "keep_vars=False"),
        (lambda: model.shards("a"), "group_by returned 'a' for no parameter"),
        (lambda: model.load_state_dict({"first.weight": lm.zeros([6, 8])}), "missing: scale"),
    ):
        try:
            make()
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    for call, words in (
        (lambda: lm.nn.Sequential(model).load_state_dict({}), "'0' is cut over processes"),
        (lambda: lm.nn.utils.clip_grad_norm_(model.parameters(), 1.0), "call model.clip_grad_norm_()"),
        (lambda: lm.amp.GradScaler().unscale_(adam(model)), "ShardedGradScaler"),
    ):
        try:
            call()
        except RuntimeError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    # After a pass that failed, the next is a whole one.
    y = model(x)
    y.register_hook(lambda dy: 1 / 0)
    try:
        F.cross_entropy(y, t).backward()
    except ZeroDivisionError:
        model.zero_grad()
    step("layers", model, adam(model), False, clip_of(model))
    try:
        FullyShardedDataParallel(lm.nn.Linear(2, 2 + rank))
    except ValueError as error:
        assert "[FullyShardedDataParallel] the models of rank" in str(error)
    else:
        raise AssertionError


CHECKS = (
    as_one_process,
    nothing_whole_is_kept,
    accumulation_and_scaling,
    states,
    options,
    nested,
    beside_global_tensors,
    other_dtypes,
    second_derivatives_and_passes,
    mistakes,
)
for check in CHECKS:
    if not sys.argv[1:] or check.__name__ in sys.argv[1:]:
        check()
dist.barrier()
print("checked", rank)

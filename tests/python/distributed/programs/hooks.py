"""Hooks that take the mean of gradients give what is sent without them, exactly or nearly."""

import copy

import numpy as np

import lamella as lm
import lamella.distributed as dist
from lamella.distributed import hooks
from lamella.nn import functional as F

dist.init_process_group(timeout=20)
rank, n = dist.get_rank(), dist.get_world_size()
rng = np.random.default_rng(5)
X, T = rng.normal(size=(n, 12)).astype("float32"), rng.integers(0, 12, n)
SHARE = slice(rank, rank + 1)
BUCKETS = {"bucket_mb": 1e-4}


def net():
    lm.seed(0)
    return lm.nn.Sequential(lm.nn.Linear(12, 12), lm.nn.Tanh(), lm.nn.Linear(12, 12))


def trained(hook, steps=3):
    model = dist.DistributedDataParallel(net(), **BUCKETS)
    if hook is not None:
        model.register_comm_hook(hook)
    optimizer = lm.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(lm.asarray(X[SHARE])), lm.asarray(T[SHARE])).backward()
        optimizer.step()
    return np.concatenate([p.detach().numpy().reshape(-1) for p in model.parameters()])


def hooks_train_as_without():
    expected = trained(None)
    seen = []

    def waited(bucket):
        seen.append((bucket.index, bucket.is_last))
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters]
        return hooks.mean(bucket).wait()

    np.testing.assert_array_equal(trained(waited), trained(hooks.mean))
    assert len(seen) > 3 and seen[: len(seen) // 3] == [(i, 3 * i + 3 == len(seen)) for i in range(len(seen) // 3)]
    np.testing.assert_allclose(trained(hooks.mean), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(trained(hooks.compressed("float16")), expected, atol=1e-4)
    np.testing.assert_allclose(trained(hooks.compressed(lm.bfloat16)), expected, atol=1e-3)
    np.testing.assert_allclose(trained(hooks.compressed("float16", waited)), expected, atol=1e-4)
    # One sample of each process: the mean has rank n at most.
    for options in ({}, {"start": 1}, {"warm_start": False}, {"error_feedback": False}):
        np.testing.assert_allclose(trained(hooks.PowerSGD(n, **options)), expected, rtol=1e-4, atol=1e-5)
    # What is left out comes later.
    rough = np.abs(trained(hooks.PowerSGD(1), 40) - trained(None, 40)).max()
    assert rough < 0.1, rough


def copies_go_on():
    hook = hooks.PowerSGD(1)
    trained(hook, 1)
    other = copy.deepcopy(hook)
    np.testing.assert_array_equal(trained(hook, 2), trained(other, 2))


def other_answers_are_refused():
    for answer, words in ((lm.ones([1]), "not a tensor of 1"), (dist.all_reduce(lm.ones([1]), async_op=True), "of 1")):
        model = dist.DistributedDataParallel(net())
        model.register_comm_hook(lambda bucket, answer=answer: answer)
        try:
            model(lm.asarray(X)).sum().backward()
        except ValueError as error:
            assert "[register_comm_hook] the hook returns a tensor of 312 elements" in str(error)
            assert words in str(error)
        else:
            raise AssertionError


class Choice(lm.nn.Module):
    """One layer or the other, and one that nobody uses."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (lm.nn.Linear(2, 2) for _ in range(3))

    def forward(self, x, first):
        return self.a(x) if first else self.b(x)


def static_graphs():
    model = dist.DistributedDataParallel(Choice(), static_graph=True, bucket_mb=1e-6)
    for _ in range(3):
        model.zero_grad()
        model(lm.ones([1, 2]), rank == 0).sum().backward()
        assert model.module.a.bias.grad.tolist() == [1 / n] * 2
        assert model.module.b.bias.grad.tolist() == [(n - 1) / n] * 2
        assert model.module.c.bias.grad is None
    try:
        model(lm.ones([1, 2]), rank != 0).sum().backward()
    except RuntimeError as error:
        assert "the graph is not static" in str(error)
    else:
        raise AssertionError
    # A process without batches learns from the others what they use.
    model = dist.DistributedDataParallel(Choice(), static_graph=True)
    with model.join():
        for _ in range(rank):
            model.zero_grad()
            model(lm.ones([1, 2]), True).sum().backward()


for check in (hooks_train_as_without, copies_go_on, other_answers_are_refused, static_graphs):
    check()
    dist.barrier()
print("checked", rank)

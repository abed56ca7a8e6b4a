"""What programs of several processes use beside collectives: optimizers in parts, checkpoints, messages, gradients."""

import copy

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_fn
import torch.nn as nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.algorithms.join import Join
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
other = (rank + 1) % n
torch.manual_seed(1)
x = torch.randn(2 * n, 8)
share = x[2 * rank : 2 * rank + 2]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.tanh(self.linear(x))


def made():
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(3)), nn.Linear(8, 4))


def trained(model, optimizer, x):
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


reference = made()
optimizer = torch.optim.AdamW(reference.parameters(), lr=0.01)
trained(reference, optimizer, x)

# An optimizer in parts, with a schedule, whose state comes together.
model = DDP(made())
parts = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=0.01)
schedule = torch.optim.lr_scheduler.StepLR(parts, step_size=100)
trained(model, parts, share)
schedule.step()
for p, q in zip(model.parameters(), reference.parameters(), strict=True):
    assert torch.allclose(p, q, atol=1e-6)
assert 0 < len(parts.state) < len(list(model.parameters()))
parts.consolidate_state_dict(to=0)
if rank == 0:
    assert list(parts.state_dict()["state"]) == list(optimizer.state_dict()["state"])
told = [parts.state_dict() if rank == 0 else None]
dist.broadcast_object_list(told, src=0)
again = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.5)
again.load_state_dict(told[0])
assert len(again.state) == len(parts.state) and again.param_groups[0]["lr"] == 0.01
trained(model, again, share)
more = copy.deepcopy(reference)
state = torch.optim.AdamW(more.parameters(), lr=0.01)
state.load_state_dict(optimizer.state_dict())
trained(more, state, x)
for p, q in zip(model.parameters(), more.parameters(), strict=True):
    assert torch.allclose(p, q, atol=1e-6)


# Blocks that run again in backward, before and after the model is cut.
def checkpointed(model):
    apply_activation_checkpointing(
        model,
        checkpoint_wrapper_fn=lambda part: checkpoint_wrapper(part, checkpoint_impl=CheckpointImpl.NO_REENTRANT),
        check_fn=lambda part: isinstance(part, Block),
    )
    return model


def cut(model):
    for block in model[:3]:
        fully_shard(block)
    return fully_shard(model)


wrapped = {"auto_wrap_policy": ModuleWrapPolicy({Block})}
for model in (
    checkpointed(FSDP(made(), **wrapped)),
    FSDP(checkpointed(made()), **wrapped),
    checkpointed(cut(made())),
    cut(checkpointed(made())),
    DDP(checkpointed(made())),
):
    own = torch.optim.AdamW(model.parameters(), lr=0.01)
    trained(model, own, share)
    state = model.state_dict()
    for (name, value), found in zip(reference.state_dict().items(), state.values(), strict=True):
        found = found.full_tensor() if hasattr(found, "placements") else found
        assert torch.allclose(found, value, atol=1e-6), name
    blocks = [part for part in model.modules() if isinstance(part, Block)]
    assert [block.calls for block in blocks] == [6] * 3

# Processes that have different numbers of batches: the last one trains longest.
model = DDP(nn.Linear(8, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.module.weight.detach().clone()
with Join([model]):
    for _ in range(1 + rank):
        optimizer.zero_grad()
        model(torch.ones(1, 8)).sum().backward()
        optimizer.step()
assert torch.allclose(model.module.weight, before - 0.1 * n, atol=1e-6)

# Messages.
sent, found = torch.full((2,), float(rank)), torch.zeros(2)
works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, other), dist.P2POp(dist.irecv, found, (rank - 1) % n)])
for work in works:
    work.wait()
assert found.tolist() == [float((rank - 1) % n)] * 2
if rank == 0:
    dist.send_object_list([{"a": 1}, torch.ones(2)], dst=1)
elif rank == 1:
    objects = [None, None]
    assert dist.recv_object_list(objects, src=0) == 0 and objects[0] == {"a": 1} and objects[1].tolist() == [1.0, 1.0]

# Collectives with gradients: those of the sum of the processes' losses.
x = torch.full((2,), rank + 1.0, requires_grad=True)
total = n * (n + 1) / 2
for call, value, slope in (
    (lambda: dist_fn.all_reduce(x), [total] * 2, n),
    (lambda: torch.stack(dist_fn.all_gather(x)).sum(0), [total] * 2, n),
    (lambda: dist_fn.broadcast(x, src=1), [2.0] * 2, n if rank == 1 else 0),
    (lambda: dist_fn.reduce_scatter(torch.zeros(2), [x] * n), [total] * 2, n),
    (lambda: dist_fn.scatter([x * (i + 1) for i in range(n)], src=0), [rank + 1.0] * 2, 0 if rank else total),
    (lambda: torch.stack(dist_fn.all_to_all([torch.zeros(2)] * n, [x] * n)).sum(0), [total] * 2, n),
    (lambda: dist_fn.all_to_all_single(torch.zeros(2 * n), torch.cat([x] * n)).reshape(n, 2).sum(0), [total] * 2, n),
    (lambda: dist_fn.reduce(x, dst=0), [total] * 2 if rank == 0 else [rank + 1.0] * 2, 1),
):
    x.grad = None
    y = call()
    assert y.tolist() == value, (y, value)
    y.sum().backward()
    assert x.grad.tolist() == [float(slope)] * 2, (x.grad, slope)
print("checked", flush=True)

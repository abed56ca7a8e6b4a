"""Splits layers over one axis of a mesh of four processes, and samples, or shards of the layers, over the other."""

import copy

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, enable_wrap, wrap
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel as DDP

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
dp, tp = mesh["dp"], mesh["tp"]
assert mesh["dp"] == dp and mesh["dp", "tp"] is mesh and mesh.ndim == 2 and mesh.shape == (2, 2)
assert (
    mesh.get_coordinate() == [dp.get_local_rank(), tp.get_local_rank()] == [dist.get_rank() // 2, dist.get_rank() % 2]
)
assert dist.get_world_size(dp.get_group()) == mesh.size(0) == 2 and mesh.get_local_rank("tp") == tp.get_local_rank()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


torch.manual_seed(0)
plain = nn.Sequential(Block(), Block(), nn.Linear(8, 3))
x, t = torch.randn(8, 8), torch.randint(0, 3, (8,))
share = slice(4 * dp.get_local_rank(), 4 * dp.get_local_rank() + 4)


def split():
    model = copy.deepcopy(plain)
    for block in model[:2]:
        parallelize_module(block, tp, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def trained(model, own, clip):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[own]), t[own])
        loss.backward()
        clip(model)
        optimizer.step()
        mean = loss.detach().clone()
        if own is share:
            dist.all_reduce(mean, op=dist.ReduceOp.AVG, group=dp.get_group())
        losses.append(mean.item())
    return losses


reference = copy.deepcopy(plain)
expected = trained(reference, slice(None), lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.5))
policy = ModuleWrapPolicy({Block})
with enable_wrap(wrapper_cls=FSDP, process_group=dp.get_group()):
    by_hand = split()
    by_hand = wrap(nn.Sequential(wrap(by_hand[0]), wrap(by_hand[1]), by_hand[2]))
assert isinstance(by_hand, FSDP) and wrap(plain) is plain
for model in (
    FSDP(split(), device_mesh=dp, auto_wrap_policy=policy),
    FSDP(split(), device_mesh=dp, use_orig_params=True),
    by_hand,
):
    found = trained(model, share, lambda model: model.clip_grad_norm_(0.5))
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, expected, strict=True)), (found, expected)
    for name, value in model.state_dict().items():
        value = value.full_tensor() if isinstance(value, DTensor) else value
        assert torch.allclose(value, reference.state_dict()[name], atol=1e-5), name
model = split()
for block in model[:2]:
    fully_shard(block, mesh=dp)
fully_shard(model, mesh=dp)
found = trained(model, share, lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.5))
assert all(abs(a - b) < 1e-5 for a, b in zip(found, expected, strict=True)), (found, expected)
own = slice(2 * dist.get_rank(), 2 * dist.get_rank() + 2)
for model in (
    FSDP(copy.deepcopy(plain), device_mesh=mesh, sharding_strategy=ShardingStrategy.HYBRID_SHARD),
    FSDP(copy.deepcopy(plain), process_group=(tp.get_group(), dp.get_group()), use_orig_params=True),
    fully_shard(copy.deepcopy(plain), mesh=mesh),
):
    is_wrapped = isinstance(model, FSDP)
    clip = (
        (lambda m: m.clip_grad_norm_(0.5)) if is_wrapped else (lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.5))
    )
    trained(model, own, clip)
    for name, value in model.state_dict().items():
        value = value.full_tensor() if isinstance(value, DTensor) else value
        assert torch.allclose(value, reference.state_dict()[name], atol=1e-5), name
model = DDP(split(), device_mesh=dp)
found = trained(model, share, lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.5))
assert all(abs(a - b) < 1e-5 for a, b in zip(found, expected, strict=True)), (found, expected)
print("checked", flush=True)

"""Trains models that are cut over processes, and saves and loads their states in every layout."""

import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.tensor import DTensor, Shard
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
folder = sys.argv[1]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layers = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(8, 11)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def scores(self, x):
        return self.forward(x).log_softmax(-1)


def made(seed=0):
    torch.manual_seed(seed)
    return Net()


torch.manual_seed(1)
tokens, targets = torch.randint(0, 11, (4 * n, 5)), torch.randint(0, 11, (4 * n, 5))
share = slice(4 * rank, 4 * rank + 4)


def clip_of(model, most):
    return nn.utils.clip_grad_norm_(model.parameters(), most)


def step(model, opt, whole=False):
    x, t = (tokens, targets) if whole else (tokens[share], targets[share])
    loss = F.cross_entropy(model(x).flatten(0, 1), t.flatten())
    loss.backward()
    clip = model.clip_grad_norm_ if isinstance(model, FSDP) else lambda most: clip_of(model, most)
    norm = clip(0.5)
    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
    opt.step()
    opt.zero_grad()
    return norm.item()


def adam(m):
    return torch.optim.AdamW(m.parameters(), lr=1e-2)


def sharded(seed=0):
    m = made(seed)
    for layer in m.layers:
        fully_shard(layer)
    fully_shard(m)
    return m


WAYS = {
    "plain": made,
    "ddp": lambda s=0: DDP(made(s)),
    "fsdp": lambda s=0: FSDP(
        made(s), auto_wrap_policy=lambda module, recurse, nonwrapped_numel: recurse or isinstance(module, Block)
    ),
    "orig": lambda s=0: FSDP(made(s), use_orig_params=True),
    "fully": sharded,
}

reference = made()
ropt = adam(reference)
norms = [step(reference, ropt, True) for _ in range(3)]
m = sharded()
o = adam(m)
assert isinstance(m, FSDPModule) and isinstance(m, Net) and isinstance(m.layers[0], FSDPModule)
assert all(isinstance(p, DTensor) and p.placements == (Shard(0),) for p in m.parameters())
assert torch.equal(m.head.weight.full_tensor(), made().head.weight)
found = [step(m, o) for _ in range(3)]
assert all(abs(a - b) < 1e-5 for a, b in zip(found, norms, strict=True)), (found, norms)
for (k, p), q in zip(m.named_parameters(), reference.parameters(), strict=True):
    assert torch.allclose(p.full_tensor(), q, atol=1e-5), k
m.set_requires_gradient_sync(False)
F.cross_entropy(m(tokens[share]).flatten(0, 1), targets[share].flatten()).backward()
m.set_requires_gradient_sync(True)
step(m, o)
m.unshard()
m.reshard()

register_fsdp_forward_method(m, "scores")
assert m.scores(tokens).shape == (4 * n, 5, 11)
b = fully_shard(
    Net(),
    mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    offload_policy=CPUOffloadPolicy(),
    mesh=init_device_mesh("cpu", (n,)),
)
assert b(tokens).dtype == torch.bfloat16


class AppState(Stateful):
    def __init__(self, model, optimizer=None):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        a, b = get_state_dict(self.model, self.optimizer)
        return {"model": a, "optim": b}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])


for name, way in WAYS.items():
    if name == "plain":
        continue
    m = way()
    o = adam(m)
    step(m, o)
    path = f"{folder}/{name}"
    dcp.save({"app": AppState(m, o), "epoch": 3, "extra": [torch.arange(3)]}, checkpoint_id=path)
    for other, make in WAYS.items():
        r = made()
        ro = adam(r)
        step(r, ro, True)
        f = make(7)
        fo = adam(f)
        state = {"app": AppState(f, fo), "epoch": 0, "extra": [torch.zeros(3, dtype=torch.int64)]}
        dcp.load(state, checkpoint_id=path)
        assert state["epoch"] == 3 and state["extra"][0].tolist() == [0, 1, 2]
        a, b = step(f, fo, other == "plain"), step(r, ro, True)
        assert abs(a - b) < 1e-5, (name, other, a, b)
        full = get_model_state_dict(f, options=StateDictOptions(full_state_dict=True))
        assert list(full) == list(r.state_dict())
        for k, x in r.state_dict().items():
            assert torch.allclose(full[k], x, atol=1e-5), (name, other, k)
    osd = get_optimizer_state_dict(m, o, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    msd = get_model_state_dict(m, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    assert bool(osd) == bool(msd) == (rank == 0)
    f = way(5)
    fo = adam(f)
    set_model_state_dict(f, msd, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    set_optimizer_state_dict(f, fo, osd, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    assert abs(step(f, fo) - step(m, o)) < 1e-6
    dist.barrier()
    if rank == 0:
        dcp_to_torch_save(path, f"{path}.pt")
        whole = torch.load(f"{path}.pt", weights_only=False)
        assert list(whole) == ["app", "epoch", "extra"] and list(whole["app"]["model"]) == list(made().state_dict())
        torch_save_to_dcp(f"{path}.pt", f"{path}.again")
    dist.barrier()
    state = {"app": {"model": get_model_state_dict(f)}}
    dcp.load(state, checkpoint_id=f"{path}.again")
print("checked", flush=True)

"""Splits the layers of a transformer over processes, and trains as one process does."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, zeros
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

n = int(os.environ["WORLD_SIZE"])
mesh = init_device_mesh("cpu", (n,), mesh_dim_names=("tp",))
rank = dist.get_rank()
assert mesh["tp"] is mesh and mesh.size() == n and mesh.get_local_rank() == rank and mesh.get_local_rank("tp") == rank
torch.manual_seed(0)
big = torch.randn(7, 4)
x = distribute_tensor(big, mesh, [Shard(0)])
assert isinstance(x, DTensor) and x.shape == (7, 4) and x.placements == (Shard(0),) and x.device_mesh == mesh
assert torch.equal(x.full_tensor(), big)
y = x.redistribute(mesh, [Shard(1)])
assert y.to_local().shape == (7, 4 // n) and torch.equal(y.full_tensor(), big)
assert torch.equal(x.redistribute(mesh, [Replicate()]).to_local(), big)
p = DTensor.from_local(torch.ones(2, 3), mesh, [Partial()])
assert torch.equal(p.full_tensor(), torch.full((2, 3), float(n)))
s = DTensor.from_local(torch.ones(2, 3) * rank, mesh, [Shard(0)])
assert s.shape == (2 * n, 3) and s.full_tensor()[:, 0].tolist() == [float(i // 2) for i in range(2 * n)]
z = zeros(4, 2, device_mesh=mesh, placements=[Shard(0)])
assert z.to_local().shape == (4 // n, 2)
w = nn.Parameter(distribute_tensor(torch.randn(4, 4), mesh, [Shard(0)]))
assert isinstance(w, nn.Parameter) and isinstance(w, DTensor) and w.requires_grad
(x @ w).sum().backward()
assert isinstance(w.grad, DTensor) and w.grad.placements == (Shard(0),)
assert torch.allclose(w.grad.full_tensor(), big.sum(0)[:, None].expand(4, 4), atol=1e-5)


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden), nn.Linear(hidden, dim), nn.Linear(dim, hidden)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.head_dim = dim // heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (w(x).view(b, t, -1, self.head_dim).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).contiguous().view(b, t, -1))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention, self.feed_forward = Attention(dim, heads), FeedForward(dim, 2 * dim)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(16, 16)
        self.layers = nn.ModuleList(Block(16, 4) for _ in range(2))
        self.norm, self.output = nn.LayerNorm(16), nn.Linear(16, 16, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h)).float()


torch.manual_seed(0)
plain = Model()
tokens, targets = torch.randint(0, 16, (2, 8)), torch.randint(0, 16, (2, 8))


def train(model, loss_of=lambda out: F.cross_entropy(out.flatten(0, 1), targets.flatten())):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        opt.zero_grad()
        loss = loss_of(model(tokens))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        opt.step()
        losses += [loss.item(), norm.item()]
    return losses


def tensor_parallel():
    model = copy.deepcopy(plain)
    model = parallelize_module(
        model,
        mesh,
        {
            "tok_embeddings": RowwiseParallel(input_layouts=Replicate()),
            "output": ColwiseParallel(output_layouts=Replicate()),
        },
    )
    for block in model.layers:
        parallelize_module(
            block,
            mesh,
            {
                "attention.wq": ColwiseParallel(),
                "attention.wk": ColwiseParallel(),
                "attention.wv": ColwiseParallel(),
                "attention.wo": RowwiseParallel(),
                "feed_forward.w1": ColwiseParallel(),
                "feed_forward.w2": RowwiseParallel(),
                "feed_forward.w3": ColwiseParallel(),
            },
        )
    return model


def sequence_parallel(parallel_loss):
    model = copy.deepcopy(plain)
    model = parallelize_module(
        model,
        mesh,
        {
            "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "output": ColwiseParallel(
                input_layouts=Shard(1),
                output_layouts=Shard(-1) if parallel_loss else Replicate(),
                use_local_output=not parallel_loss,
            ),
        },
    )
    for block in model.layers:
        parallelize_module(
            module=block,
            device_mesh=mesh,
            parallelize_plan={
                "attention_norm": SequenceParallel(),
                "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
                "attention.wq": ColwiseParallel(),
                "attention.wk": ColwiseParallel(),
                "attention.wv": ColwiseParallel(),
                "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
                "ffn_norm": SequenceParallel(),
                "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
                "feed_forward.w1": ColwiseParallel(),
                "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
                "feed_forward.w3": ColwiseParallel(),
            },
        )
    return model


def close(a, b):
    assert all(abs(p - q) < 1e-4 for p, q in zip(a, b, strict=True)), (a, b)


expected = train(copy.deepcopy(plain))
close(train(tensor_parallel()), expected)
close(train(sequence_parallel(False)), expected)


def parallel_loss(out):
    with loss_parallel():
        return F.cross_entropy(out.flatten(0, 1), targets.flatten())


close(train(sequence_parallel(True), parallel_loss), expected)
print("checked", flush=True)

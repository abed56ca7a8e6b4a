"""Trains stages of a model on different processes as one process trains the whole."""

import copy

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(2 * n))
x, t = torch.randn(4 * n, 8), torch.randint(0, 8, (4 * n,))


def whole(reference):
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.5)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        output = reference(x)
        loss = F.cross_entropy(output, t)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, output.detach()


reference = nn.Sequential(*copy.deepcopy(layers))
expected, last = whole(reference)
for kind in (ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B):
    is_looped = kind is ScheduleInterleaved1F1B
    own = copy.deepcopy(layers)
    if is_looped:
        stages = [PipelineStage(own[i], i, 2 * n, "cpu") for i in (rank, rank + n)]
        schedule = kind(stages, n_microbatches=2 * n, loss_fn=F.cross_entropy)
    else:
        stages = [PipelineStage(nn.Sequential(*own[2 * rank : 2 * rank + 2]), rank, n, "cpu")]
        schedule = kind(stages[0], n_microbatches=2 * n, loss_fn=F.cross_entropy)
    assert stages[0].is_first == (rank == 0) and stages[-1].is_last == (rank == n - 1)
    optimizer = torch.optim.SGD([p for stage in stages for p in stage.submod.parameters()], lr=0.5)
    for step in range(2):
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            output = schedule.step(x, target=t, losses=losses) if n == 1 else schedule.step(x)
        elif rank == n - 1:
            output = schedule.step(target=t, losses=losses)
        else:
            output = schedule.step()
        optimizer.step()
        if rank == n - 1:
            assert len(losses) == 2 * n and abs(sum(loss.item() for loss in losses) / (2 * n) - expected[step]) < 1e-5
    assert (output is None) == (rank != n - 1)
    assert output is None or torch.allclose(output, last, atol=1e-5)
    for stage in stages:
        first = stage.stage_index if is_looped else 2 * stage.stage_index
        theirs = reference[first : first + (1 if is_looped else 2)].parameters()
        for p, q in zip(stage.submod.parameters(), theirs, strict=True):
            assert torch.allclose(p, q, atol=1e-5)
    computed = schedule.eval(x) if rank == 0 else schedule.eval()
    assert computed is None or torch.allclose(computed, reference(x), atol=1e-5)
try:
    ScheduleGPipe(PipelineStage(layers[0], (rank + 1) % n, n), 2)
except ValueError as error:
    assert "has the stages" in str(error)
else:
    raise AssertionError
print("checked", flush=True)

"""Meshes, DTensors and collectives with gradients of torch.distributed, in two processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lamella.distributed as dist
from support import extensions

PROGRAM = """
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.nn as dnn
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset


def refused(kind, call):
    try:
        call()
    except kind:
        return True
    return False


mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
rank = dist.get_rank()
assert dist.is_gloo_available() and not dist.is_mpi_available()
assert mesh.get_local_rank() == mesh.get_local_rank("tp") == rank and mesh.get_coordinate() == [rank]
assert mesh.size() == 2 == mesh.size(0) and mesh.mesh.tolist() == [0, 1] and mesh["tp"] is mesh and mesh.ndim == 1
assert repr(mesh) == "DeviceMesh('cpu', [0, 1], mesh_dim_names=('tp',))" and mesh == DeviceMesh(
    "cpu", [0, 1], mesh_dim_names=("tp",)
)
square = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
assert square["tp"] == mesh and square["dp"].mesh.tolist() == [rank] and square.shape == (1, 2)
assert refused(KeyError, lambda: mesh["pp"]) and refused(RuntimeError, lambda: init_device_mesh("cpu", (3,)))

x = torch.arange(12.0).reshape(4, 3)
cut = distribute_tensor(x, mesh, [Shard(0)])
assert isinstance(cut, DTensor) and not isinstance(x, DTensor) and cut.shape == (4, 3)
assert cut.placements == (Shard(0),) and cut.placements[0].is_shard(0) and repr(cut.placements) == "(Shard(dim=0),)"
assert cut.to_local().tolist() == x[2 * rank : 2 * rank + 2].tolist() and cut.device_mesh == mesh
assert torch.equal(cut.full_tensor(), x) and cut.redistribute(placements=[Replicate()]).to_local().shape == (4, 3)
assert compute_local_shape_and_global_offset((5, 3), mesh, [Shard(0)]) == ((3 - rank, 3), (3 * rank, 0))
parts = DTensor.from_local(torch.full((2,), rank + 1.0), mesh, [Partial()])
assert parts.full_tensor().tolist() == [3.0, 3.0] and parts.placements[0].is_partial("sum")
assert refused(NotImplementedError, lambda: Partial("median"))

torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
plain = torch.nn.functional.linear(x, model.weight.detach().clone(), model.bias.detach().clone())
distribute_module(model, mesh)
assert model.weight.placements == (Replicate(),) and isinstance(model.weight, torch.nn.Parameter)
y = model(cut)
assert y.placements == (Shard(0),) and torch.allclose(y.full_tensor().detach(), plain)

w = torch.ones(2, requires_grad=True)
total = dnn.all_reduce(w * (rank + 1))
total.sum().backward()
assert total.tolist() == [3.0, 3.0] and w.grad.tolist() == [2.0 * (rank + 1)] * 2
mine = torch.tensor([float(rank)])
assert [each.item() for each in torch.distributed.nn.functional.all_gather(mine)] == [0.0, 1.0]
assert dnn.broadcast(mine, 1).item() == 1.0 and dnn.reduce_scatter(mine, [mine, mine + 1]).item() == 1.0 + 2 * rank
sent = [torch.full((1,), 10.0 * rank + i) for i in range(2)]
assert [each.item() for each in dnn.all_to_all([torch.empty(1), torch.empty(1)], sent)] == [rank, 10.0 + rank]
assert dnn.all_to_all_single(torch.empty(2), torch.cat(sent)).tolist() == [rank, 10.0 + rank]
assert funcol.all_reduce(mine, "avg", mesh).item() == 0.5 and funcol.all_gather_tensor(mine, 0, mesh).tolist() == [0, 1]
assert funcol.wait_tensor(funcol.broadcast(mine, 1, (mesh, 0))).item() == 1.0
assert funcol.reduce_scatter_tensor(torch.ones(2), "sum", 0, mesh).tolist() == [2.0]
assert funcol.all_to_all_single(torch.cat(sent), None, None, mesh).tolist() == [rank, 10.0 + rank]

ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
with Join([ddp]):
    for _ in range(1 + rank):
        ddp(torch.ones(1, 2)).sum().backward()
assert refused(NotImplementedError, lambda: Join([torch.nn.Linear(1, 1)])) and not isinstance(ddp, FSDPModule)
print("checked", flush=True)
"""


@pytest.mark.skipif(not dist.is_available("gloo"), reason="built without Gloo")
def test_meshes_and_tensors_over_them(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "lamella.compat", "torchrun", "--nproc-per-node=2", "train.py"]
    env = extensions.environment() | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("checked") == 2, done.stdout + done.stderr

"""torch.distributed in several processes: scripts in PyTorch's manner run unchanged."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lamella.distributed as dist
from support import extensions

needs_gloo = pytest.mark.skipif(not dist.is_available("gloo"), reason="built without Gloo")

COLLECTIVES = """
import datetime, os
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank, n = dist.get_rank(), dist.get_world_size()
assert rank == int(os.environ["RANK"]) == int(os.environ["LOCAL_RANK"]) and n == 2 and dist.is_torchelastic_launched()
assert dist.is_available() and dist.is_initialized() and dist.get_backend() == "gloo" and dist.is_gloo_available()
x = torch.tensor([1.0 + rank, 2.0])
dist.all_reduce(x)
assert x.tolist() == [3.0, 4.0]
w = torch.nn.Parameter(torch.full((2,), float(rank)))
dist.all_reduce(w.data, op=dist.ReduceOp.MAX)
dist.all_reduce(w.grad if w.grad is not None else torch.zeros(2), dist.ReduceOp.AVG)
assert w.tolist() == [1.0, 1.0]
work = dist.all_reduce(y := torch.ones(3, 2), async_op=True)
assert work.wait() and work.is_completed() and y.tolist() == [[2.0, 2.0]] * 3
parts = [torch.zeros(2, 2, dtype=torch.int64) for _ in range(n)]
dist.all_gather(parts, torch.full((2, 2), rank))
assert [part[0, 0].item() for part in parts] == [0, 1]
dist.all_gather_into_tensor(whole := torch.zeros(4), torch.tensor([rank, rank + 10.0]))
assert whole.tolist() == [0.0, 10.0, 1.0, 11.0]
dist.reduce_scatter(out := torch.zeros(2), [torch.full((2,), i + rank * 10.0) for i in range(n)])
assert out.tolist() == [10.0 + 2 * rank] * 2
dist.reduce_scatter_tensor(out, torch.arange(4.0) * (rank + 1), op=dist.ReduceOp.MAX)
assert out.tolist() == [[0.0, 2.0], [4.0, 6.0]][rank]
dist.broadcast(b := torch.full((3,), rank + 5), src=1)
assert b.tolist() == [6, 6, 6]
dist.reduce(r := torch.tensor([1.0]), dst=1)
assert r.item() == 1.0 + rank
lst = [torch.zeros(1, dtype=torch.int64) for _ in range(n)] if rank == 0 else None
dist.gather(torch.tensor([rank]), lst, dst=0)
assert rank or [x.item() for x in lst] == [0, 1]
dist.scatter(s := torch.zeros(2), [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])] if rank == 0 else None, src=0)
assert s.tolist() == [[1.0, 2.0], [3.0, 4.0]][rank]
dist.all_to_all_single(t := torch.zeros(4), torch.arange(4.0) + 10 * rank)
assert t.tolist() == [[0.0, 1.0, 10.0, 11.0], [2.0, 3.0, 12.0, 13.0]][rank]
dist.all_to_all(outs := [torch.zeros(1), torch.zeros(1)], [torch.tensor([rank * 2.0]), torch.tensor([rank * 2.0 + 1])])
assert [x.item() for x in outs] == [rank, rank + 2.0]
if rank == 0:
    dist.send(torch.arange(3.0), dst=1)
    dist.isend(torch.ones(1), dst=1, tag=7).wait()
else:
    assert dist.recv(z := torch.zeros(3), src=0) == 0 and z.tolist() == [0.0, 1.0, 2.0]
    dist.irecv(z := torch.zeros(1), src=0, tag=7).wait()
objects = [None] * n
dist.all_gather_object(objects, {"rank": rank, (1, 2): torch.tensor(rank)})
assert [each[1, 2].item() for each in objects] == [0, 1]
told = [("a", 1), None] if rank == 1 else [None, None]
dist.broadcast_object_list(told, src=1)
assert told == [("a", 1), None]
dist.scatter_object_list(own := [None], [{1}, {2}] if rank == 0 else None, src=0)
assert own == [{rank + 1}]
dist.gather_object(rank, found := [None] * n if rank == 0 else None)
assert rank or found == [0, 1]
pair = dist.new_group([1, 0])
dist.broadcast(b := torch.tensor([rank]), src=1, group=pair)
assert b.item() == 1 and dist.get_rank(pair) == 1 - rank and dist.get_global_rank(pair, 0) == 1
alone = dist.new_group([1])
assert (alone == dist.GroupMember.NON_GROUP_MEMBER) == (rank == 0) and dist.get_rank(alone) == rank - 1
dist.all_reduce(torch.ones(1), group=alone)
assert dist.get_process_group_ranks(dist.group.WORLD) == [0, 1] and dist.new_subgroups(1)[0].size == 1
try:
    dist.all_reduce(torch.ones(1), op=dist.ReduceOp.BOR)
except NotImplementedError as error:
    assert "op is SUM" in str(error)
dist.barrier()
dist.destroy_process_group()
assert not dist.is_initialized()
print("checked")
"""

#: A script as PyTorch's tutorials have it; with one process it prints the loss of them all.
TRAINING = """
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    dataset = TensorDataset(x, torch.sin(3 * x))
    model = nn.Sequential(nn.Linear(1, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model, device_ids=[local_rank] if device.type == "cuda" else None, gradient_as_bucket_view=True)
    sampler = DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank(), shuffle=False)
    loader = DataLoader(dataset, batch_size=16 // dist.get_world_size(), sampler=sampler, pin_memory=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, device=device)
        for inputs, targets in loader:
            inputs, targets = inputs.to(device, non_blocking=True), targets.to(device)
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += torch.stack([loss.detach() * len(inputs), torch.tensor(float(len(inputs)))])
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.4f}")
    with model.no_sync():
        model(x).sum().backward()
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "model.pt")
        assert list(model.state_dict())[0] == "module.0.weight"
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""

SHARDED = """
import functools
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.fsdp import CPUOffload, FullStateDictConfig, MixedPrecision, ShardingStrategy, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy, transformer_auto_wrap_policy

dist.init_process_group("gloo")
rank = dist.get_rank()


def made():
    torch.manual_seed(0)
    return nn.Sequential(*(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) for _ in range(2)))


def step(model, optimizer, x, clip):
    optimizer.zero_grad()
    (model(x)[..., :3] ** 2).mean().backward()  # of all outputs, the mean square is that of the last norm
    norm = clip(0.1)
    optimizer.step()
    return norm.item()


torch.manual_seed(1)
x = torch.randn(4, 3, 8)
policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.TransformerEncoderLayer})
for strategy, wraps in (
    (ShardingStrategy.FULL_SHARD, policy),
    (ShardingStrategy.SHARD_GRAD_OP, ModuleWrapPolicy({nn.Linear})),
    (ShardingStrategy.NO_SHARD, functools.partial(size_based_auto_wrap_policy, min_num_params=200)),
    (None, None),
):
    plain = made()
    model = FSDP(made(), sharding_strategy=strategy, auto_wrap_policy=wraps, use_orig_params=False, device_id=None)
    assert sum(p.numel() for p in model.parameters()) < sum(p.numel() for p in plain.parameters()) * 0.6
    # The keys' bias has no gradient but for rounding, which a smaller eps would enlarge.
    first = torch.optim.AdamW(plain.parameters(), lr=0.01, eps=1e-3)
    second = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    for _ in range(2):
        expected = step(plain, first, x, lambda most: nn.utils.clip_grad_norm_(plain.parameters(), most))
        assert abs(step(model, second, x[2 * rank : 2 * rank + 2], model.clip_grad_norm_) - expected) < 1e-5
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
        state = model.state_dict()
        moments = FSDP.optim_state_dict(model, second)
    assert bool(state) == bool(moments) == (rank == 0)
    for name, value in model.state_dict().items():
        assert torch.allclose(value, plain.state_dict()[name], atol=1e-5), name
    moments = FSDP.optim_state_dict(model, second)
    third = torch.optim.AdamW(model.parameters(), lr=0.5)
    third.load_state_dict(FSDP.optim_state_dict_to_load(model, third, moments))
    assert third.param_groups[0]["lr"] == 0.01 and len(third.state_dict()["state"]) == len(list(model.parameters()))
    with FSDP.summon_full_params(model, writeback=False):
        assert model.module[0].linear1.weight.shape == (16, 8)
# Nested by hand, with the parameters' own names and options, and states in parts.
plain = made()
inner = made()
for layer in (inner[0], inner[1]):
    layer.linear1 = FSDP(layer.linear1)
other = FSDP(nn.Sequential(FSDP(inner[0]), FSDP(inner[1])))
assert len(FSDP.fsdp_modules(other)) == 1
model = FSDP(made(), auto_wrap_policy=policy, use_orig_params=True)
names = [name for name, _ in plain.named_parameters()]
assert [name for name, _ in model.named_parameters()] == names


def groups(model):
    decay = [p for name, p in model.named_parameters() if "norm" not in name]
    rest = [p for name, p in model.named_parameters() if "norm" in name]
    groups = [{"params": decay, "weight_decay": 0.5}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, 0.01, eps=1e-3)


first, second = groups(plain), groups(model)
for _ in range(2):
    expected = step(plain, first, x, lambda most: nn.utils.clip_grad_norm_(plain.parameters(), most))
    assert abs(step(model, second, x[2 * rank : 2 * rank + 2], model.clip_grad_norm_) - expected) < 1e-5
for kind in (StateDictType.SHARDED_STATE_DICT, StateDictType.LOCAL_STATE_DICT):
    with FSDP.state_dict_type(model, kind):
        parts, moments = model.state_dict(), FSDP.optim_state_dict(model, second)
    assert list(parts) == list(plain.state_dict()) and parts["0.linear1.weight"].values.numel() <= 64
    other.load_state_dict(parts)
    third = groups(model)
    FSDP.optim_state_dict_to_load(model, third, moments, load_directly=True)
    for name, value in other.state_dict().items():
        assert torch.allclose(value, plain.state_dict()[name], atol=1e-5), name
assert FSDP.get_state_dict_type(model).state_dict_type is StateDictType.FULL_STATE_DICT
with FSDP.summon_full_params(model, with_grads=True):
    for p, q in zip(model.module.parameters(), plain.parameters()):
        assert torch.allclose(p.grad, q.grad, atol=1e-5)
dtypes = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16)
model = FSDP(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)), mixed_precision=dtypes, cpu_offload=CPUOffload(True))
assert model(x[:, 0]).dtype == model.module[1].running_mean.dtype == torch.bfloat16
model(x[:, 0]).sum().backward()
assert all(p.grad.dtype == torch.float32 for p in model.parameters())
frozen = nn.Linear(8, 8)
model = FSDP(nn.Sequential(frozen, nn.Linear(8, 8)), ignored_modules=[frozen], param_init_fn=lambda part: None)
assert frozen.weight.shape == (8, 8) and [name for name, _ in model.named_parameters()][:2] == ["shard0", "0.weight"]
print("checked", ShardedGradScaler().get_scale())
"""

HOOKED = """
import copy
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, default_hooks, register_ddp_comm_hook
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
x = torch.randn(2 * n, 8)


def gradients(register, **options):
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)), **options)
    register(model)
    model(x[2 * rank : 2 * rank + 2]).sum().backward()
    return torch.cat([p.grad.reshape(-1) for p in model.parameters()])


def summed(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    assert state is x and bucket.index() == 0 and bucket.is_last() and len(bucket.gradients()) == 4
    bucket.set_buffer(bucket.buffer() / n)
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


def listed(state, bucket):
    return dist.all_reduce(bucket.buffer().div_(n), group=state, async_op=True).get_future()


plain = gradients(lambda model: None, gradient_as_bucket_view=True)
state = powerSGD.PowerSGDState(process_group=None, matrix_approximation_rank=8, start_powerSGD_iter=0)
for register, bound in (
    (lambda model: model.register_comm_hook(x, summed), 1e-6),
    (lambda model: model.register_comm_hook(dist.group.WORLD, listed), 1e-6),
    (lambda model: model.register_comm_hook(dist.group.WORLD, default_hooks.allreduce_hook), 1e-6),
    (lambda model: model.register_comm_hook(None, default_hooks.fp16_compress_hook), 1e-2),
    (lambda model: register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model), 1e-1),
    (lambda model: model.register_comm_hook(x, default_hooks.fp16_compress_wrapper(summed)), 1e-2),
    (lambda model: model.register_comm_hook(state, powerSGD.powerSGD_hook), 1e-5),
    (lambda model: model._set_static_graph(), 0.0),
):
    assert (gradients(register) - plain).abs().max() <= bound, bound
own = gradients(lambda model: model.register_comm_hook(None, default_hooks.noop_hook))
assert not torch.allclose(own, plain)
dist.all_reduce(own, dist.ReduceOp.AVG)
assert torch.allclose(own, plain, atol=1e-6)
model = copy.deepcopy(DDP(nn.Linear(2, 2), static_graph=True))
assert type(model) is DDP and model.static_graph
print("checked")
"""

FUTURES = """
import torch

seen = []
future = torch.futures.Future()
later = future.then(lambda done: done.value() + 1)
last = later.then(lambda done: seen.append(done.value()) or done.value() * 2)
assert not future.done() and not later.done() and not seen
try:
    future.value()
except RuntimeError as error:
    assert "not there yet" in str(error)
future.set_result(3)
assert future.done() and last.done() and seen == [4] and last.wait() == 8 and future.value() == 3
assert torch.futures.wait_all([future, later]) == [3, 4]
assert [one.value() for one in torch.futures.collect_all([future, last]).wait()] == [3, 8]
failed = torch.futures.Future()
failed.set_exception(KeyError("a"))
for one in (failed, failed.then(lambda done: done.value())):
    try:
        one.wait()
    except KeyError:
        continue
    raise AssertionError
future.add_done_callback(lambda done: seen.append(done.value()))
assert seen == [4, 3]
print("checked")
"""

SPAWNED = """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def run(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(rank)
    model = DDP(torch.nn.Linear(2, 1))
    model(torch.full((4, 2), rank + 1.0)).sum().backward()
    assert model.module.weight.grad.tolist() == [[6.0, 6.0]], model.module.weight.grad
    dist.destroy_process_group()
    print("spawned", flush=True)


if __name__ == "__main__":
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(run, args=(2, port), nprocs=2, join=True)
"""


def run(*arguments, cwd):
    command = [sys.executable, "-m", "lamella.compat", *map(str, arguments)]
    env = extensions.environment() | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def script(tmp_path):
    def write(text):
        (tmp_path / "train.py").write_text(text)
        return "train.py"

    return write


@needs_gloo
def test_collectives_write_what_pytorch_writes(script, tmp_path):
    said = run("torchrun", "--standalone", "--nproc_per_node=2", script(COLLECTIVES), cwd=tmp_path)
    assert said.count("checked") == 2


@needs_gloo
def test_training_in_two_processes_is_that_of_one(script, tmp_path):
    alone = run(script(TRAINING), cwd=tmp_path)
    both = run("-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py", "--epochs", "2", cwd=tmp_path)
    assert both == alone and both.count("epoch") == 2
    assert (tmp_path / "model.pt").exists()


LAUNCHED = """
import argparse, os

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", type=int, default=-1)
parser.add_argument("words", nargs="*")
args = parser.parse_args()
import beside

number = args.local_rank if args.local_rank >= 0 else int(os.environ["LOCAL_RANK"]) + 10
print(f"{number} {args.words} {beside.value}\\n", end="", flush=True)
"""


@pytest.mark.parametrize(("options", "first"), [([], 0), (["--use_env"], 10)])
def test_the_launcher_before_torchrun(options, first, script, tmp_path):
    (tmp_path / "beside.py").write_text("value = 5")
    command = ["-m", "torch.distributed.launch", "--nproc_per_node=2", *options, script(LAUNCHED), "a", "b"]
    assert sorted(run(*command, cwd=tmp_path).splitlines()) == [f"{first + i} ['a', 'b'] 5" for i in range(2)]


def test_shell_scripts_find_torchrun(tmp_path):
    (tmp_path / "one.py").write_text(
        "import os, torch.distributed; print(os.environ['WORLD_SIZE'], os.environ['RANK'])"
    )
    (tmp_path / "train.sh").write_text("torchrun --nproc_per_node=1 one.py\n")
    assert run("sh", "train.sh", cwd=tmp_path) == "1 0\n"


@needs_gloo
def test_sharded_models_train_as_whole_ones(script, tmp_path):
    said = run("torchrun", "--nproc-per-node=2", script(SHARDED), cwd=tmp_path)
    assert said.count("checked") == 2


#: Goes on from what an attempt that failed has left, as PyTorch's examples do.
RESTARTED = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
model = DDP(torch.nn.Linear(2, 1))
first = 0
if os.path.exists("snapshot.pt"):
    snapshot = torch.load("snapshot.pt")
    model.module.load_state_dict(snapshot["MODEL_STATE"])
    first = snapshot["EPOCHS_RUN"]
    print(f"resuming at epoch {first}\\n", end="", flush=True)
for epoch in range(first, 4):
    model(torch.ones(2, 2)).sum().backward()
    if dist.get_rank() == 0:
        torch.save({"MODEL_STATE": model.module.state_dict(), "EPOCHS_RUN": epoch + 1}, "snapshot.pt")
    dist.barrier()
    if epoch == 1 and dist.get_rank() == 1:
        raise SystemExit(3)
print("done\\n", end="", flush=True)
dist.destroy_process_group()
"""


@needs_gloo
def test_torchrun_starts_again_what_has_failed(script, tmp_path):
    said = run("torchrun", "--nproc-per-node=2", "--max-restarts=2", script(RESTARTED), cwd=tmp_path)
    assert sorted(said.splitlines()) == ["done"] * 2 + ["resuming at epoch 2"] * 2


@needs_gloo
def test_hooks_of_data_parallel_models(script, tmp_path):
    assert run("torchrun", "--nproc-per-node=2", script(HOOKED), cwd=tmp_path).count("checked") == 2


def test_futures(script, tmp_path):
    assert run(script(FUTURES), cwd=tmp_path) == "checked\n"


@needs_gloo
def test_processes_that_the_program_spawns(script, tmp_path):
    assert run(script(SPAWNED), cwd=tmp_path).count("spawned") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nnodes=2", "train.py"], "--nnodes is 1, not 2"),
        (["--nproc-per-node=many", "train.py"], "--nproc-per-node is a number of at least 1"),
        (["--nproc-per-node=1", "nosuch.py"], "rank 0 of 1"),
    ],
)
def test_torchrun_says_what_it_cannot_do(arguments, words, tmp_path):
    command = [sys.executable, "-m", "lamella.compat", "torchrun", *arguments]
    env = extensions.environment()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=tmp_path)
    assert done.returncode != 0 and words in done.stderr, done.stderr

"""Saves checkpoints in every layout ("save FOLDER"), or goes on from them in every layout ("load FOLDER")."""

import copy
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import lamella as lm
import lamella.distributed as dist
from distributed.models import Block
from lamella.nn import functional as F

dist.init_process_group(os.environ.get("LAMELLA_TEST_BACKEND"), timeout=20)
rank, n = dist.get_rank(), dist.get_world_size()
rng = np.random.default_rng(3)
X, T = lm.asarray(rng.normal(size=(8, 6, 16))), lm.asarray(rng.normal(size=(8, 6, 16)))
MESH = lm.placement("cpu", range(n))


class Counted(lm.nn.Linear):
    """A layer with a buffer, and with a number beside its tensors."""

    def __init__(self):
        super().__init__(16, 16)
        self.register_buffer("seen", lm.zeros((2, 2)))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x)

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def net():
    parts = [Block(16), Counted(), Block(16), lm.nn.Linear(16, 16)]
    return lm.nn.Sequential(*parts).to("float64")


def laid_out(layout):
    """A model and how it takes a step; in every layout, that of one process on the whole batch."""
    lm.seed(0)
    model = net()
    share = slice(rank * 8 // n, (rank + 1) * 8 // n)
    x, t = X[share], T[share]
    if layout == "data":
        model = dist.DistributedDataParallel(model)
    elif layout.startswith("sharded"):
        model = dist.FullyShardedDataParallel(model, stage=int(layout[-1]), group_by=lambda _, p: p.ndim > 1)
    elif layout == "pipeline":
        model = dist.Pipeline(model, 2, loss=F.mse_loss)
        return model, lambda: model.step(X, T)
    elif layout == "global":
        dist.parallelize(model, MESH, {"0.*": "S(0)", "2.*": "S(0)", "3": "S(0)"})
        x, t = (dist.distribute(one, MESH, "S(0)") for one in (X, T))

    def step():
        loss = F.mse_loss(model(x), t)
        loss.backward()
        return loss.detach() if layout == "global" else dist.all_reduce(loss.detach(), "mean")

    return model, step


def optimizer_of(model):
    groups = [[p for p in model.parameters() if (p.ndim > 1) == k] for k in (True, False)]
    if isinstance(model, dist.FullyShardedDataParallel):
        groups = [model.shards(True), model.shards(False)]
    return lm.optim.AdamW(
        [{"params": groups[0], "weight_decay": 0.1}, {"params": groups[1], "weight_decay": 0.0}], lr=0.01, eps=1e-6
    )


def steps(step, optimizer, count):
    found = []
    for _ in range(count):
        optimizer.zero_grad()
        found.append(step().item())
        optimizer.step()
    return found


LAYOUTS = ("data", "sharded 1", "sharded 3", "pipeline", "global")


def save(folder):
    for layout in LAYOUTS:
        place = folder / layout
        model, step = laid_out(layout)
        optimizer = optimizer_of(model)
        schedule = lm.optim.lr.StepLR(optimizer, step_size=1, gamma=0.9)
        for number in (1, 2):
            steps(step, optimizer, 1)
            schedule.step()
            lm.rand([rank + 1])
            path = dist.save_checkpoint(
                place, number, model=model, optimizer=optimizer, schedule=schedule, note={"rank": rank}
            )
        drawn, expected = lm.rand([3]).tolist(), steps(step, optimizer, 2)
        own = copy.deepcopy(sizes_on_disk(path))
        if layout == "sharded 3":
            whole = sum(p.nbytes for p in net().parameters())
            assert max(own) < 3 * whole / n * 1.2 + 40000, own
        # As many processes go on bit for bit.
        model, step = laid_out(layout)
        optimizer = optimizer_of(model)
        schedule = lm.optim.lr.StepLR(optimizer, step_size=1, gamma=0.9)
        found = dist.load_checkpoint(place, model=model, optimizer=optimizer, schedule=schedule)
        assert found.step == 2 and found.values == {"note": {"rank": rank}}, found
        assert lm.rand([3]).tolist() == drawn
        assert steps(step, optimizer, 2) == expected, layout
        assert optimizer.param_groups[0]["lr"] == 0.01 * 0.9 * 0.9


def sizes_on_disk(path):
    return [one.stat().st_size for one in sorted(path.glob("part-*"))]


def load(folder):
    model, step = laid_out("data")
    optimizer = optimizer_of(model)
    expected = steps(step, optimizer, 1)
    optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = 0.01 * 0.9
    expected += steps(step, optimizer, 1)
    for group in optimizer.param_groups:
        group["lr"] = 0.01 * 0.9 * 0.9
    expected += steps(step, optimizer, 2)
    for number, layout in enumerate(LAYOUTS):
        for other in (layout, LAYOUTS[(number + 2) % len(LAYOUTS)]):
            model, step = laid_out(other)
            optimizer = optimizer_of(model)
            found = dist.load_checkpoint(folder / layout, model=model, optimizer=optimizer)
            assert found.values["note"] == {"rank": rank} and "schedule" in found.values
            np.testing.assert_allclose(steps(step, optimizer, 2), expected[2:], rtol=1e-8, err_msg=f"{layout} {other}")


def damage(folder):
    """What is damaged, or was not completed, is left out; attempts that fail leave what was there."""
    place = folder / "damaged"
    model, _ = laid_out("sharded 2")
    values = model.state_dict()["3.bias"].tolist()
    dist.save_checkpoint(place, 1, model=model)
    with model.summon_full_params(), lm.no_grad():
        model.module[3].bias.add_(1.0)
    path = dist.save_checkpoint(place, 2, model=model)
    if rank == 0:
        file = next(path.glob("part-00001*"))
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
        (place / "checkpoint-000000003").mkdir()
        (place / "checkpoint-000000003" / "part-00000.safetensors").write_bytes(b"")
    dist.barrier()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert dist.load_checkpoint(place, model=model).step == 1
    assert "its checksum differs: going on from checkpoint-000000001" in str(caught[0].message)
    assert model.state_dict()["3.bias"].tolist() == values
    other = lm.nn.Linear(3, 3)
    for call, error, words in (
        (lambda: dist.load_checkpoint(place, step=1, model=other), ValueError, "has no 'model.weight'"),
        (lambda: dist.load_checkpoint(place, step=1, net=other), ValueError, "has no part net"),
        (lambda: dist.load_checkpoint(place, step=2, model=model), ValueError, "no checkpoint is whole"),
        (lambda: dist.load_checkpoint(place, step=7, model=model), FileNotFoundError, "has no checkpoint 7"),
        (lambda: dist.save_checkpoint(place, -1), ValueError, "step is an int of at least 0"),
        (lambda: dist.save_checkpoint(place, 1, own=model), ValueError, "the name 'own' is the checkpoint's own"),
        (lambda: dist.save_checkpoint(place, 1, o=optimizer_of(model)), ValueError, "save the model with it"),
        (lambda: dist.save_checkpoint(place, 1, x=object() if rank else 1), RuntimeError, f"rank 1 of {n} failed"),
    ):
        try:
            call()
        except error as found:
            assert words in str(found), found
        else:
            raise AssertionError(words)
    assert dist.load_checkpoint(place, step=1, model=model).step == 1
    dist.save_checkpoint(place, 4, keep=2, model=model)
    assert sorted(one.name for one in place.iterdir()) == ["checkpoint-000000002", "checkpoint-000000004"]


folder = Path(sys.argv[2])
for check in {"save": (save, damage), "load": (load,)}[sys.argv[1]]:
    check(folder)
dist.barrier()
print("checked", rank)

"""lm.io checkpoints: a run goes on bit for bit, the newest are kept, and damage is noticed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim
from lamella.amp import GradScaler
from lamella.data import DataLoader, TensorDataset
from lamella.io import CheckpointWarning, load_checkpoint, save_checkpoint
from lamella.optim.lr import StepLR

PYTHON = Path(lm.__file__).resolve().parents[1]
X = np.random.default_rng(3).normal(size=(40, 3)).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)


class Run:
    """A training run with everything that has a state."""

    def __init__(self, optimizer: Any, workers: int, own: bool) -> None:
        self.model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 1))
        self.optimizer = optimizer(self.model.parameters())
        self.scheduler = StepLR(self.optimizer, 2, 0.5)
        self.scaler = GradScaler(init_scale=8.0)
        self.loader = DataLoader(
            TensorDataset(X, Y), 8, shuffle=True, num_workers=workers, generator=lm.Generator("cpu", 5) if own else None
        )
        self.step = 0

    def parts(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "step"}

    def train(self, steps: int, save: Any = None) -> list[float]:
        """Trains on, from the middle of an epoch too, and returns the losses."""
        losses = []
        while len(losses) < steps:
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = ((self.model(x + 0.1 * lm.randn_like(x)) - y) ** 2).mean() * (0.5 + random.random())
                self.scaler.scale(loss * float(np.random.rand())).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.step += 1
                losses.append(loss.item())
                if save:
                    save(self)
                if len(losses) == steps:
                    break
            else:
                self.scheduler.step()
        return losses


@pytest.mark.parametrize(("workers", "own"), [(0, True), (0, False), (2, True), (2, False)])
@pytest.mark.parametrize(
    "optimizer", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), lambda p: optim.Adam(p, lr=0.01)], ids=["sgd", "adam"]
)
def test_a_run_goes_on_bit_for_bit(tmp_path, optimizer, workers: int, own: bool) -> None:
    np.random.seed(1)
    random.seed(2)
    first = Run(optimizer, workers, own)

    def save(run: Run) -> None:
        if run.step in (3, 5, 8):
            save_checkpoint(tmp_path, run.step, **run.parts(), note={"lr": 0.1, "names": ("a", None)})

    losses = first.train(14, save)
    for step in (3, 5, 8, None):
        lm.seed(99)
        second = Run(optimizer, workers, own)
        found = load_checkpoint(tmp_path, step=step, **second.parts())
        assert found.step == (step or 8) and found.values == {"note": {"lr": 0.1, "names": ("a", None)}}
        second.step = found.step
        assert second.train(14 - found.step) == losses[found.step :]
        for name, tensor in first.model.state_dict().items():
            np.testing.assert_array_equal(second.model.state_dict()[name].numpy(), tensor.numpy())


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_newest_are_kept(tmp_path) -> None:
    for step in (1, 2, 3):
        save_checkpoint(tmp_path, step, keep=2, x=lm.full([2], float(step)))
    assert names(tmp_path) == ["checkpoint-000000002.safetensors", "checkpoint-000000003.safetensors"]
    (tmp_path / "notes.txt").write_text("mine")
    path = save_checkpoint(tmp_path, 1, keep=1, x=lm.zeros(2))
    assert names(tmp_path) == [path.name, "notes.txt"]
    for step in (10**9, 10**9 + 1):
        save_checkpoint(tmp_path, step, x=lm.zeros(2))
    assert load_checkpoint(tmp_path).step == 10**9 + 1 and load_checkpoint(tmp_path, step=1).path == path


def test_a_checkpoint_is_a_safetensors_file(tmp_path) -> None:
    path = save_checkpoint(tmp_path / "a" / "b", 0, model=nn.Linear(2, 1), random=False)
    header = path.read_bytes()[8:]
    assert b'"model.weight"' in header and b"lamella.sha256" in header
    state = lm.io.load(path)
    assert state["step"] == 0 and state["random"] is None and list(state["model"]) == ["weight", "bias"]
    assert lm.io.metadata(path) == {}


def damage(path: Path, place: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("place", [0, 9, 40, 100, 300, -1, -100, "short", "empty"])
def test_a_damaged_newest_falls_back_with_a_warning(tmp_path, place: Any) -> None:
    for step in (1, 2, 3):
        path = save_checkpoint(tmp_path, step, x=lm.full([100], float(step)))
    if isinstance(place, int):
        damage(path, place)
    else:
        path.write_bytes(b"" if place == "empty" else path.read_bytes()[:-7])
    with pytest.warns(CheckpointWarning, match=r"checkpoint-0+3\.safetensors: .*going on from checkpoint-0+2"):
        found = load_checkpoint(tmp_path)
    assert found.step == 2 and found.values["x"].tolist() == [2] * 100
    with pytest.raises(ValueError, match=r"no checkpoint is whole: .*checkpoint-000000003"):
        load_checkpoint(tmp_path, step=3)
    for older in (1, 2):
        damage(tmp_path / f"checkpoint-{older:09d}.safetensors", -1)
    with pytest.raises(ValueError, match=r"no checkpoint is whole: .*3.*2.*1"):
        load_checkpoint(tmp_path)


def test_every_flipped_byte_is_noticed(tmp_path) -> None:
    path = save_checkpoint(tmp_path, 1, random=False, x=lm.ones(3), y=[1, "text"])
    whole = path.read_bytes()
    for place in range(len(whole)):
        damage(path, place)
        with pytest.raises(ValueError, match=r"\[load"):
            load_checkpoint(tmp_path)
        path.write_bytes(whole)
    assert load_checkpoint(tmp_path).step == 1


def test_a_part_that_does_not_fit_changes_nothing(tmp_path) -> None:
    net = nn.Linear(2, 1)
    save_checkpoint(tmp_path, 1, model=net, optimizer=optim.Adam(net.parameters(), lr=0.5))
    other = nn.Linear(2, 1)
    wrong = optim.SGD(other.parameters(), lr=0.1)
    before = (other.weight.tolist(), wrong.state_dict(), lm.random.rng_states(), random.getstate())
    with pytest.raises(ValueError, match=r"\[SGD\]") as caught:
        load_checkpoint(tmp_path, model=other, optimizer=wrong)
    assert caught.value.__notes__ == ["[load_checkpoint] of the part 'optimizer'; all parts are as they were"]
    assert before == (other.weight.tolist(), wrong.state_dict(), lm.random.rng_states(), random.getstate())


def test_random_states_are_restored_where_they_are_wanted(tmp_path) -> None:
    def draw() -> Any:
        return lm.rand(3).tolist(), random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn()

    draw()
    save_checkpoint(tmp_path, 1)
    drawn = draw()
    after = (lm.random.rng_states(), random.getstate())
    load_checkpoint(tmp_path, random=False)
    assert after == (lm.random.rng_states(), random.getstate())
    load_checkpoint(tmp_path)
    assert draw() == drawn
    save_checkpoint(tmp_path, 2, random=False)
    after = (lm.random.rng_states(), random.getstate())
    load_checkpoint(tmp_path)
    assert after == (lm.random.rng_states(), random.getstate())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda folder: save_checkpoint(folder, -1), ValueError, "step is an int of at least 0, not -1"),
        (lambda folder: save_checkpoint(folder, True), ValueError, "not True"),
        (lambda folder: save_checkpoint(folder, 1, keep=0), ValueError, "keep is a positive int, not 0"),
        (lambda folder: save_checkpoint(folder, 1, x=print), TypeError, r"'x' is builtin_function"),
        (lambda folder: load_checkpoint(folder), FileNotFoundError, "has no checkpoint"),
        (lambda folder: load_checkpoint(folder / "none", step=3), FileNotFoundError, "has no checkpoint 3"),
        (lambda folder: load_checkpoint(folder, x=3), TypeError, "x: int has no load_state_dict"),
    ],
)
def test_what_is_refused(tmp_path, call, error, message) -> None:
    with pytest.raises(error, match=message):
        call(tmp_path)
    assert names(tmp_path) == []


def test_a_part_that_was_not_saved(tmp_path) -> None:
    save_checkpoint(tmp_path, 1, x=[1])
    with pytest.raises(ValueError, match=r"checkpoint-000000001\.safetensors has no part model, net"):
        load_checkpoint(tmp_path, model=nn.Linear(1, 1), net=nn.Linear(1, 1))


def test_a_saver_that_is_killed_leaves_whole_checkpoints(tmp_path) -> None:
    """A process that saves again and again is killed at some 20 random moments; the newest is whole every time."""
    source = (
        "import sys, itertools, lamella as lm\n"
        "first = lm.io.load_checkpoint(sys.argv[1]).step + 1 if int(sys.argv[2]) else 0\n"
        "for step in itertools.count(first):\n"
        "    lm.io.save_checkpoint(sys.argv[1], step, keep=3, x=lm.full([50000], float(step)))\n"
        "    print(step, flush=True)\n"
    )
    rng = np.random.default_rng(11)
    last = 0
    for number in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", source, str(tmp_path), str(number)],
            env={**os.environ, "PYTHONPATH": str(PYTHON)},
            stdout=subprocess.PIPE,
            text=True,
        )
        seen = int(process.stdout.readline())
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        seen = max([seen, *(int(line) for line in process.communicate()[0].split() if line.isdigit())])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = load_checkpoint(tmp_path)
        assert found.step >= seen >= last and set(found.values["x"].tolist()) == {float(found.step)}
        last = found.step
    save_checkpoint(tmp_path, last + 1, keep=3, x=lm.zeros(1))
    kept = [name for name in names(tmp_path) if name.startswith("checkpoint-")]
    assert len(kept) == 3

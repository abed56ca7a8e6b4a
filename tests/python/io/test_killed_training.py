"""A training that is killed at random moments goes on, and has the losses of one that was left alone.

``LAMELLA_KILLS=50`` kills it more often than the suite does.
"""

import os
import random
import subprocess
import sys
import time

from support import extensions

TRAINING = """
import sys
import time
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import nn, optim

folder, workers = Path(sys.argv[1]), int(sys.argv[2])
EPOCHS = 4


class Noisy(lm.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        x = np.random.default_rng(index).standard_normal(6).astype("float32")
        # Of the generators that a loader seeds for each sample's place in the epoch.
        return x + 0.1 * lm.rand([6]).numpy(), x.sum(keepdims=True)


def main():
    lm.seed(5)
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    optimizer = optim.AdamW(net.parameters(), lr=1e-2)
    schedule = optim.CosineAnnealingLR(optimizer, t_max=60)
    scaler = lm.amp.GradScaler(init_scale=4.0, growth_interval=5)
    loader = lm.data.DataLoader(Noisy(), 4, shuffle=True, num_workers=workers)
    average = optim.swa_utils.AveragedModel(net, decay=0.9)
    parts = dict(net=net, optimizer=optimizer, schedule=schedule, scaler=scaler, loader=loader, average=average)
    step = epoch = 0
    try:
        found = lm.io.load_checkpoint(folder, **parts)
        step, epoch = found.step, found.values["epoch"]
    except FileNotFoundError:
        pass
    with open(folder / "losses", "a") as log:
        while epoch < EPOCHS:
            for x, y in loader:
                optimizer.zero_grad()
                loss = lm.mean((net(x) - y) ** 2)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                schedule.step()
                average.update_parameters(net)
                step += 1
                weights = float(sum(p.sum().item() for p in average.parameters()))
                print(step, loss.item().hex(), weights.hex(), file=log, flush=True)
                if step % 3 == 0:
                    lm.io.save_checkpoint(folder, step, epoch=epoch, keep=2, **parts)
                time.sleep(0.002)
            epoch += 1
            lm.io.save_checkpoint(folder, step, epoch=epoch, keep=2, **parts)


if __name__ == "__main__":
    main()
"""


def start(folder, workers):
    command = [sys.executable, str(folder.parent / "training.py"), str(folder), str(workers)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=extensions.environment())


def logged(folder):
    """Returns the lines of the log; the last one of a killed run may be a part of a line."""
    path = folder / "losses"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def run(folder, workers=1):
    process = start(folder, workers)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error


def test_losses_are_those_of_a_run_that_nothing_kills(tmp_path):
    (tmp_path / "training.py").write_text(TRAINING)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    run(whole)
    expected = dict(line.split(" ", 1) for line in logged(whole))
    assert len(expected) == 40
    chance = random.Random(6)
    kills = int(os.environ.get("LAMELLA_KILLS", "3"))
    for number in range(kills):
        before = len(logged(killed))
        process = start(killed, 1 + number % 2)  # batches are the same for any number from one on
        steps, end = chance.randrange(1 + 45 // kills, 7 + 90 // kills), time.monotonic() + 60
        while len(logged(killed)) < before + steps and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.01))
        process.kill()
        _, error = process.communicate()
        assert "Traceback" not in error, error
    run(killed)
    lines = logged(killed)
    for line in lines:
        step, _, values = line.partition(" ")
        # A kill may cut a line, which the next run then goes on in.
        if len(values.split()) == 2 and step in expected:
            assert values == expected[step], (step, values)
    assert lines[-1].split(" ", 1) == ["40", expected["40"]]

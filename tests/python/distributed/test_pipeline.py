"""Stages on different processes: losses, gradients and parameters are those of one process."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import lamella as lm
import lamella.distributed as dist
from lamella.distributed._schedules import forward_only, interleaved

from .running import by_mpirun, needs_gloo, needs_mpi, together


@needs_gloo
@pytest.mark.parametrize("n", [2, 4, 8])
def test_processes_train_as_one_does(n: int, tmp_path: Path) -> None:
    done = together("pipeline", n, tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == n


@needs_mpi
def test_processes_train_as_one_does_over_mpi() -> None:
    done = by_mpirun("pipeline", 2, "as_one_process", LAMELLA_TEST_BACKEND="mpi")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


@pytest.mark.parametrize(
    ("processes", "microbatches", "chunks"),
    [
        *itertools.product([1, 2, 3, 5], [1, 2, 3, 8], [1]),
        *((n, n * groups, chunks) for n in (1, 2, 3, 4) for groups in (1, 2, 5) for chunks in (2, 3)),
    ],
)
def test_the_schedule_is_whole_keeps_little_and_never_waits_in_a_circle(processes, microbatches, chunks) -> None:
    plans = [list(interleaved(processes, rank, microbatches, chunks)) for rank in range(processes)]
    for rank, plan in enumerate(plans):
        expected = itertools.product(("forward", "backward"), range(microbatches), range(chunks))
        assert sorted(plan) == sorted(expected)
        assert [task for task in plan if task.what == "forward"] == list(forward_only(processes, microbatches, chunks))
        held = np.cumsum([1 if task.what == "forward" else -1 for task in plan])
        ahead = processes - rank if chunks == 1 else 2 * (processes - rank - 1) + (chunks - 1) * processes + 1
        assert held.max() == min(ahead, microbatches * chunks)
    last = processes * chunks - 1
    sent: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
    done: set[tuple[int, str, int]] = set()
    waiting = [iter(plan) for plan in plans]
    heads = [next(plan) for plan in waiting]
    steps = 0
    while any(head is not None for head in heads):
        # Each process does one thing where what it needs has been done before.
        new = []
        for rank, head in enumerate(heads):
            if head is None:
                continue
            stage = head.chunk * processes + rank
            before = stage - 1 if head.what == "forward" else stage + 1
            if not 0 <= before <= last or (before, head.what, head.microbatch) in done:
                new.append((rank, stage, head))
                heads[rank] = next(waiting[rank], None)
        assert new, "every process waits"
        for rank, stage, task in new:
            step = 1 if task.what == "forward" else -1
            if 0 <= stage - step <= last:  # messages come in the order in which they were sent
                assert sent[(rank - step) % processes, rank, task.what].pop(0) == (stage - step, task.microbatch)
            if 0 <= stage + step <= last:
                way = rank, (rank + step) % processes, task.what
                sent.setdefault(way, []).append((stage, task.microbatch))
            done.add((stage, task.what, task.microbatch))
        steps += 1
    assert not any(sent.values())
    # Waiting at both ends takes as long as the stages of the other processes, of which each is one chunk of many.
    assert steps == 2 * (microbatches * chunks + processes - 1)


@pytest.mark.parametrize("chunks", [1, 2])
def test_one_process_has_all_stages(chunks: int, rng: np.random.Generator) -> None:
    lm.seed(0)
    net = lm.nn.Sequential(lm.nn.Linear(4, 5), lm.nn.Tanh(), lm.nn.Linear(5, 3))
    x, t = lm.asarray(rng.normal(size=(7, 4)).astype("float32")), lm.asarray(rng.integers(0, 3, 7))
    loss = lm.cross_entropy(net(x), t)
    loss.backward()
    expected = [p.grad.numpy().copy() for p in net.parameters()]  # type: ignore[union-attr]
    net.zero_grad()
    pipe = dist.Pipeline(net, 3, loss=lm.cross_entropy, group="self", chunks=chunks)
    np.testing.assert_allclose(pipe.step(x, t).item(), loss.item(), rtol=1e-6)
    for p, gradient in zip(net.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), gradient, rtol=1e-5, atol=1e-7)  # type: ignore[union-attr]
    np.testing.assert_allclose(pipe(x).numpy(), net(x).detach().numpy(), rtol=1e-6)
    assert list(pipe.state_dict()) == list(net.state_dict())
    norm = np.sqrt(sum(np.sum(g**2) for g in expected))
    np.testing.assert_allclose(pipe.clip_grad_norm_(0.1).item(), norm, rtol=1e-5)


@pytest.mark.parametrize(
    ("inputs", "target", "words"),
    [
        (None, lm.zeros([4]), "this process has the first stage: give inputs"),
        (lm.zeros([4, 2]), None, "this process has the last stage: give target"),
        (lm.zeros([1, 2]), lm.zeros([4]), r"inputs has shape \[1, 2\]: a batch has at least 2 samples"),
        ((lm.zeros([4, 2]), lm.zeros([3])), lm.zeros([4]), r"inputs has batches of \[4, 3\] samples"),
    ],
)
def test_batches_that_make_no_sense(inputs, target, words) -> None:
    pipe = dist.Pipeline([lm.nn.Linear(2, 2)], 2, loss=lm.mse_loss, group="self")
    with pytest.raises(ValueError, match=words):
        pipe.step(inputs, target)


@pytest.mark.parametrize(
    ("stages", "options", "error", "words"),
    [
        (3, {}, TypeError, "stages are modules, or functions that make them, not 3"),
        (["a"], {}, TypeError, "stages are modules, or functions that make them, not 'a'"),
        ([lm.nn.ReLU()], {"loss": "mse"}, TypeError, "loss is a function of an output and a target, not 'mse'"),
        ([lm.nn.ReLU()], {"balance": ["1"]}, ValueError, "balance has 1 numbers of at least 1"),
        ([], {}, ValueError, "1 processes have a stage each, and there are 0 modules"),
        ([lm.nn.ReLU()], {"chunks": 2}, ValueError, "1 processes have 2 stages each, and there are 1 modules"),
        ([lm.nn.ReLU()], {"chunks": 0}, ValueError, "chunks is an int of at least 1, not 0"),
    ],
)
def test_arguments_that_make_no_sense(stages, options, error, words) -> None:
    with pytest.raises(error, match=words):
        dist.Pipeline(stages, 2, group="self", **options)


def test_a_step_needs_a_loss() -> None:
    with pytest.raises(RuntimeError, match="step needs a loss"):
        dist.Pipeline([lm.nn.Linear(2, 2)], 2, group="self").step(lm.zeros([2, 2]), lm.zeros([2, 2]))

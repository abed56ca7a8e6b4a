"""Orders in which the stages of a pipeline work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Task(NamedTuple):
    """A step of a process: ``"forward"`` or ``"backward"``, of a microbatch, through one of its stages."""

    what: str
    microbatch: int
    chunk: int


def one_forward_one_backward(stages: int, stage: int, microbatches: int) -> Iterator[Task]:
    """Yields what a stage does, in the order of the schedule 1F1B.

    A stage keeps the values of at most ``stages - stage`` microbatches at a time (Narayanan et al., "PipeDream:
    Generalized Pipeline Parallelism for DNN Training", 2019; without gradients of old weights, as in "Efficient
    Large-Scale Language Model Training on GPU Clusters", 2021).

    Args:
        stages: Number of stages.
        stage: The stage's number.
        microbatches: Number of microbatches.
    """
    return _interleaved(stages, stage, microbatches, 1, min(stages - stage - 1, microbatches))


def interleaved(processes: int, rank: int, microbatches: int, chunks: int) -> Iterator[Task]:
    """Yields what a process with several stages does, of which each follows on one of the process before.

    Stage ``chunk * processes + rank`` is the process's number ``chunk``. Processes wait at the beginning and at the end
    for a part, one of so many chunks, of what they wait in :func:`one_forward_one_backward`, send so many times as
    much, and keep more values (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
    Megatron-LM", 2021, section 2.2).

    Args:
        processes: Number of processes.
        rank: The process's number.
        microbatches: Number of microbatches, a multiple of that of processes where there are several chunks.
        chunks: Number of stages of each process.
    """
    if chunks == 1:
        return one_forward_one_backward(processes, rank, microbatches)
    ahead = min(2 * (processes - rank - 1) + (chunks - 1) * processes, microbatches * chunks)
    return _interleaved(processes, rank, microbatches, chunks, ahead)


def forward_only(processes: int, microbatches: int, chunks: int) -> Iterator[Task]:
    """Yields the forward tasks of a process, in the order of :func:`interleaved`."""
    for k in range(microbatches * chunks):
        yield _task("forward", k, processes, chunks)


def _interleaved(processes: int, rank: int, microbatches: int, chunks: int, ahead: int) -> Iterator[Task]:
    count = microbatches * chunks
    for k in range(ahead):
        yield _task("forward", k, processes, chunks)
    for k in range(count - ahead):
        yield _task("forward", ahead + k, processes, chunks)
        yield _task("backward", k, processes, chunks)
    for k in range(count - ahead, count):
        yield _task("backward", k, processes, chunks)


def _task(what: str, k: int, processes: int, chunks: int) -> Task:
    """Returns the k-th task of its kind: as many microbatches as there are processes go through a chunk in turn."""
    if chunks == 1:
        return Task(what, k, 0)
    group, within = divmod(k, processes * chunks)
    chunk, microbatch = divmod(within, processes)
    return Task(what, group * processes + microbatch, chunk if what == "forward" else chunks - 1 - chunk)

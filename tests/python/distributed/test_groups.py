"""Making and leaving groups: the ways in which processes meet, and mistakes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import lamella as lm
import lamella.distributed as dist
from lamella.distributed.launch import _port

from .running import is_free, needs_gloo, started


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch):
    """A program on its own, which leaves its groups afterwards."""
    for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LAMELLA_DISTRIBUTED_STORE"):
        monkeypatch.delenv(name, raising=False)
    yield
    dist.destroy_process_group()


def test_a_program_on_its_own(alone: None) -> None:
    assert not dist.is_initialized() and (dist.get_rank(), dist.get_world_size(), dist.get_local_rank()) == (0, 1, 0)
    group = dist.init_process_group(timeout=timedelta(minutes=1))
    assert (group.backend, group.rank, group.size, group.timeout, group.name) == ("self", 0, 1, 60.0, "world")
    assert dist.is_initialized() and dist.get_group().name == "world"
    other = dist.new_group([0], name="other")
    assert dist.get_rank(other) == 0 and dist.get_world_size("other") == 1
    assert dist.all_reduce(lm.ones([2])).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="there is a default group already"):
        dist.init_process_group()
    with pytest.raises(RuntimeError, match="the name 'other' of a process group is taken"):
        dist.new_group([0], name="other")
    dist.destroy_process_group(other)
    with pytest.raises(RuntimeError, match="there is no process group 'other'; there are 'world'"):
        dist.get_group("other")
    for ranks in ([], [1], [0, 0]):
        with pytest.raises(ValueError, match="ranks are different numbers of the 1 processes"):
            dist.new_group(ranks)
    dist.barrier()
    dist.destroy_process_group()
    assert not dist.is_initialized()
    with pytest.raises(RuntimeError, match="there is no process group yet"):
        dist.barrier()


@pytest.mark.parametrize(
    ("arguments", "variables", "error", "words"),
    [
        ({"timeout": 0}, {}, ValueError, "timeout is at least a millisecond"),
        ({"rank": 0}, {}, ValueError, "given together"),
        ({"timeout": None}, {}, TypeError, "timeout is a number of seconds or a timedelta, not None"),
        ({"rank": "0", "world_size": 2}, {}, TypeError, "rank and world_size are ints, not '0' and 2"),
        ({"rank": 2, "world_size": 2}, {}, ValueError, "rank is from 0 to 1"),
        ({"rank": 0, "world_size": 2, "backend": "smoke"}, {}, RuntimeError, "no backend 'smoke'|no place to meet"),
        ({"rank": 0, "world_size": 2, "init_method": "gopher://x"}, {}, ValueError, "init_method is 'file:///folder'"),
        ({}, {"RANK": "0", "WORLD_SIZE": "two"}, ValueError, "WORLD_SIZE='two', which is no number"),
        ({}, {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "::1", "MASTER_PORT": "x"}, ValueError, "has no port"),
        ({}, {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}, ValueError, "on other machines"),
    ],
)
@needs_gloo
def test_mistakes_are_named(alone, monkeypatch, arguments, variables, error, words) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(error, match=words):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


@needs_gloo
def test_processes_meet_in_a_folder_and_by_a_port(tmp_path: Path) -> None:
    port = _port()
    store = {"LAMELLA_DISTRIBUTED_STORE": "", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    both = [
        [started("hello", rank, 2, tmp_path) for rank in range(2)],
        [started("hello", rank, 2, tmp_path, **store) for rank in range(2)],
    ]
    for processes in both:
        for rank, process in enumerate(processes):
            said, _ = process.communicate(timeout=30)
            assert said.strip() == f"rank {rank} of 2, gloo, sum 1"
    assert is_free(port) and not list(tmp_path.iterdir())

"""States of any shape, which processes write and read together."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamella as lm
import lamella.distributed as dist

from .running import needs_gloo, together


@needs_gloo
def test_processes_write_and_read_states(tmp_path: Path) -> None:
    done = together("states", 2, tmp_path / "store", tmp_path / "states")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2
    # One process reads what two have written.
    found = {"w": lm.zeros((5, 4)), "plain": {"own": -1}}
    dist.load_state(tmp_path / "states", found, group="self")
    assert found["w"].sum().item() != 0.0 and found["plain"]["own"] == 0
    dist.save_state(tmp_path / "states", found, group="self")
    assert list(dist.read_state(tmp_path / "states")) == ["w", "plain"]


def test_what_cannot_be_saved_or_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"two entries are called 'a\.b'"):
        dist.save_state(tmp_path, {"a": {"b": 1}, "a.b": 2}, group="self")
    for read in (dist.read_state, lambda folder: dist.load_state(folder, {}, group="self")):
        with pytest.raises(FileNotFoundError, match="holds no state"):
            read(tmp_path / "nosuch")

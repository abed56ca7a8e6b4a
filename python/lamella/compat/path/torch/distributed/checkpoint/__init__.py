"""Checkpoints that processes write and read together: :func:`lamella.distributed.save_state` by PyTorch's names.

The files are Lamella's, not PyTorch's; any number of processes reads them, in any layout.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import lamella as lm
import lamella.distributed as native
from lamella.compat.front import add_paths, close_module

from ... import serialization


@runtime_checkable
class Stateful(Protocol):
    """An object with a state, which is saved and loaded in its place."""

    def state_dict(self) -> dict[str, Any]:
        """Returns the state."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a state."""


class _Files:
    """A folder of files.

    Args:
        path: the folder.
        options: accepted; nothing changes.
    """

    def __init__(self, path: str | os.PathLike[str], *args: Any, **options: Any) -> None:
        self.path = Path(path)


class FileSystemWriter(_Files):
    """Writes to a folder."""


class FileSystemReader(_Files):
    """Reads from a folder."""


def _folder(caller: str, checkpoint_id: Any, files: Any) -> Path:
    if checkpoint_id is None and files is None:
        raise ValueError(f"[{caller}] checkpoint_id is the path of a folder")
    return Path(checkpoint_id) if checkpoint_id is not None else files.path


def _opened(state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a state in which those of objects are in their places."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) and not isinstance(value, dict) else value
        for key, value in state.items()
    }


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Saves a state; all processes call it together, and each writes its part.

    Args:
        state_dict: nested dicts of tensors, plain values, and objects with ``state_dict()``.
        checkpoint_id: the folder.
        storage_writer: a :class:`FileSystemWriter`, in the place of ``checkpoint_id``.
        planner: accepted; nothing changes.
        process_group: the processes; None is the default group.
        no_dist: True where this process saves by itself.
    """
    group = "self" if no_dist else process_group
    native.save_state(_folder("save", checkpoint_id, storage_writer), _opened(state_dict), group=group)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Overwrites a state in place by a saved one; all processes call it together.

    Args:
        state_dict: what :func:`save` was given, of tensors in any layout.
        checkpoint_id: the folder.
        storage_reader: a :class:`FileSystemReader`, in the place of ``checkpoint_id``.
        planner: one that allows partial loading lets entries be missing.
        process_group: the processes; None is the default group.
        no_dist: True where this process loads by itself.
    """
    opened = _opened(state_dict)
    group = "self" if no_dist else process_group
    strict = not getattr(planner, "allow_partial_load", False)
    native.load_state(_folder("load", checkpoint_id, storage_reader), opened, group=group, strict=strict)
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful) and not isinstance(value, dict):
            value.load_state_dict(opened[key])
        else:
            state_dict[key] = opened[key]


def async_save(state_dict: dict[str, Any], **options: Any) -> Future[None]:
    """Saves a state as it is now; see :func:`save`.

    It is written before this returns, as all processes of a group call its operations in one order.
    """
    written: Future[None] = Future()
    save(state_dict, **options)
    written.set_result(None)
    return written


class DefaultLoadPlanner:
    """Says what may be missing.

    Args:
        flatten_state_dict: accepted; nothing changes.
        flatten_sharded_tensors: accepted; nothing changes.
        allow_partial_load: True lets entries be missing.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load


class DefaultSavePlanner:
    """Accepted; nothing changes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        pass


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Writes a checkpoint of several processes as one file of ``torch.save``; one process calls it."""
    serialization.save(native.read_state(dcp_checkpoint_dir), torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Writes a file of ``torch.save`` as a checkpoint of several processes; one process calls it."""
    with lm.no_grad():
        native.save_state(dcp_checkpoint_dir, serialization.load(torch_save_path, weights_only=False), group="self")


__getattr__ = close_module(__name__)
add_paths(
    "torch",
    {
        f"{__name__}.stateful": {__name__: "Stateful"},
        f"{__name__}.filesystem": {__name__: "FileSystemReader FileSystemWriter"},
        f"{__name__}.default_planner": {__name__: "DefaultLoadPlanner DefaultSavePlanner"},
        f"{__name__}.format_utils": {__name__: "dcp_to_torch_save torch_save_to_dcp"},
        f"{__name__}.state_dict_saver": {__name__: "save async_save"},
        f"{__name__}.state_dict_loader": {__name__: "load"},
    },
)

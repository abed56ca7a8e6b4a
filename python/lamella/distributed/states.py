"""States of any shape, such as dicts of models' and optimizers' states, that processes write and read together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ._checkpoint_files import Index, Reader, complete, folder_of
from ._named_state import part_of
from ._objects import broadcast_object
from ._parts import Part
from .checkpoints import agree, newest_whole, processes_of, write

__all__ = ["load_state", "read_state", "save_state"]


def save_state(
    folder: str | os.PathLike[str], state: dict[str, Any], *, group: ProcessGroup | str | None = None
) -> Path:
    """Saves a state: nested dicts and lists of tensors and plain values.

    All processes call it together. Tensors may be plain, global ones, or what
    :meth:`FullyShardedDataParallel.sharded_state_dict` gives: each process writes its part, and of what several have,
    one of them writes it. Other values are each process's own. The state that the folder held before is replaced.

    Args:
        folder: A folder that all processes see; made if it does not exist.
        state: The state.
        group: The processes, or their group's name; None is the default group, or this process where there is none.

    Returns:
        The folder of its files.

    Raises:
        TypeError: A value cannot be saved.
        ValueError: Two entries have one name.
        RuntimeError: A process could not write its part; the state before is as it was.
    """
    parts: dict[str, Part] = {}
    own: dict[str, Any] = {}
    paths: list[tuple[str, _Path]] = []
    for one in _entries(state):
        if one.name in parts or one.name in own:
            raise ValueError(f"[save_state] two entries are called '{one.name}', with dots between the names of dicts")
        paths.append((one.name, one.path))
        if one.is_tensor:
            parts[one.name] = part_of(one.value)
        else:
            own[one.name] = one.value
    place = folder_of(Path(folder), 0)
    write("save_state", place, 0, {}, parts, {"values": own, "paths": paths}, processes_of(group))
    return place


def load_state(
    folder: str | os.PathLike[str],
    state: dict[str, Any],
    *,
    group: ProcessGroup | str | None = None,
    strict: bool = True,
) -> None:
    """Overwrites a state by one that :func:`save_state` has saved, on any number of processes and in any layout.

    All processes call it together. Tensors are written to in place, each process's part of them; other values are
    put in the places of those that are there. Entries that were saved and that the state lacks are left out.

    Args:
        folder: The folder.
        state: A state of the structure that was saved.
        group: As for :func:`save_state`.
        strict: False leaves entries as they are that were not saved.

    Raises:
        FileNotFoundError: The folder holds no state.
        ValueError: It is damaged, lacks entries, or has tensors of other shapes: nothing was changed.
    """
    processes = processes_of(group)
    listed = broadcast_object([step for step, _ in complete(Path(folder))], 0, processes)
    if not listed:
        raise FileNotFoundError(f"[load_state] '{folder}' holds no state")
    reader = newest_whole(Path(folder), listed, processes)
    values, _ = _owned(reader, processes.rank)
    entries = list(_entries(state))
    agree("load_state", _failure(reader, values, entries, strict), processes, ValueError)
    with _C.no_grad():
        for one in entries:
            if not one.is_tensor:
                one.holder[one.key] = values.get(one.name, one.value)
            elif one.name in reader.index.tensors:
                own = part_of(one.value)
                own.values.copy_(reader.read(one.name, own.box).astype(own.values.dtype).to(own.values.device))


def read_state(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns a state that :func:`save_state` has saved, of whole tensors. One process calls it, without a group.

    Values that are each process's own are those of the first one that has them.

    Args:
        folder: The folder.

    Raises:
        FileNotFoundError: The folder holds no state.
        ValueError: It is damaged.
    """
    found = complete(Path(folder))
    if not found:
        raise FileNotFoundError(f"[read_state] '{folder}' holds no state")
    reader = Reader(found[0][1], Index.read(found[0][1]))
    reader.check(range(len(reader.index.files)))
    values, paths = _owned(reader, 0)
    return dict(_built([(path, values[name] if name in values else reader.read(name)) for name, path in paths.items()]))


#: The keys that lead to an entry, each with whether it counts the members of a list.
_Path = tuple[tuple[Any, bool], ...]


class _Entry(NamedTuple):
    """An entry of a state that is no dict or list of others."""

    name: str
    path: _Path
    holder: Any
    key: Any
    value: Any

    @property
    def is_tensor(self) -> bool:
        """True for a tensor, or a part of one."""
        return isinstance(self.value, Tensor | Part)


def _entries(state: Any, prefix: str = "", path: _Path = ()) -> Iterator[_Entry]:
    is_list = isinstance(state, list)
    for key, value in list(enumerate(state) if is_list else state.items()):
        name, here = f"{prefix}{key}", (*path, (key, is_list))
        if isinstance(value, dict | list) and value and not (isinstance(value, list) and _is_plain(value)):
            yield from _entries(value, f"{name}.", here)
        else:
            yield _Entry(name, here, state, key, value)


def _built(entries: list[tuple[_Path, Any]]) -> Any:
    """Returns nested dicts and lists of values by their paths."""
    if not entries:
        return {}
    if not entries[0][0]:
        return entries[0][1]
    members: dict[Any, list[tuple[_Path, Any]]] = {}
    for path, value in entries:
        members.setdefault(path[0][0], []).append((path[1:], value))
    made = {key: _built(inner) for key, inner in members.items()}
    return [made[key] for key in sorted(made)] if entries[0][0][0][1] else made


def _is_plain(values: list[Any]) -> bool:
    """True for a list that has no tensors in it, and is kept as it is."""
    return not any(isinstance(value, dict | list | Tensor | Part) for value in values)


def _owned(reader: Reader, rank: int) -> tuple[dict[str, Any], dict[str, _Path]]:
    """Returns the values of the process of the same rank, and those that only others have; and all entries' paths."""
    count = len(reader.index.files)
    values: dict[str, Any] = {}
    paths: dict[str, _Path] = {}
    for number in [rank % count, *(other for other in range(count) if other != rank % count)]:
        own = reader.own(number)
        values = {**own["values"], **values}
        paths |= {name: path for name, path in own["paths"] if name not in paths}
    return values, paths


def _failure(reader: Reader, values: dict[str, Any], entries: list[_Entry], strict: bool) -> str:
    """Returns what is wrong with the entries that are to be loaded; nothing where all fit."""
    known = reader.index.tensors
    lacking = [one.name for one in entries if one.name not in (known if one.is_tensor else values)]
    if strict and lacking:
        return f"[load_state] the folder has no {', '.join(lacking[:5])}"
    for one in entries:
        if one.is_tensor and one.name in known and known[one.name].shape != tuple(one.value.shape):
            return (
                f"[load_state] '{one.name}' has shape {list(known[one.name].shape)} in the folder, "
                f"{list(one.value.shape)} in the state"
            )
    return ""

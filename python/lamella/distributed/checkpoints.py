"""Checkpoints that several processes write and read together, each its part, on any number of processes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import io
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..io import _safetensors
from ..io._drafts import replacing
from ..io._structure import flatten
from ..io.checkpoints import Checkpoint, CheckpointWarning, load_all, random_state, restore_random
from ..nn import Module
from ..optim import Optimizer
from . import _named_state
from ._checkpoint_files import (
    Index,
    Reader,
    complete,
    description,
    folder_of,
    planned,
    remove_but,
    write_index,
    write_part,
)
from ._groups import group_of, is_initialized
from ._objects import all_gather_object, broadcast_object
from ._parts import Box, Part

__all__ = ["gather_checkpoint", "load_checkpoint", "save_checkpoint"]

#: Names that parts cannot have.
_TAKEN = ("own", "random", "step")


def save_checkpoint(
    folder: str | os.PathLike[str],
    step: int,
    *,
    random: bool = True,
    keep: int | None = None,
    group: ProcessGroup | str | None = None,
    **parts: Any,
) -> Path:
    """Saves a training run: ``save_checkpoint(folder, step, model=model, optimizer=optimizer, loader=loader, keep=3)``.

    All processes call it together. Each writes its own part of the models and of their optimizers' states to a file of
    its own, ``checkpoint-STEP/part-...safetensors``, with a checksum; of what several have, one of them. Then an index
    is written, with which the checkpoint counts: it is there whole or not at all. Models may be plain, global tensors
    (:func:`parallelize`), :class:`DistributedDataParallel`, :class:`FullyShardedDataParallel` or :class:`Pipeline`, and
    names are those of the plain model.

    Args:
        folder: Where checkpoints lie, a folder that all processes see; made if it does not exist.
        step: Number of the step, at least 0. One that was saved already is replaced.
        random: Saves the states of all default generators, of each process.
        keep: Number of checkpoints to keep, this one and those of the highest other steps; all if None.
        group: The processes, or their group's name; None is the default group, or this process where there is none.
        parts: By name, models, optimizers of them, other objects with ``state_dict()``, and states themselves, of which
            each process saves its own.

    Returns:
        The checkpoint's folder.

    Raises:
        TypeError: A part has no ``state_dict`` and cannot be saved as it is.
        ValueError: ``step`` or ``keep`` is out of range, a part has a name of the checkpoint's own, or an optimizer
            moves shards of a model that is not among the parts.
        RuntimeError: A process could not write its part; the checkpoint before is as it was.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    if type(step) is not int or step < 0:
        raise ValueError(f"[save_checkpoint] step is an int of at least 0, not {step!r}")
    if keep is not None and (type(keep) is not int or keep < 1):
        raise ValueError(f"[save_checkpoint] keep is a positive int, not {keep!r}")
    processes = processes_of(group)
    kinds, tensors, own = _collected(parts)
    own["random"] = random_state() if random else None
    place = folder_of(Path(folder), step)
    write("save_checkpoint", place, step, kinds, tensors, own, processes)
    if keep is not None:
        failure = ""
        if processes.rank == 0:
            try:
                others = [path for _, path in complete(Path(folder)) if path != place]
                remove_but(Path(folder), [place, *others[: keep - 1]])
            except OSError as error:
                failure = f"{type(error).__name__}: {error}"
        agree("save_checkpoint", failure, processes)
    return place


def write(
    caller: str,
    place: Path,
    step: int,
    kinds: Mapping[str, str],
    tensors: Mapping[str, Part],
    own: Mapping[str, Any],
    processes: ProcessGroup,
) -> None:
    """Writes a checkpoint's folder: each process its parts of tensors and its own values, the first one the index."""
    attempt = broadcast_object(os.urandom(4).hex(), 0, processes)
    files = [f"part-{rank:05d}-of-{processes.size:05d}-{attempt}.safetensors" for rank in range(processes.size)]
    described = all_gather_object({name: description(part) for name, part in tensors.items()}, processes)
    entries, writes = planned(described)
    chosen = {name: tensors[name].values for name in writes[processes.rank]}
    failure = ""
    try:
        place.mkdir(parents=True, exist_ok=True)
        write_part(place, files[processes.rank], chosen, own)
    except (OSError, TypeError, ValueError, MemoryError) as error:
        failure = f"{type(error).__name__}: {error}"
    agree(caller, failure, processes)
    failure = ""
    if processes.rank == 0:
        try:
            write_index(place, Index(step, files, dict(kinds), entries))
        except (OSError, MemoryError) as error:
            failure = f"{type(error).__name__}: {error}"
    agree(caller, failure, processes)


def load_checkpoint(
    folder: str | os.PathLike[str],
    *,
    step: int | None = None,
    random: bool = True,
    group: ProcessGroup | str | None = None,
    **parts: Any,
) -> Checkpoint:
    """Goes on from a checkpoint: ``load_checkpoint(folder, model=model, optimizer=optimizer, loader=loader)``.

    All processes call it together; they may be more or fewer than those that saved, and the models may be wrapped in
    another way. Each reads what it keeps. The newest checkpoint whose checksums are right is taken; for each newer one
    that is damaged there is a :class:`lamella.io.CheckpointWarning`. On as many processes as saved, training goes on
    bit for bit. On another number, parts that are neither models nor their optimizers, and random states, are those of
    the process of the same rank, counted modulo those that saved.

    Args:
        folder: Where :func:`save_checkpoint` put them.
        step: Of the checkpoint to take, with no other in its place; the newest if None.
        random: Restores the random states, if they were saved.
        group: As for :func:`save_checkpoint`.
        parts: Models, their optimizers and other objects with ``load_state_dict``, by the names under which they were
            saved.

    Returns:
        The step, the folder, and all parts of this process that were not asked for and are no tensors of models.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: All are damaged, or a part is not in the checkpoint or does not fit: nothing was loaded.
        TypeError: An object has no ``load_state_dict``.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    for name, part in parts.items():
        if not hasattr(part, "load_state_dict"):
            raise TypeError(f"[load_checkpoint] {name}: {type(part).__name__} has no load_state_dict")
    processes = processes_of(group)
    place = Path(folder)
    listed = [number for number, _ in complete(place) if step is None or number == step]
    steps = broadcast_object(listed, 0, processes)
    if not steps:
        raise FileNotFoundError(f"[load_checkpoint] '{place}' has no checkpoint" + (f" {step}" if step else ""))
    reader = newest_whole(place, steps, processes)
    count = len(reader.index.files)
    every = [reader.own(number) for number in range(count)]
    own = every[processes.rank % count]
    models = {name: part for name, part in parts.items() if isinstance(part, Module)}
    failure, saved = "", {}
    try:
        _check(reader, parts)
        for name, part in parts.items():
            if (owner := _named_state.owner_of(part, models)) is not None:
                saved[name] = _named_state.merged([one[name] for one in every])
                _named_state.check_groups(part, owner, saved[name]["param_groups"])
        # What may still not fit comes first, and gets its old state back then.
        load_all({name: part for name, part in parts.items() if reader.index.kinds[name] == "other"}, own)
    except ValueError as error:
        failure = str(error)
    agree("load_checkpoint", failure, processes, ValueError)
    for name, part in models.items():
        extras = {key: x for one in every for key, x in one[name].items()}
        _named_state.load_model(part, _reads(reader, name), {**extras, **own[name]})
    for name, state in saved.items():
        owner = _named_state.owner_of(parts[name], models)
        assert owner is not None
        _named_state.load_optimizer(parts[name], owner, _keys(reader, name), _reads(reader, name), state)
    if random and own["random"] is not None:
        restore_random(own["random"])
    rest = {name: value for name, value in own.items() if name not in parts and name != "random"}
    values = {name: value for name, value in rest.items() if reader.index.kinds[name] == "other"}
    return Checkpoint(reader.index.step, reader.folder, values)


def gather_checkpoint(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    step: int | None = None,
    part: str | None = None,
) -> Path:
    """Writes a checkpoint of several processes as one plain file. One process calls it, without a group.

    Args:
        folder: Where :func:`save_checkpoint` put the checkpoint.
        target: A file that ends in ``.safetensors``, or a folder, in which the file is called
            ``checkpoint-STEP.safetensors``: there :func:`lamella.io.load_checkpoint` finds it, for plain models and
            optimizers.
        step: Of the checkpoint; the newest if None.
        part: The name of a model, for a file of its tensors alone, which :func:`lamella.io.load_weights` takes; None
            for all parts. Those that are neither models nor their optimizers are those of the first process.

    Returns:
        The file's path.

    Raises:
        FileNotFoundError: There is no checkpoint.
        ValueError: It is damaged, or has no model of that name.
    """
    found = [(number, path) for number, path in complete(Path(folder)) if step is None or number == step]
    if not found:
        raise FileNotFoundError(f"[gather_checkpoint] '{folder}' has no checkpoint" + (f" {step}" if step else ""))
    reader = Reader(found[0][1], Index.read(found[0][1]))
    reader.check(range(len(reader.index.files)))
    every = [reader.own(number) for number in range(len(reader.index.files))]
    kinds = reader.index.kinds
    file = Path(target)
    if file.suffix != ".safetensors":
        file.mkdir(parents=True, exist_ok=True)
        file = file / f"checkpoint-{reader.index.step:09d}.safetensors"
    models = {name: _whole_model(reader, name, every) for name, kind in kinds.items() if kind == "model"}
    if part is not None:
        if part not in models:
            raise ValueError(
                f"[gather_checkpoint] the models of {reader.folder.name} are {sorted(models)}, not {part!r}"
            )
        io.save(models[part], file)
        return file
    states: dict[str, Any] = {"step": reader.index.step, "random": every[0]["random"]}
    for name, kind in kinds.items():
        if kind == "optimizer":
            saved = _named_state.merged([one[name] for one in every])
            states[name] = _whole_optimizer(reader, name, saved, models)
        else:
            states[name] = models[name] if kind == "model" else every[0][name]
    tensors, tree = flatten(states)
    write = _safetensors.writer(tensors, _safetensors.text_of(None, tree), checked=True)
    with replacing(file) as stream:
        write(stream)
    return file


def processes_of(group: ProcessGroup | str | None) -> ProcessGroup:
    return group_of("self" if group is None and not is_initialized() else group)


def _collected(parts: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Part], dict[str, Any]]:
    """Returns the kinds of parts, this process's parts of tensors, and its own values."""
    models = {name: part for name, part in parts.items() if isinstance(part, Module)}
    kinds: dict[str, str] = {}
    tensors: dict[str, Part] = {}
    own: dict[str, Any] = {}
    for name, part in parts.items():
        if name in _TAKEN:
            raise ValueError(f"[save_checkpoint] the name '{name}' is the checkpoint's own")
        owner = _named_state.owner_of(part, models)
        if name in models:
            kinds[name] = "model"
            found, own[name] = _named_state.of_model(part)
        elif owner is not None:
            kinds[name] = "optimizer"
            found, own[name] = _named_state.of_optimizer(part, owner)
        else:
            if isinstance(part, Optimizer) and _moves_shards(part):
                raise ValueError(f"[save_checkpoint] '{name}' moves shards of a model: save the model with it")
            kinds[name] = "other"
            found, own[name] = {}, part.state_dict() if hasattr(part, "state_dict") else part
        tensors |= {f"{name}.{key}": x for key, x in found.items()}
    return kinds, tensors, own


def _moves_shards(optimizer: Optimizer) -> bool:
    return any(getattr(p, "is_shard", False) for group in optimizer.param_groups for p in group["params"])


def agree(op: str, failure: str, processes: ProcessGroup, kind: type[Exception] = RuntimeError) -> None:
    """Raises on all processes if one has failed."""
    failures = all_gather_object(failure, processes)
    for rank, text in enumerate(failures):
        if text:
            raise kind(text if text.startswith("[") else f"[{op}] rank {rank} of {processes.size} failed: {text}")


def newest_whole(folder: Path, steps: list[int], processes: ProcessGroup) -> Reader:
    damage: list[str] = []
    for number in steps:
        place = folder_of(folder, number)
        failure, reader = "", None
        try:
            reader = Reader(place, Index.read(place))
            reader.check(range(processes.rank, len(reader.index.files), processes.size))
        except (OSError, ValueError) as error:
            failure = str(error)
        failures = [text for text in all_gather_object(failure, processes) if text]
        if not failures and reader is not None:
            for text in damage:
                warnings.warn(f"{text}: going on from {place.name}", CheckpointWarning, stacklevel=3)
            return reader
        damage.append(failures[0])
    raise ValueError("[load_checkpoint] no checkpoint is whole: " + "; ".join(damage))


def _check(reader: Reader, parts: Mapping[str, Any]) -> None:
    """ValueError where a part is not in the checkpoint, or does not fit."""
    kinds = reader.index.kinds
    models = {name: part for name, part in parts.items() if isinstance(part, Module)}
    for name, part in parts.items():
        if name not in kinds:
            raise ValueError(f"[load_checkpoint] {reader.folder.name} has no part {name}")
        is_model = isinstance(part, Module)
        if is_model != (kinds[name] == "model") or (kinds[name] == "optimizer" and not isinstance(part, Optimizer)):
            raise ValueError(f"[load_checkpoint] '{name}' was saved of another kind of object ({kinds[name]})")
        if kinds[name] == "optimizer" and _named_state.owner_of(part, models) is None:
            raise ValueError(f"[load_checkpoint] '{name}' was saved with its model: load the model with it")
        if not is_model:
            continue
        for key, held in _named_state.of_model(part)[0].items():
            entry = reader.index.tensors.get(f"{name}.{key}")
            if entry is None:
                raise ValueError(f"[load_checkpoint] {reader.folder.name} has no '{name}.{key}'")
            if entry.shape != held.shape:
                raise ValueError(
                    f"[load_checkpoint] '{name}.{key}' has shape {list(entry.shape)} in the checkpoint, "
                    f"{list(held.shape)} in the model"
                )


def _reads(reader: Reader, part: str) -> Any:
    def read(name: str, box: Box) -> Tensor:
        return reader.read(f"{part}.{name}", box)

    return read


def _keys(reader: Reader, part: str) -> dict[str, list[str]]:
    """Returns the names of an optimizer's tensors of state, by those of the parameters."""
    found: dict[str, list[str]] = {}
    for name in reader.index.tensors:
        if name.startswith(f"{part}."):
            parameter, _, key = name.removeprefix(f"{part}.").rpartition(".")
            found.setdefault(parameter, []).append(key)
    return found


def _whole_model(reader: Reader, part: str, every: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in reader.index.tensors if name.startswith(f"{part}.")]
    state: dict[str, Any] = {name.removeprefix(f"{part}."): reader.read(name) for name in names}
    for one in every:
        state |= one[part]
    return state


def _whole_optimizer(
    reader: Reader, part: str, saved: dict[str, Any], models: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Returns an optimizer's state as a plain one has it: by the positions of parameters in their model's order."""
    wanted = {name for group in saved["param_groups"] for name in group["params"]}
    order = next(list(state) for state in models.values() if wanted <= set(state))
    keys = _keys(reader, part)
    state: dict[int, dict[str, Any]] = {}
    groups = []
    position = 0
    for group in saved["param_groups"]:
        names = sorted(group["params"], key=order.index)
        for i, name in enumerate(names, position):
            values = dict(saved["state"].get(name, {}))
            values |= {key: reader.read(f"{part}.{name}.{key}") for key in keys.get(name, [])}
            if values:
                state[i] = values
        groups.append({**group, "params": list(range(position, position + len(names)))})
        position += len(names)
    return {"state": state, "param_groups": groups}

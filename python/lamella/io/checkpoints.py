"""Checkpoints: all that a training run needs to go on, bit for bit, in one file of which the newest few are kept."""

from __future__ import annotations

import copy
import os
import random as python_random
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamella as lm

from . import _safetensors, named_memory_errors
from ._drafts import replacing
from ._structure import TREE, flatten, unflatten

_NAME = re.compile(r"checkpoint-(\d+)\.safetensors")
_OWN = ("step", "random")


class CheckpointWarning(UserWarning):
    """A checkpoint is damaged, and the one before it was taken."""


class Checkpoint(NamedTuple):
    """Describes the checkpoint that :func:`load_checkpoint` took."""

    #: Number of the step after which it was saved.
    step: int
    path: Path
    #: Parts that were not loaded into an object, by name.
    values: dict[str, Any]


def save_checkpoint(
    folder: str | os.PathLike[str], step: int, *, random: bool = True, keep: int | None = None, **parts: Any
) -> Path:
    """Saves a training run: ``save_checkpoint(folder, step, model=net, optimizer=optimizer, loader=loader, keep=3)``.

    The file, ``checkpoint-STEP.safetensors``, appears whole or not at all and holds a checksum of itself. Its tensors
    have dotted names (``model.0.weight``), and the rest is JSON: nothing in it is code.

    Args:
        folder: where checkpoints lie; made if it does not exist.
        step: number of the step, at least 0. One that was saved already is replaced.
        random: saves the states of all default generators of Lamella, and those of ``random`` and ``numpy.random``.
        keep: number of checkpoints to keep, this one and those of the highest other steps; all if None.
        parts: by name, objects with ``state_dict()``, or states themselves: what :func:`save` takes.

    Returns:
        The file's path.

    Raises:
        TypeError: a part has no ``state_dict`` and cannot be saved as it is.
        ValueError: ``step`` or ``keep`` is out of range, or a part has a name of the checkpoint's own.
        MemoryError: there is no memory for the file's parts.
    """
    if type(step) is not int or step < 0:
        raise ValueError(f"[save_checkpoint] step is an int of at least 0, not {step!r}")
    if keep is not None and (type(keep) is not int or keep < 1):
        raise ValueError(f"[save_checkpoint] keep is a positive int, not {keep!r}")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    target = place / f"checkpoint-{step:09d}.safetensors"
    with named_memory_errors("save_checkpoint", target):
        states = {name: part.state_dict() if hasattr(part, "state_dict") else part for name, part in parts.items()}
        tensors, tree = flatten({"step": step, "random": random_state() if random else None, **states})
        write = _safetensors.writer(tensors, _safetensors.text_of(None, tree), checked=True)
        with replacing(target) as file:
            write(file)
    if keep is not None:
        others = [(number, path) for number, path in _checkpoints(place) if path.name != target.name]
        for _, path in others[keep - 1 :]:
            path.unlink(missing_ok=True)
    return target


def load_checkpoint(
    folder: str | os.PathLike[str], *, step: int | None = None, random: bool = True, **parts: Any
) -> Checkpoint:
    """Goes on from a checkpoint: ``load_checkpoint(folder, model=net, optimizer=optimizer, loader=loader)``.

    The newest whose checksum is right is taken; for each newer one that is damaged there is a
    :class:`CheckpointWarning`. If a part does not fit its object, those loaded before it get their old states back,
    of which there are copies meanwhile.

    Args:
        folder: where :func:`save_checkpoint` put them.
        step: of the checkpoint to take, with no other in its place; the newest if None.
        random: restores the random states, if they were saved.
        parts: objects with ``load_state_dict``, by the names under which they were saved.

    Returns:
        The step, the file, and all parts that were not asked for.

    Raises:
        FileNotFoundError: there is no checkpoint.
        ValueError: all are damaged, or a part is not in the checkpoint or does not fit its object.
        TypeError: an object has no ``load_state_dict``.
    """
    for name, part in parts.items():
        if not hasattr(part, "load_state_dict"):
            raise TypeError(f"[load_checkpoint] {name}: {type(part).__name__} has no load_state_dict")
    place = Path(folder)
    found = [(number, path) for number, path in _checkpoints(place) if step is None or number == step]
    if not found:
        raise FileNotFoundError(f"[load_checkpoint] '{place}' has no checkpoint" + (f" {step}" if step else ""))
    state, path = _newest_whole(found)
    saved = {name: value for name, value in state.items() if name not in _OWN}
    missing = [name for name in parts if name not in saved]
    if missing:
        raise ValueError(f"[load_checkpoint] {path.name} has no part {', '.join(missing)}")
    load_all(parts, saved)
    if random and state["random"] is not None:
        restore_random(state["random"])
    return Checkpoint(state["step"], path, {name: value for name, value in saved.items() if name not in parts})


def _checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Returns the checkpoints in a folder, the newest first."""
    if not folder.is_dir():
        return []
    found = [(int(match[1]), folder / match[0]) for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]
    return sorted(found, reverse=True)


def _newest_whole(found: list[tuple[int, Path]]) -> tuple[dict[str, Any], Path]:
    damage: list[str] = []
    for _, path in found:
        try:
            state = _read(path)
        except ValueError as error:
            damage.append(str(error))
            continue
        for text in damage:
            warnings.warn(f"{text}: going on from {path.name}", CheckpointWarning, stacklevel=3)
        return state, path
    raise ValueError("[load_checkpoint] no checkpoint is whole: " + "; ".join(damage))


def _read(path: Path) -> dict[str, Any]:
    with named_memory_errors("load_checkpoint", path):
        _safetensors.check(path)
        tensors, text = _safetensors.read(path)
        state = unflatten(tensors, text.get(TREE, ""), path)
    if not isinstance(state, dict) or not set(_OWN) <= set(state):
        raise ValueError(f"[load_checkpoint] {path.name} is no checkpoint")
    return state


def load_all(parts: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Loads states into objects; if one does not fit, those before it get their old states back."""
    before: dict[str, Any] = {}
    for name, part in parts.items():
        try:
            if len(parts) > 1 and hasattr(part, "state_dict"):
                before[name] = copy.deepcopy(part.state_dict())
            part.load_state_dict(states[name])
        except BaseException as error:
            for earlier, old in before.items():
                parts[earlier].load_state_dict(old)
            error.add_note(f"[load_checkpoint] of the part '{name}'; all parts are as they were")
            raise


def random_state() -> dict[str, Any]:
    """Returns the states of all default generators of Lamella, and those of ``random`` and ``numpy.random``."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    return {
        "lamella": {device: list(state) for device, state in lm.random.rng_states().items()},
        "python": python_random.getstate(),
        "numpy": [kind, [int(key) for key in keys], position, has_gauss, gauss],
    }


def restore_random(state: Mapping[str, Any]) -> None:
    """Restores what :func:`random_state` gave."""
    lm.random.restore_rng_states({device: tuple(numbers) for device, numbers in state["lamella"].items()})
    python_random.setstate(state["python"])
    kind, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), position, has_gauss, gauss))

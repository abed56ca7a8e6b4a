"""Weights of other programs for a module: found by name, renamed, and checked before any is copied."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lamella.nn.module import Module

from . import load
from ._structure import INDEX

Renaming = Mapping[str, str | None] | Callable[[str], str | None]


def load_weights(
    module: Module,
    path: str | os.PathLike[str],
    mapping: Renaming | None = None,
    strict: bool = True,
) -> tuple[list[str], list[str]]:
    """Copies the tensors of a file into a module's parameters and buffers, cast to their dtypes.

    Args:
        module: takes the tensors.
        path: what :func:`load` or :func:`load_torch` reads (``.pt``, ``.pth`` and ``.bin`` by the latter), or a folder
            that holds ``model.safetensors`` or ``model.safetensors.index.json``. A single dictionary within the file's
            own, such as ``{"state_dict": {...}, "epoch": 3}``, is taken for the tensors.
        mapping: the module's name for each of the file's: a function, or a mapping of beginnings of dotted names,
            of which the longest that fits is replaced, ``{"bert.encoder": "encoder"}``. None in place of a name leaves
            the tensor out.
        strict: False lets entries be missing or unexpected; shapes have to match all the same.

    Returns:
        The missing and the unexpected names, both empty where ``strict``.

    Raises:
        StateDictError: (a ``ValueError``) names every entry that does not fit; the module is as it was.
        ValueError: the file is damaged or holds no tensors by name, or two of its names become one.
        FileNotFoundError: there is no such file.
    """
    if not isinstance(module, Module):
        raise TypeError(f"[load_weights] module: expected a Module, got {type(module).__name__}")
    target = Path(path)
    if target.is_dir():
        target = _in_folder(target)
    if target.suffix in (".pt", ".pth", ".bin"):
        from .pytorch import load_torch

        state = load_torch(target)
    else:
        state = load(target)
    renamed: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, tensor in _tensors_in(state, target).items():
        new = _renamed(name, mapping)
        if new is None:
            continue
        if new in renamed:
            raise ValueError(f"[load_weights] '{origin[new]}' and '{name}' both become '{new}'")
        renamed[new], origin[new] = tensor, name
    return module.load_state_dict(renamed, strict=strict)


def _in_folder(folder: Path) -> Path:
    for name in ("model.safetensors", f"model{INDEX}"):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"[load_weights] '{folder}' holds neither model.safetensors nor model{INDEX}")


def _tensors_in(state: Any, path: Path) -> Mapping[str, Any]:
    """Returns the dictionary of tensors that a state is, or that is the only one in it."""

    def holds_tensors(value: Any) -> bool:
        return (
            isinstance(value, Mapping)
            and bool(value)
            and all(isinstance(key, str) and hasattr(item, "shape") for key, item in value.items())
        )

    if holds_tensors(state) or state == {}:
        return state
    found = [value for value in state.values() if holds_tensors(value)] if isinstance(state, Mapping) else []
    if len(found) != 1:
        raise ValueError(f"[load_weights] {path.name} holds {len(found)} dictionaries of tensors, not one")
    return found[0]


def _renamed(name: str, mapping: Renaming | None) -> str | None:
    if mapping is None:
        return name
    if callable(mapping):
        return mapping(name)
    fitting = [old for old in mapping if not old or name == old or name.startswith(f"{old}.")]
    if not fitting:
        return name
    old = max(fitting, key=len)
    new = mapping[old]
    if new is None:
        return None
    return ".".join(part for part in (new, name[len(old) :].lstrip(".")) if part)

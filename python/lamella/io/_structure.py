"""Structure of a state: its tensors under dotted names, and the rest as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lamella as lm

TREE = "lamella.tree"  # name of the description of the structure, beside the tensors
INDEX = ".safetensors.index.json"  # ending of the index of tensors in several files
_MAX_DEPTH = 100


def flatten(state: Any) -> tuple[dict[str, lm.Tensor], Any]:
    """Returns the tensors by dotted name, and a description of the rest (None if there are only names)."""
    tensors: dict[str, lm.Tensor] = {}

    def put(name: str, value: Any) -> str:
        if name in tensors:
            raise ValueError(f"[save] two entries are called '{name}'")
        tensor = value if isinstance(value, lm.Tensor) else lm.asarray(value, device="cpu")
        if str(tensor.device).startswith("meta"):
            raise ValueError(f"[save] '{name}' is on the meta device and has no values")
        tensors[name] = tensor.detach().cpu().contiguous()
        return name

    def describe(value: Any, name: str, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"[save] '{name[:60]}' is nested more than {_MAX_DEPTH} deep, or holds itself")
        if is_array(value):
            return {"tensor": put(name, value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        if isinstance(value, Mapping):
            pairs = []
            for key, item in value.items():
                if not isinstance(key, (str, int)) or isinstance(key, bool):
                    raise TypeError(f"[save] a key is a str or an int, not {type(key).__name__} (in '{name}')")
                pairs.append([key, describe(item, f"{name}.{key}" if name else str(key), depth + 1)])
            return {"dict": pairs}
        if isinstance(value, (list, tuple)):
            items = [
                describe(item, f"{name}.{index}" if name else str(index), depth + 1) for index, item in enumerate(value)
            ]
            return {"tuple" if isinstance(value, tuple) else "list": items}
        raise TypeError(f"[save] '{name}' is {type(value).__name__}, which is neither a tensor nor plain data")

    if isinstance(state, Mapping) and all(isinstance(k, str) and is_array(v) for k, v in state.items()):
        for key, value in state.items():
            put(key, value)
        return tensors, None
    return tensors, describe(state, "", 0)


def utf8(name: str) -> bytes:
    """Returns a name's bytes; ValueError for what UTF-8 cannot hold."""
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"[save] the name {name!r} is no text that UTF-8 can hold: {error.reason}") from error


def is_array(value: Any) -> bool:
    """True for tensors, and for arrays of other libraries."""
    return isinstance(value, lm.Tensor) or (hasattr(value, "__array__") and hasattr(value, "dtype"))


def unflatten(tensors: dict[str, lm.Tensor], text: str, path: Path) -> Any:
    """Returns the state that :func:`flatten` took apart, in new containers.

    Raises:
        ValueError: the description does not fit the tensors.
    """

    def rebuild(node: Any, depth: int) -> Any:
        if depth > _MAX_DEPTH or not isinstance(node, dict) or len(node) != 1:
            raise ValueError
        [(kind, value)] = node.items()
        match kind, value:
            case "tensor", str():
                return tensors[value]
            case "value", None | bool() | int() | float() | str():
                return value
            case "dict", list():
                pairs = {key: rebuild(item, depth + 1) for key, item in value if isinstance(key, (str, int))}
                if len(pairs) != len(value):
                    raise ValueError
                return pairs
            case "list", list():
                return [rebuild(item, depth + 1) for item in value]
            case "tuple", list():
                return tuple(rebuild(item, depth + 1) for item in value)
        raise ValueError

    try:
        return rebuild(json.loads(text), 0)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"[load] {path.name}: the description of the state's structure is damaged") from error

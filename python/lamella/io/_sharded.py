"""Tensors in several safetensors files, and the index that says which holds which.

Source: huggingface.co/docs/safetensors and the files that it links to:
``{"metadata": {...}, "weight_map": {name: file}}``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import lamella as lm

from . import _safetensors


def read(path: Path) -> dict[str, lm.Tensor]:
    """Returns the tensors of all files that an index names, in its order.

    Raises:
        ValueError: the index or a file is damaged, a file lacks a tensor, or lies in another folder.
        FileNotFoundError: a file is missing.
    """
    places = _places(path)
    found: dict[str, dict[str, lm.Tensor]] = {}
    for name in sorted(set(places.values())):
        shard = path.with_name(name)
        if not shard.exists():
            raise FileNotFoundError(f"[load] {path.name} names the file '{name}', which is not beside it")
        found[name] = _safetensors.read(shard)[0]
    for tensor, file in places.items():
        if tensor not in found[file]:
            raise ValueError(f"[load] {path.name}: '{file}' has no tensor '{tensor}'")
    return {tensor: found[file][tensor] for tensor, file in places.items()}


def _places(path: Path) -> dict[str, str]:
    try:
        index = json.loads(path.read_bytes().decode())
        places = index["weight_map"]
        if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
            raise ValueError("'weight_map' is not file by name")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"[load] {path.name}: the index cannot be read: {error}") from error
    for file in places.values():
        # A file elsewhere would be read on behalf of whoever made the index.
        if file != os.path.basename(file) or not file.endswith(".safetensors"):
            raise ValueError(f"[load] {path.name}: '{file[:60]}' is no .safetensors file beside the index")
    return places

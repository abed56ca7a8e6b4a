"""The npz format of numpy: a zip file with an array in each member."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import lamella as lm

from ._structure import TREE, unflatten, utf8

_MAX_MEMBER = 65535 - len(".npy")  # bytes of a name, by the zip format


def writer(tensors: dict[str, lm.Tensor], tree: Any) -> Callable[[BinaryIO], None]:
    """Returns what writes a file of these tensors, and of the description of their structure."""
    import zipfile

    import numpy as np

    arrays = {}
    for name, tensor in tensors.items():
        if name == TREE:
            raise ValueError(f"[save] the name '{TREE}' is Lamella's own")
        if tensor.dtype == lm.bfloat16:
            raise TypeError(f"[save] '{name}' is bfloat16, which .npz lacks (.safetensors has it)")
        arrays[name] = tensor.numpy()
    if tree is not None:
        arrays[TREE] = np.array(json.dumps(tree))
    for name in arrays:
        _check_member(name)
        # numpy looks a name up among the members before it looks for the member that ends in .npy.
        if name.endswith(".npy") and name.removesuffix(".npy") in arrays:
            raise ValueError(
                f"[save] '{name.removesuffix('.npy')}' and '{name}' are one name to what reads .npz files: rename one "
                "of them (.safetensors can hold both)"
            )

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                with archive.open(name + ".npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    return write


def _check_member(name: str) -> None:
    """Refuses what a member of a zip file cannot be called: it would come back under another name, or not at all."""
    if "\0" in name:
        raise ValueError(f"[save] the name {name!r} holds a NUL, at which a name in an .npz file ends: rename it")
    if len(utf8(name)) > _MAX_MEMBER:
        raise ValueError(f"[save] the name '{name[:60]}...' is longer than the {_MAX_MEMBER} bytes that .npz allows")


def read(path: Path) -> Any:
    """Returns the state in a file; see :func:`lamella.io.load` for what it raises."""
    import zipfile

    import numpy as np

    name = ""
    with path.open("rb") as file:
        try:
            # Each member is read by its own name: numpy's look-up takes "a.npy" for the member of that name, which is
            # the array "a".
            with zipfile.ZipFile(file) as archive:
                arrays: dict[str, Any] = {}
                for member in archive.namelist():
                    name = member.removesuffix(".npy")
                    if name == member:
                        raise ValueError("not an array")
                    if name in arrays:
                        raise ValueError("it stands there twice")
                    try:
                        with archive.open(member) as stream:
                            arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
                    except MemoryError as error:
                        claimed = (
                            math.prod(getattr(error, "shape", ())) * getattr(error, "dtype", np.dtype("b")).itemsize
                        )
                        if claimed > archive.getinfo(member).file_size:
                            raise ValueError(str(error)) from error  # damaged: it has no such elements
                        raise
                name = ""
        except MemoryError:
            raise
        # numpy, zipfile and zlib raise a dozen types on damaged bytes; all mean the same here.
        except Exception as error:
            where = f"'{name}' in it " if name else ""
            raise ValueError(f"[load] {path.name}: {where}cannot be read: {error}") from error
    tree = arrays.pop(TREE, None)
    tensors = {}
    for name, array in arrays.items():
        try:
            tensors[name] = lm.asarray(array, device="cpu", copy=True)
        except (TypeError, ValueError) as error:
            raise ValueError(f"[load] {path.name}: '{name}' is of dtype {array.dtype}, which is no tensor's") from error
    if tree is None:
        return tensors
    return unflatten(tensors, str(tree), path)

"""Files: tensors (``.safetensors``, ``.npz``), whole checkpoints of a training run, and weights of other programs.

Nothing that is read here runs code: the formats hold named arrays and text, and of PyTorch's files only tensors and
plain data are rebuilt. A state that is more than a mapping of names to tensors, an optimizer's say, keeps its
structure: its tensors are stored under dotted names and the rest as JSON beside them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from lamella import _lazy

from . import _npz, _safetensors
from ._drafts import replacing
from ._structure import INDEX, TREE, flatten, unflatten

if TYPE_CHECKING:
    from .checkpoints import Checkpoint as Checkpoint
    from .checkpoints import CheckpointWarning as CheckpointWarning
    from .checkpoints import load_checkpoint as load_checkpoint
    from .checkpoints import save_checkpoint as save_checkpoint
    from .pytorch import load_torch as load_torch
    from .weights import load_weights as load_weights

__getattr__, _loaded_later = _lazy.loader(
    __name__,
    {
        "checkpoints": ["Checkpoint", "CheckpointWarning", "load_checkpoint", "save_checkpoint"],
        "pytorch": ["load_torch"],
        "weights": ["load_weights"],
    },
)

__all__ = sorted({"load", "metadata", "save", *_loaded_later})


def __dir__() -> list[str]:
    return __all__


def save(state: Any, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Writes ``state`` to ``path``; the ending chooses the format.

    The file appears whole or not at all: it is written under another name and then renamed. A file that it replaces
    passes its permissions on.

    Args:
        state: a mapping of names to tensors, or nested mappings, lists and tuples of tensors, numbers, strings,
            bools and None. Arrays count as tensors.
        path: ends in ``.safetensors`` or ``.npz``.
        metadata: text to keep in the file (``.safetensors`` only); :func:`metadata` reads it.

    Raises:
        TypeError: ``state`` holds something else, or a dtype that the format lacks.
        ValueError: another ending, a tensor on the ``meta`` device, two entries whose dotted names are the same, a name
            that the format cannot hold (in an ``.npz`` file one with a NUL, or both ``"a"`` and ``"a.npy"``).
        MemoryError: there is no memory for the file's parts.
    """
    with named_memory_errors("save", path):
        target = Path(os.path.realpath(path))
        kind = _kind("save", path)
        tensors, tree = flatten(state)
        if kind == ".safetensors":
            write: Callable[[BinaryIO], None] = _safetensors.writer(tensors, _safetensors.text_of(metadata, tree))
        elif metadata:
            raise ValueError("[save] an .npz file holds no metadata")
        else:
            write = _npz.writer(tensors, tree)
        with replacing(target) as file:
            write(file)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads what :func:`save`, or another program, wrote to ``path``.

    Args:
        path: ends in ``.safetensors`` or ``.npz``, or in ``.safetensors.index.json``: the index of tensors in several
            files, which lie beside it.

    Returns:
        The state with its structure; of a file by another program, a dictionary of names to tensors. The tensors are
        on the CPU.

    Raises:
        ValueError: the file is damaged; the message names the tensor.
        FileNotFoundError: there is no such file.
        MemoryError: there is no memory for the tensors.
    """
    with named_memory_errors("load", path):
        target = Path(path)
        if target.name.endswith(INDEX):
            from . import _sharded

            return _sharded.read(target)
        if _kind("load", path) == ".safetensors":
            tensors, text = _safetensors.read(target)
            return unflatten(tensors, text[TREE], target) if TREE in text else tensors
        return _npz.read(target)


def metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the text that a ``.safetensors`` file keeps beside its tensors."""
    with Path(path).open("rb") as file:
        text = _safetensors.read_header(file, Path(path))[1]
    for own in (TREE, _safetensors.DIGEST):
        text.pop(own, None)
    return text


@contextlib.contextmanager
def named_memory_errors(op: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Gives the interpreter's own MemoryErrors, and those of other libraries, a text that names the call."""
    try:
        yield
    except MemoryError as error:
        if str(error).startswith("["):
            raise
        raise MemoryError(
            f"[{op}] there is no memory for the parts of '{os.fspath(path)}'. {error}".rstrip()
        ) from error


def _kind(op: str, path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    if suffix not in (".safetensors", ".npz"):
        raise ValueError(f"[{op}] '{os.fspath(path)}' ends neither in .safetensors nor in .npz")
    return suffix

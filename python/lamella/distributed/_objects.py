"""Plain values of Python that processes tell each other. They travel as text; nothing that comes is ever unpickled."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ._groups import get_group, name_of

#: Key of a dict that stands for bytes in the text.
_BYTES = "$bytes"


def all_gather_object(value: Any, group: ProcessGroup | str | None = None) -> list[Any]:
    """Returns the values of all processes, in the order of their ranks.

    Args:
        value: None, a bool, a number, a str, bytes, or lists and dicts (with keys of str) of these. A tuple comes as a
            list.
        group: The processes, or their group's name; None is the default group.

    Raises:
        TypeError: The value holds something else.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    name = name_of(group)
    data = _encode(value, "all_gather_object")
    own = _on_host(np.frombuffer(data, dtype=np.uint8).copy())
    lengths = _C.distributed_all_gather(
        _on_host(np.array([len(data)], dtype=np.int64)), sizes=[1] * get_group(name).size, group=name
    ).tolist()
    everything = _C.distributed_all_gather(own, sizes=lengths, group=name).numpy().tobytes()
    values = []
    for length in lengths:
        values.append(_decode(everything[:length]))
        everything = everything[length:]
    return values


def broadcast_object(value: Any = None, root: int = 0, group: ProcessGroup | str | None = None) -> Any:
    """Returns the value of process `root`, on all of them.

    Args:
        value: As for :func:`all_gather_object`; on the other processes it does not count.
        root: The rank in the group.
        group: The processes, or their group's name; None is the default group.

    Raises:
        TypeError: The value holds something else.
        ValueError: There is no such rank.
        DistributedError: A process has died or did not answer within the group's timeout.
    """
    name = name_of(group)
    is_root = get_group(name).rank == root
    data = _encode(value, "broadcast_object") if is_root else b""
    length = _C.distributed_broadcast(_on_host(np.array([len(data)], dtype=np.int64)), root=root, group=name)
    place = np.frombuffer(data, dtype=np.uint8).copy() if is_root else np.zeros(length.item(), dtype=np.uint8)
    return _decode(_C.distributed_broadcast(_on_host(place), root=root, group=name).numpy().tobytes())


def _on_host(array: np.ndarray) -> Tensor:
    """Returns a tensor of the CPU, whatever the default device is: the backend for the host carries it."""
    return _C.asarray(array, device="cpu")


def _encode(value: Any, caller: str) -> bytes:
    return json.dumps(_plain(value, caller), separators=(",", ":")).encode()


def _decode(data: bytes) -> Any:
    return json.loads(data, object_hook=_restored)


def _plain(value: Any, caller: str) -> Any:
    """Returns the value with bytes as dicts of text; keys that look like theirs get another dollar in front."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [_plain(item, caller) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"[{caller}] the keys of a dict are str, not {type(key).__name__} ({key!r})")
        return {("$" + key if key.startswith("$") else key): _plain(item, caller) for key, item in value.items()}
    raise TypeError(
        f"[{caller}] takes None, bool, int, float, str, bytes, and lists and dicts of these, not "
        f"{type(value).__module__}.{type(value).__qualname__}: tensors go through the operations on tensors"
    )


def _restored(items: dict[str, Any]) -> Any:
    if items.keys() == {_BYTES}:
        return base64.b64decode(items[_BYTES])
    return {key.removeprefix("$"): item for key, item in items.items()}

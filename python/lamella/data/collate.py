"""Collating: a list of samples becomes one batch, of the same structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import lamella as lm
from lamella import _tree

_SCALARS = (bool, int, float, complex)
_TEXT = (str, bytes)
#: Makes the arrays in which batches are gathered; in a worker, where they are sent from.
allocate: Callable[[tuple[int, ...], Any], Any] = np.empty
#: Dtype of the floats of samples in a batch; None for that of any Python float.
floats: Any = None
#: Bytes of a batch from which on operators join its arrays.
_LARGE = 1 << 20
NUMBERS = "biufc"  # of numpy's dtypes, those of numbers


def tensor_of(array: Any) -> Any:
    """Returns an array as a tensor on the same memory where it can be; arrays of text, which no tensor holds, as lists.

    Raises:
        TypeError: the array holds something else that no tensor has, such as Python objects or dates.
    """
    if array.dtype.kind in "US":
        return array.tolist()
    if array.dtype.kind not in NUMBERS:
        raise TypeError(f"[default_collate] an array of dtype {array.dtype} makes no tensor. Pass a collate_fn")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.writeable and array.flags.c_contiguous):
        array = np.array(array, order="C")
    return lm.from_numpy(array)


def default_convert(data: Any) -> Any:
    """Returns ``data`` with the arrays in it as tensors.

    Lists, tuples, named tuples, dicts and dataclasses are gone through and keep their types; numbers, text and
    everything else stay as they are. A tensor lies in its array's memory where that is contiguous and may be written.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return tensor_of(np.asarray(data)) if data.dtype.kind in NUMBERS else data
    if (parts := _tree.parts_of(data)) is not None:
        keys, items = parts
        return _tree.shell_of(data, keys)([default_convert(item) for item in items])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Makes a batch of samples: what is at the same place of each becomes one value with a first axis of their number.

    Tensors and arrays of one shape are stacked, in their dtype. Numbers become a 1-d tensor in the dtype that
    :func:`lamella.tensor` gives them. Text stays a list. Lists, tuples, named tuples, dicts and dataclasses keep their
    type and hold the batches of their items. The batch wants no gradient.

    Args:
        batch: the samples, at least one.

    Raises:
        TypeError: samples hold what cannot be put into a batch; the message says where.
        ValueError: there are no samples, or they differ in shape, length or keys.
    """
    if not isinstance(batch, Sequence) or isinstance(batch, _TEXT):
        raise TypeError(f"[default_collate] expected a list of samples, got {type(batch).__name__}")
    if not batch:
        raise ValueError("[default_collate] there are no samples to make a batch of")
    return _collate(list(batch), "")


def _collate(items: list[Any], place: str) -> Any:
    first = items[0]
    if isinstance(first, lm.Tensor):
        _check(items, lm.Tensor, place)
        try:
            with lm.no_grad():
                return lm.stack(items, out=tensor_to_fill(len(items), first))
        except ValueError:
            _check_shapes(items, place)  # whose message says where
            raise
    if isinstance(first, np.ndarray):
        _check(items, np.ndarray, place)
        _check_shapes(items, place)
        return _joined(items) if _are_large(items) else tensor_of(_stacked(items))
    if isinstance(first, np.generic):
        _check(items, np.generic, place)
        return tensor_of(np.stack(items))
    if isinstance(first, _SCALARS):
        _check(items, _SCALARS, place)
        return lm.tensor(items, dtype=floats if isinstance(first, float) else None)
    if isinstance(first, _TEXT):
        return items
    if (parts := _tree.parts_of(first)) is None:
        raise TypeError(
            f"[default_collate] samples hold {type(first).__name__}{_at(place)}, which makes no batch: expected "
            "tensors, arrays, numbers, text, or lists, tuples, dicts and dataclasses of them. Pass a collate_fn"
        )
    keys = list(parts[0])
    columns = _columns(items, keys, parts[1], place)
    batches = [_collate(column, f"{place}[{key!r}]") for key, column in zip(keys, columns, strict=True)]
    return _tree.shell_of(first, keys)(batches)


def tensor_to_fill(count: int, row: lm.Tensor) -> lm.Tensor | None:
    """Returns a tensor for ``count`` rows like this one; None where an operator makes it as well itself."""
    if allocate is np.empty or row.dtype == lm.bfloat16 or not str(row.device).startswith("cpu"):
        return None
    return lm.from_numpy(allocate((count, *row.shape), row.dtype.name))


def _are_large(arrays: list[Any]) -> bool:
    """True for arrays that an operator joins sooner, on several threads and in memory that was used before."""
    first = arrays[0]
    if first.nbytes * len(arrays) < _LARGE or allocate is not np.empty or first.dtype.kind not in NUMBERS:
        return False
    return first.dtype.isnative and all(
        array.dtype == first.dtype and array.flags.c_contiguous and array.flags.writeable for array in arrays
    )


def _joined(arrays: list[Any]) -> lm.Tensor:
    with lm.no_grad():
        return lm.stack([lm.from_numpy(array) for array in arrays])


def _stacked(arrays: list[Any]) -> Any:
    """Returns arrays of one shape as one array; joining them is several times as quick as numpy's stacking."""
    first = arrays[0]
    if first.ndim == 0 or first.dtype.kind not in NUMBERS:
        return np.stack(arrays)
    batch = allocate((len(arrays), *first.shape), np.result_type(*{array.dtype for array in arrays}))
    np.concatenate(arrays, out=batch.reshape(len(arrays) * first.shape[0], *first.shape[1:]))
    return batch


def _columns(items: list[Any], keys: list[Any], first: list[Any], place: str) -> list[list[Any]]:
    """Returns the values of each key over all samples."""
    rows = [first]
    for number, item in enumerate(items[1:], 1):
        parts = _tree.parts_of(item)
        if parts is None:
            raise TypeError(
                f"[default_collate] sample 0 holds {type(items[0]).__name__}{_at(place)}, sample {number} holds "
                f"{type(item).__name__}"
            )
        if len(parts[0]) != len(keys):
            raise ValueError(
                f"[default_collate] sample 0 has {len(keys)} items{_at(place)}, sample {number} has {len(parts[0])}"
            )
        if isinstance(item, Mapping):
            lacking = [key for key in keys if key not in item]
            if lacking:
                raise ValueError(f"[default_collate] sample {number} has no {lacking[0]!r}{_at(place)}")
            rows.append([item[key] for key in keys])
        else:
            rows.append(parts[1])
    return [list(column) for column in zip(*rows, strict=True)]


def _check(items: list[Any], kind: type | tuple[type, ...], place: str) -> None:
    if set(map(type, items)) == {type(items[0])}:  # mostly, and several times as quick as asking each
        return
    for number, item in enumerate(items):
        if not isinstance(item, kind):
            raise TypeError(
                f"[default_collate] sample 0 holds {type(items[0]).__name__}{_at(place)}, sample {number} holds "
                f"{type(item).__name__}"
            )


def _check_shapes(items: list[Any], place: str) -> None:
    if len({item.shape for item in items}) == 1:
        return
    shape = tuple(items[0].shape)
    for number, item in enumerate(items):
        if tuple(item.shape) != shape:
            raise ValueError(
                f"[default_collate] sample 0 has the shape {list(shape)}{_at(place)}, sample {number} has "
                f"{list(item.shape)}: pad them, or pass a collate_fn"
            )


def _at(place: str) -> str:
    return f" at {place}" if place else ""

"""Data: sets of samples, the order in which they are visited, and loaders that make batches of them.

A :class:`DataLoader` takes anything with ``__len__`` and ``__getitem__`` (lists, arrays, tensors, memory maps, a
:class:`Dataset`), or an :class:`IterableDataset`, and gives batches of tensors::

    loader = lm.data.DataLoader(lm.data.TensorDataset(images, labels), batch_size=64, shuffle=True)
    for x, y in loader:
        ...

With ``num_workers`` processes fetch ahead; their arrays come through shared memory.
"""

from __future__ import annotations

from .. import _lazy, _names
from ._worker import WorkerInfo, get_worker_info
from .collate import default_collate, default_convert
from .datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .loader import DataLoader
from .samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .sources import ArrowDataset, ImageFolder, TextLines

__all__ = [
    "ArrowDataset",
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "ImageFolder",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "TextLines",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

__getattr__, _ = _lazy.loader(__name__, {})

_names.explain_arguments(DataLoader)

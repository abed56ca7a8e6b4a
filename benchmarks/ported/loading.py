"""Epochs of data loaders, in PyTorch's words. Datasets are of the kinds that programs write themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Arrays(Dataset):
    """Rows of 32 numbers with a label, as arrays."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((count, 32), np.float32)
        self.y = rng.integers(0, 10, count)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.y[index]


class Records(Arrays):
    """Dicts of an array, a number and a text."""

    def __getitem__(self, index: int) -> Any:
        return {"x": self.x[index], "label": int(self.y[index]), "name": f"record {index}"}


class Tensors(Dataset):
    """Rows as tensors, which a dataset of the program's own takes one by one."""

    def __init__(self, count: int) -> None:
        arrays = Arrays(count)
        self.x, self.y = torch.from_numpy(arrays.x), torch.from_numpy(arrays.y)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.y[index]


class Images(Dataset):
    """Arrays of 3x224x224 float32, normalized as a transform does, with a label."""

    def __init__(self, count: int) -> None:
        self.pixels = np.random.default_rng(1).integers(0, 256, (16, 3, 224, 224), np.uint8)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        image = self.pixels[index % len(self.pixels)].astype(np.float32)
        image /= 255
        return image, index % 10


class Sentences(Dataset):
    """Lists of the numbers of words, of 5 to 40 words, with a label."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(2)
        self.lists = [rng.integers(1, 1000, length).tolist() for length in rng.integers(5, 41, count)]

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, index: int) -> Any:
        return self.lists[index], index % 2


def padded(rows: list[Any]) -> Any:
    """Returns sentences as a matrix with zeros at their ends, their lengths, and their labels."""
    lists, labels = zip(*rows, strict=True)
    tensors = [torch.tensor(each) for each in lists]
    lengths = torch.tensor([len(each) for each in lists])
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True), lengths, torch.tensor(labels)


class Stream(IterableDataset):
    """A stream of rows, of which each worker gives its part."""

    def __init__(self, count: int) -> None:
        self.rows = Arrays(count)

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(first, len(self.rows), step):
            yield self.rows[index]


def tensor_dataset(count: int) -> TensorDataset:
    """Returns the rows and labels as a TensorDataset."""
    tensors = Tensors(count)
    return TensorDataset(tensors.x, tensors.y)


#: Datasets by the rows' names: the function, the number of samples, and the loader's settings.
DATASETS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "arrays": (Arrays, 8192, {"batch_size": 64, "shuffle": True}),
    "records": (Records, 8192, {"batch_size": 64, "shuffle": True}),
    "tensors": (Tensors, 8192, {"batch_size": 64, "shuffle": True}),
    "tensor_dataset": (tensor_dataset, 8192, {"batch_size": 64, "shuffle": True}),
    "images": (Images, 256, {"batch_size": 16, "shuffle": True}),
    "sentences": (Sentences, 4096, {"batch_size": 64, "shuffle": True, "collate_fn": padded}),
    "stream": (Stream, 8192, {"batch_size": 64}),
}


def loader(name: str, workers: int, keep: bool) -> DataLoader:
    """Returns a loader of one of the datasets."""
    make, count, settings = DATASETS[name]
    return DataLoader(make(count), num_workers=workers, **settings, **({"persistent_workers": True} if keep else {}))


def digest(batches: DataLoader) -> torch.Tensor:
    """Returns sums over an epoch of what the batches hold, and their number, whatever their order."""
    totals = np.zeros(4)
    for batch in batches:
        parts = list(batch.values()) if isinstance(batch, dict) else list(batch)
        for place, part in enumerate(parts):
            totals[place] += part.double().sum().item() if torch.is_tensor(part) else len(part)
        totals[3] += 1
    return torch.from_numpy(totals)

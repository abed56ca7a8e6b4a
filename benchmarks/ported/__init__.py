"""Programs written for PyTorch, run by it and by Lamella's front: `benchmarks/run ported` times training steps of the
models of PyTorch's examples, and epochs of data loaders.

The programs say `import torch`, which finds one or the other: nothing in them is written for Lamella.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.agreement import TOLERANCE
from benchmarks.workloads import Work, Workload

#: All workloads by name, in the order of the table.
PORTED: dict[str, Workload] = {}


def _add(name: str, title: str, prepare: Callable[[Any], Work], tolerance: float = TOLERANCE) -> None:
    PORTED[name] = Workload(name, title, prepare, goal=1.0, tolerance=tolerance)


def _add_model(name: str, title: str) -> None:
    def prepare(_: Any) -> Work:
        step, judged = getattr(importlib.import_module("benchmarks.ported.models"), name)()
        return Work("step()", {"step": step, "judged": judged}, ("judged",))

    _add(f"ported_{name}", title, prepare, 1e-3)


_add_model("digits", "mnist's convolutional network, Adadelta step, batch 64")
_add_model("words", "word_language_model's LSTM 200x2, 33,278 words, 20x35 tokens, SGD step")
_add_model("characters", "nanoGPT, 4 layers 128 wide, 12x64 tokens, AdamW step")
_add_model("variational", "vae, 784-400-20, Adam step, batch 128")


def _add_loading(name: str, title: str, workers: int, keep: bool = False) -> None:
    def prepare(_: Any) -> Work:
        loading = importlib.import_module("benchmarks.ported.loading")
        batches = loading.loader(name, workers, keep)
        variables = {"batches": batches, "digest": loading.digest}
        return Work("for batch in batches: pass", variables, ("digest(batches)",))

    kept = "_kept" if keep else ""
    _add(f"loader_{name}_{workers}{kept}", title, prepare, 1e-5)


for _name, _title in {
    "arrays": "a dataset of arrays, 8192 rows of 32, batch 64",
    "records": "a dataset of dicts of an array, a number and a text, 8192, batch 64",
    "tensors": "a dataset of tensors, 8192 rows of 32, batch 64",
    "tensor_dataset": "TensorDataset, 8192 rows of 32, batch 64",
    "images": "a dataset of images, 256 of 3x224x224, batch 16",
    "sentences": "a dataset of lists with a collate_fn that pads, 4096, batch 64",
    "stream": "an iterable dataset, 8192 rows of 32, batch 64",
}.items():
    _add_loading(_name, f"{_title}, an epoch", 0)
    _add_loading(_name, "the same, 2 workers, with their start", 2)
    _add_loading(_name, "the same, 2 workers, kept", 2, keep=True)

"""Writes the files beside it with PyTorch, in both of its formats: ``python make.py``, where torch is installed.

Lamella's tests read them without PyTorch, in ``test_pytorch_files.py``.
"""

import collections
import copy
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent


def numbers(*shape):
    """Returns 0, 1, 2, .. in a shape."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


def training():
    """Returns a checkpoint in the middle of a training, and the weights three steps later."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(numbers(*parameter.shape) / 4 - 0.3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    kept = None
    for step in range(6):
        if step == 3:
            kept = [copy.deepcopy(each.state_dict()) for each in (net, optimizer, scheduler)]
        optimizer.zero_grad()
        (net(numbers(3, 2)) ** 2).sum().backward()
        optimizer.step()
        scheduler.step()
    after = [parameter.tolist() for parameter in net.parameters()]
    return {"model": kept[0], "optimizer": kept[1], "scheduler": kept[2], "after": after}


def files():
    """Returns what is saved, by the names of the files."""
    floats, wide = ("float16", "bfloat16", "float32", "float64"), ("complex64", "complex128")
    integers = ("bool", "uint8", "int8", "int16", "int32", "int64")
    line = numbers(12)
    both = torch.complex(numbers(3), torch.ones(3))
    return {
        "floats": {name: numbers(2, 3).to(getattr(torch, name)) for name in floats + wide},
        "integers": {name: numbers(2, 3).to(getattr(torch, name)) for name in integers},
        "unsigned": {name: numbers(3).to(getattr(torch, name)) for name in ("uint16", "uint32", "uint64")},
        "views": [line.reshape(3, 4), line.reshape(3, 4).t(), line[5:9:2], line[7].expand(2, 2), line],
        "marks": {"conj": both.conj(), "imag of conj": (both * 2).conj().imag},
        "kinds": {
            "parameter": nn.Parameter(numbers(2)),
            "buffer": nn.Buffer(numbers(2)),
            "leaf": numbers(2).requires_grad_(),
        },
        "plain": {
            "od": collections.OrderedDict(a=1),
            "dd": collections.defaultdict(int, a=1),
            "counter": collections.Counter("aab"),
            "size": torch.Size([2, 3]),
            "device": torch.device("cpu"),
            "dtype": torch.float32,
            "list": [1, 2.5, None, True, "a", (1, 2), {3}],
            "big": 2**70,
            "complex": 1 + 2j,
            "bytes": b"abc",
            "scalar": torch.tensor(3.5),
            "empty": torch.zeros(0, 3),
        },
        "training": training(),
        "module": nn.Sequential(nn.Linear(1, 1)),
        "sparse": torch.eye(2).to_sparse(),
        "float8": torch.ones(2).to(torch.float8_e4m3fn),
        "storage": {"a": [torch.ones(2).untyped_storage()]},
    }


if __name__ == "__main__":
    for name, value in files().items():
        torch.save(value, HERE / f"{name}.pt")
        if name != "module":  # which holds the source text of its classes
            torch.save(value, HERE / f"{name}.legacy.pt", _use_new_zipfile_serialization=False)

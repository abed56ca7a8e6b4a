"""Files that PyTorch itself wrote, read natively and through the front, and files of the front that PyTorch reads.

The files are in ``pytorch_files``, whose ``make.py`` says what is in them.
"""

from pathlib import Path

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from support import extensions

FILES = Path(__file__).parent / "pytorch_files"
each_format = pytest.mark.parametrize("ending", [".pt", ".legacy.pt"])


def read(name, ending):
    return lm.io.load_torch(FILES / f"{name}{ending}")


def numbers(*shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@each_format
@pytest.mark.parametrize("name", ["floats", "integers", "unsigned"])
def test_dtypes(name, ending):
    found = read(name, ending)
    assert len(found) >= 3
    for dtype, tensor in found.items():
        assert tensor.dtype.name == dtype
        expected = numbers(*tensor.shape).astype(bool) if dtype == "bool" else numbers(*tensor.shape)
        assert tensor.astype("float64" if "complex" not in dtype else dtype).tolist() == expected.tolist()


@each_format
def test_views(ending):
    matrix, turned, part, spread, line = read("views", ending)
    assert matrix.tolist() == numbers(3, 4).tolist() and turned.tolist() == numbers(3, 4).T.tolist()
    assert part.tolist() == [5, 7] and spread.tolist() == [[7, 7], [7, 7]]
    line[7] = -1.0
    assert matrix[1, 3].item() == turned[3, 1].item() == part[1].item() == spread[0, 0].item() == -1


@each_format
def test_conjugates_and_negatives(ending):
    found = read("marks", ending)
    assert found["conj"].tolist() == [-1j, 1 - 1j, 2 - 1j] and found["imag of conj"].tolist() == [-2, -2, -2]


@each_format
def test_parameters_and_plain_data(ending):
    kinds = read("kinds", ending)
    assert list(kinds) == ["parameter", "buffer", "leaf"] and all(each.tolist() == [0, 1] for each in kinds.values())
    found = read("plain", ending)
    assert found["scalar"].item() == 3.5 and found["empty"].shape == (0, 3)
    del found["scalar"], found["empty"]
    assert found == {
        "od": {"a": 1},
        "dd": {"a": 1},
        "counter": {"a": 2, "b": 1},
        "size": (2, 3),
        "device": "cpu",
        "dtype": lm.float32,
        "list": [1, 2.5, None, True, "a", (1, 2), {3}],
        "big": 2**70,
        "complex": 1 + 2j,
        "bytes": b"abc",
    }


@each_format
def test_a_training_goes_on(ending):
    found = read("training", ending)
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    optimizer = lm.optim.AdamW(net.parameters(), lr=0.5)
    net.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    rates = [0.05, 0.025, 0.025]  # of the schedule, which falls at the steps 2 and 4
    for rate in rates:
        assert optimizer.param_groups[0]["lr"] == pytest.approx(rate)
        optimizer.zero_grad()
        (net(lm.asarray(numbers(3, 2).astype("float32"))) ** 2).sum().backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = rates[1]
    for parameter, expected in zip(net.parameters(), found["after"], strict=True):
        np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-6)


@each_format
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sparse", "it holds torch._utils._rebuild_sparse_tensor"),
        ("float8", "it holds torch.float8_e4m3fn"),
        ("storage", "it holds a storage without a tensor"),
        ("module", "it holds torch.nn.modules.container.Sequential, .* save the state_dict"),
    ],
)
def test_what_is_refused(name, ending, message):
    if not (FILES / f"{name}{ending}").exists():
        assert name == "module"
        return
    with pytest.raises(ValueError, match=message):
        read(name, ending)


FRONT = """
import pickle, sys
import torch
from torch import nn

folder = sys.argv[1]
for ending in (".pt", ".legacy.pt"):
    read = lambda name: torch.load(f"{folder}/{name}{ending}")
    for name in ("floats", "integers", "unsigned"):
        for dtype, tensor in read(name).items():
            assert tensor.dtype == getattr(torch, dtype) and tensor.shape[-1] == 3
            assert tensor.reshape(-1)[-1].item() in (2, 5, True), (dtype, tensor)
    assert [each.tolist() for each in read("views")][2:4] == [[5, 7], [[7, 7], [7, 7]]]
    marks, kinds = read("marks"), read("kinds")
    assert marks["conj"].tolist() == [-1j, 1 - 1j, 2 - 1j] and marks["imag of conj"].tolist() == [-2] * 3
    assert isinstance(kinds["parameter"], nn.Parameter) and kinds["leaf"].requires_grad
    assert kinds["buffer"].tolist() == [0, 1]
    plain = read("plain")
    assert plain["dtype"] is torch.float32 and plain["device"] == torch.device("cpu") and plain["dd"]["b"] == 0

    found = read("training")
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    net.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    scheduler.load_state_dict(found["scheduler"])
    for _ in range(3):
        optimizer.zero_grad()
        (net(torch.arange(6.0).reshape(3, 2)) ** 2).sum().backward()
        optimizer.step()
        scheduler.step()
    for parameter, expected in zip(net.parameters(), found["after"]):
        assert torch.allclose(parameter, torch.tensor(expected), rtol=1e-5)

    places = read("sparse")
    assert places.is_sparse and places.shape == (2, 2) and places.to_dense().tolist() == [[1, 0], [0, 1]]
    refused = {"float8": "no dtype here", "module": "a whole model"}
    for name, part in refused.items():
        try:
            read(name)
        except pickle.UnpicklingError as error:
            assert part in str(error), error
        except FileNotFoundError:
            assert name == "module"
        else:
            raise AssertionError(name)
"""

#: What PyTorch's torch.load(weights_only=True) calls, of what the front writes.
ALLOWED = {
    "torch Size",
    "torch device",
    "torch uint16",
    "torch float32",
    "torch FloatStorage",
    "torch LongStorage",
    "torch BFloat16Storage",
    "torch.storage UntypedStorage",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch._utils _rebuild_parameter",
    "collections OrderedDict",
}

WRITTEN = """
import pickletools, sys, zipfile
import torch
from torch import nn

net = nn.Linear(2, 3)
optimizer = torch.optim.AdamW(net.parameters())
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
state = {
    "net": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
    "tensors": [torch.arange(3), torch.ones(2, dtype=torch.bfloat16), torch.arange(3).to(torch.uint16)],
    "parameter": nn.Parameter(torch.ones(2)), "plain": [torch.float32, torch.Size([2]), torch.device("cpu")],
}
torch.save(state, "state.pt")
scheduler.load_state_dict(torch.load("state.pt")["scheduler"])
codes = list(pickletools.genops(zipfile.ZipFile("state.pt").read("state/data.pkl")))
print("\\n".join(sorted({argument for code, argument, _ in codes if code.name == "GLOBAL"})))
print(sorted({code.name for code, _, _ in codes} & {"NEWOBJ", "BUILD", "STACK_GLOBAL"}))
"""


def test_the_front_reads_them(tmp_path):
    (tmp_path / "front.py").write_text(FRONT)
    done = extensions.run("-m", "lamella.compat", tmp_path / "front.py", FILES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_front_writes_what_pytorch_reads(tmp_path):
    (tmp_path / "written.py").write_text(WRITTEN)
    done = extensions.run("-m", "lamella.compat", tmp_path / "written.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *names, opcodes = done.stdout.splitlines()
    assert (
        set(names) <= ALLOWED and opcodes == "['BUILD']"
    )  # versions of the modules' states, which PyTorch writes, too
    found = lm.io.load_torch(tmp_path / "state.pt")
    assert found["tensors"][2].dtype == lm.uint16 and found["tensors"][2].tolist() == [0, 1, 2]
    assert found["plain"] == [lm.float32, (2,), "cpu"] and found["scheduler"]["last_epoch"] == 0

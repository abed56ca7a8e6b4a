"""``torch.save`` and ``torch.load`` of the front: PyTorch's format, what tensors share, and what is refused."""

import pytest

from support import extensions

PROGRAMS = {
    "values": """
import collections, io, pathlib
import numpy as np

made = {
    "tensors": [torch.arange(6), torch.tensor(1.5, dtype=torch.bfloat16), torch.zeros(0, 3), torch.ones(2) > 0],
    "view": torch.arange(12.0).view(3, 4)[:, 1:3],
    "transposed": torch.arange(6.0).view(2, 3).t(),
    "complex": torch.tensor([1 + 2j]),
    "plain": {"a": (1, None, "b", 2.5), "size": torch.Size([2]), "device": torch.device("cpu"), "set": {1}},
    "array": np.arange(3),
    "ordered": collections.OrderedDict(x=torch.ones(1, requires_grad=True)),
    "parameter": torch.nn.Parameter(torch.ones(2), requires_grad=False),
}
for place in ("values.pt", pathlib.Path("path.pt"), io.BytesIO()):
    torch.save(made, place)
    if isinstance(place, io.BytesIO):
        place.seek(0)
    read = torch.load(place)
    for a, b in zip(made["tensors"], read["tensors"]):
        assert torch.equal(a, b) and a.dtype == b.dtype and a.shape == b.shape
    for name in ("view", "transposed", "complex"):
        assert torch.equal(made[name], read[name])
    assert read["plain"] == made["plain"] and type(read["plain"]["size"]) is torch.Size
    assert (read["array"] == made["array"]).all() and read["ordered"]["x"].requires_grad
    kind = read["parameter"]
    assert isinstance(kind, torch.nn.Parameter) and not kind.requires_grad and kind.tolist() == [1.0, 1.0]
""",
    "format": """
import pickletools, zipfile

torch.save({"w": torch.arange(4.0)}, "state.pt")
archive = zipfile.ZipFile("state.pt")
assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}
assert sorted(archive.namelist()) == ["state/byteorder", "state/data.pkl", "state/data/0", "state/version"]
assert archive.read("state/version") == b"3\\n" and len(archive.read("state/data/0")) == 16
words = [(code.name, value) for code, value, _ in pickletools.genops(archive.read("state/data.pkl"))]
globals_ = [value for name, value in words if name == "GLOBAL"]
assert globals_ == ["torch._utils _rebuild_tensor_v2", "torch FloatStorage", "collections OrderedDict"], globals_
strings = [value for name, value in words if name == "BINUNICODE"]
assert strings == ["w", "storage", "0", "cpu"] and "BINPERSID" in dict(words), strings
""",
    "parts of one memory": """
import io

x = torch.arange(12.0).view(3, 4)
layer = torch.nn.Linear(2, 3)
made = {
    "x": x, "row": x[1], "columns": x[:, 1:3], "transposed": x.t(), "number": x[2, 3], "none": x[:0], "apart": x + 0,
    "weight": layer.weight, "state": layer.state_dict(), "flipped": x.flip(0),
}
file = io.BytesIO()
torch.save(made, file)
file.seek(0)
read = torch.load(file)
for name, value in made.items():
    if name != "state":
        assert torch.equal(read[name], value) and read[name].stride() == value.stride(), name
assert read["columns"].storage_offset() == 1
read["x"].mul_(10)
for name in ("row", "columns", "transposed", "number"):
    assert torch.equal(read[name], made[name] * 10), name
assert torch.equal(read["apart"], x) and torch.equal(read["flipped"], x.flip(0))
read["row"][0] = -1.0
assert read["x"][1, 0] == -1
read["state"]["weight"].zero_()
assert not read["weight"].any() and read["weight"].requires_grad
""",
    "older files": """
import collections, io, pickle, struct

from torch.serialization import _Pickler


class Older(_Pickler):
    def persistent_id(self, obj):
        found = super().persistent_id(obj)
        return found and (*found, None)


def older(obj, name):
    storages, text = {}, io.BytesIO()
    Older(text, storages, 2).dump(obj)
    with open(name, "wb") as file:
        for head in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(head, file, protocol=2)
        file.write(text.getvalue())
        pickle.dump([key for key, _ in storages.values()], file, protocol=2)
        for _, tensor in storages.values():
            file.write(struct.pack("<q", tensor.numel()) + tensor.numpy().tobytes())


w = torch.arange(6.0).view(2, 3)
older({"w": w, "same": w, "n": torch.tensor([3, 4]), "p": torch.nn.Parameter(torch.ones(2))}, "older.pth")
read = torch.load("older.pth", map_location="cpu")
assert torch.equal(read["w"], w) and read["n"].tolist() == [3, 4] and read["p"].tolist() == [1.0, 1.0]
read["w"].zero_()
assert not read["same"].any()
assert torch.load("older.pth", map_location="meta")["w"].device == "meta"
pickle.dump({"plain": [1, 2]}, open("plain.pkl", "wb"))
assert torch.load("plain.pkl") == {"plain": [1, 2]}
""",
    "sharing": """
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
net[1].weight = net[0].weight
torch.save(net.state_dict(), "tied.pt")
state = torch.load("tied.pt")
state["0.weight"].fill_(7)
assert state["1.weight"].tolist() == [[7.0, 7.0], [7.0, 7.0]]
other = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
print(other.load_state_dict(torch.load("tied.pt")))
assert torch.equal(other[1].weight, net[0].weight)
base = torch.zeros(4)
torch.save([base, base[:2]], "parts.pt")
assert [each.shape for each in torch.load("parts.pt")] == [(4,), (2,)]
""",
    "optimizers": """
x = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.Adam([x], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    (x**2).sum().backward()
    optimizer.step()
torch.save({"optimizer": optimizer.state_dict(), "epoch": 3}, "o.pt")
y = torch.nn.Parameter(x.detach().clone())
other = torch.optim.Adam([y], lr=0.5)
checkpoint = torch.load("o.pt", map_location=torch.device("cpu"))
other.load_state_dict(checkpoint["optimizer"])
assert checkpoint["epoch"] == 3 and other.param_groups[0]["lr"] == 0.1
for each, p in ((optimizer, x), (other, y)):
    each.zero_grad()
    (p**2).sum().backward()
    each.step()
assert torch.equal(x, y)
""",
    "refused": """
import pickle

class Mine:
    pass

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.LSTM(2, 3)

torch.save({"a": Mine(), "net": Net()}, "mine.pt")
try:
    torch.load("mine.pt")
except pickle.UnpicklingError as error:
    assert "'__main__.Mine'" in str(error) and "weights_only=False" in str(error), error
else:
    raise AssertionError
assert isinstance(torch.load("mine.pt", weights_only=False)["net"].layer, torch.nn.LSTM)
with torch.serialization.safe_globals([Mine, Net]):
    assert isinstance(torch.load("mine.pt")["a"], Mine)
assert torch.serialization.get_safe_globals() == []
torch.serialization.add_safe_globals([Mine])
assert torch.serialization.get_safe_globals() == [Mine]
torch.serialization.clear_safe_globals()

class Evil:
    def __reduce__(self):
        return print, ("run",)

torch.save(Evil(), "evil.pt")
for options in ({}, {"weights_only": True}):
    try:
        torch.load("evil.pt", **options)
    except pickle.UnpicklingError as error:
        assert "print'" in str(error)
    else:
        raise AssertionError
open("text.pt", "w").write("no pickle")
try:
    torch.load("text.pt")
except (pickle.UnpicklingError, EOFError, ValueError):
    pass
else:
    raise AssertionError
""",
    "computed weights": """
import copy
from torch.nn.utils import prune

x = torch.ones(1, 3)
wrappings = [torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm, lambda m: prune.l1_unstructured(m, "weight", 2)]
for wrap in wrappings:
    layer = wrap(torch.nn.Linear(3, 2)).eval()
    y = layer(x)
    torch.save(layer, "layer.pt")
    for other in (copy.deepcopy(layer), torch.load("layer.pt", weights_only=False)):
        assert torch.equal(other(x), y) and list(other.state_dict()) == list(layer.state_dict())
        assert layer.bias is not other.bias
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.zero_()
                parameter.add_(0.5)
        assert not torch.equal(other(x), y) and torch.equal(layer(x), y)
prune.remove(layer, "weight")
assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"] and torch.equal(layer(x), y)
assert layer.weight.requires_grad and not prune.is_pruned(layer)
""",
    "hostile": """
import io, os, pickle, random, zipfile

MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
PLAIN = [pickle.dumps(each, 2) for each in (1001, {}, {}, [])]

def reached(path):
    # By a dotted name, with protocol 4: what a module of layers imports.
    module, name = (bytes([0x8C, len(each)]) + each.encode() for each in ("lamella.nn", path))
    return b"\\x80\\x04" + module + name + b"\\x93" + command + b"\\x85R."

def archive(text):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", text)
    return file.getvalue()

command = b"X" + len("touch ran").to_bytes(4, "little") + b"touch ran"
evil = b"\\x80\\x02cos\\nsystem\\n" + command + b"\\x85R."
files = [archive(evil), archive(reached("init.lm.io.os.system")), archive(reached("init.lm")), evil]
# The pickles around the object of an older file are pickles, too.
files += [MAGIC + b"".join(PLAIN[:place] + [evil] + PLAIN[place + 1 :]) for place in range(4)]
for raw in files:
    try:
        torch.load(io.BytesIO(raw))
    except pickle.UnpicklingError:
        assert not os.path.exists("ran")
    else:
        raise AssertionError(raw)
torch.save({"a": torch.arange(6).view(2, 3).t(), "b": [1.5, "x", None]}, "whole.pt")
whole, chance = open("whole.pt", "rb").read(), random.Random(3)
for _ in range(200):
    raw = bytearray(whole)
    for _ in range(chance.randint(1, 3)):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    try:
        torch.load(io.BytesIO(bytes(raw)))
    except (pickle.UnpicklingError, RuntimeError, EOFError):
        pass
""",
    "places": """
seen = []
torch.save({"a": torch.ones(2)}, "a.pt")
torch.load("a.pt", map_location=lambda x, where: seen.append(where))
assert seen == ["cpu"]
assert torch.load("a.pt", map_location={"cpu": "meta"})["a"].device == "meta"
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_files(program, tmp_path):
    extensions.write(tmp_path, {"program.py": "import torch\n" + PROGRAMS[program]})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)

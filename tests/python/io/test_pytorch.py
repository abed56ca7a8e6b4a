"""lm.io.load_torch: files of torch.save come back without PyTorch, and hostile ones run nothing."""

from __future__ import annotations

import collections
import io
import os
import pickle
import pickletools
import random
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from support import torch_files as torch
from support.torch_files import Called, Storage, Tensor, legacy, tensor, zipped

FORMATS = {
    "zip": zipped,
    "zip, pickled anew": lambda value: zipped(value, protocol=5),
    "zip without an order": lambda value: zipped(value, order=None),
    "zip, big-endian": lambda value: zipped(value, order="big"),
    "legacy": legacy,
    "legacy, big-endian": lambda value: legacy(value, order="big"),
}


def load(raw: bytes, folder: Path) -> Any:
    (folder / "a.pt").write_bytes(raw)
    return lm.io.load_torch(folder / "a.pt")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_every_dtype(tmp_path, rng, kind: str, shape: tuple[int, ...]) -> None:
    arrays = {name: rng.normal(0, 3, shape).astype(name) for name in torch.STORAGES if name != "bfloat16"}
    loaded = load(FORMATS[kind]({name: tensor(array) for name, array in arrays.items()}), tmp_path)
    assert list(loaded) == list(arrays)
    for name, array in arrays.items():
        assert type(loaded[name]) is lm.Tensor and loaded[name].dtype.name == name and loaded[name].stop_gradient
        np.testing.assert_array_equal(loaded[name].numpy(), array)


def test_half_precision_of_the_other_kind_and_untyped_storages(tmp_path) -> None:
    # 1.0, -2.0 and infinity in bfloat16 are the upper halves of their float32 bytes.
    halves = Storage(np.array([0x3F80, 0xC000, 0x7F80], np.uint16), "bfloat16")
    numbers = np.array([1, 65535], np.uint16)
    loaded = load(zipped([Tensor(halves, [3], [1]), tensor(numbers, "v3"), tensor([1.5], "v1")]), tmp_path)
    assert loaded[0].dtype == lm.bfloat16 and loaded[0].tolist() == [1.0, -2.0, float("inf")]
    assert loaded[1].dtype == lm.uint16 and loaded[1].tolist() == [1, 65535] and loaded[2].tolist() == [1.5]


@pytest.mark.parametrize("write", [zipped, legacy])
def test_views_share_their_memory(tmp_path, write) -> None:
    storage = Storage(np.arange(12.0))
    views = [
        Tensor(storage, [3, 4], [4, 1]),
        Tensor(storage, [4, 3], [1, 4]),
        Tensor(storage, [2, 2], [4, 2], 5),
        Tensor(storage, [3, 5], [0, 0], 7),
    ]
    whole, turned, part, spread = load(write(views), tmp_path)
    assert turned.tolist() == np.arange(12.0).reshape(3, 4).T.tolist()
    assert part.tolist() == [[5, 7], [9, 11]] and spread.tolist() == [[7] * 5] * 3
    whole[1, 3] = 100.0
    assert turned[3, 1].item() == 100 == part[0, 1].item() == spread[2, 4].item()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_data(tmp_path, protocol: int) -> None:
    shared = [1, 2]
    value = {
        "numbers": [0, 1, -1, 255, 256, 65536, 2**31, -(2**40), 2**100, 1.5, float("inf"), True, False, None],
        "text": ["", "äöü", "x" * 300],
        "bytes": b"\x00\xff" * 3,
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "sets": [{1, 2}, frozenset([3])],
        "twice": [shared, shared],
        "long": list(range(3000)),
        "many": {str(i): i for i in range(2000)},
        "complex": 1 + 2j,
        7: "seven",
        "ordered": collections.OrderedDict(a=1, b=2),
        "numpy": [np.float32(2.5), np.int64(-3), np.arange(6).reshape(2, 3).T, np.array(["a", "bc"]), np.zeros(0)],
    }
    loaded = load(zipped(value, protocol=protocol), tmp_path)
    arrays, expected = loaded.pop("numpy"), value.pop("numpy")
    assert loaded == value and loaded["twice"][0] is loaded["twice"][1] and type(loaded["ordered"]) is dict
    for array, right in zip(arrays, expected, strict=True):
        assert array.dtype == right.dtype and type(array) is type(right)
        np.testing.assert_array_equal(array, right)


def test_pytorchs_own_types(tmp_path) -> None:
    hooks = collections.OrderedDict()
    weight = tensor(np.ones((2, 3), np.float32))
    value = {
        "parameter": Called(torch.UTILS._rebuild_parameter, weight, True, hooks),
        "more": Called(torch.UTILS._rebuild_parameter_with_state, weight, True, hooks, {"tag": 1}),
        "typed": Called(
            torch.TENSORS._rebuild_from_type_v2,
            torch.UTILS._rebuild_tensor_v2,
            torch.TORCH.Tensor,
            (weight.storage, 0, (6,), (1,), False, hooks),
            {"attribute": 1},
        ),
        "size": torch.Size((2, 3)),
        "device": Called(torch.TORCH.device, "cuda", 1),
        "dtype": torch.TORCH.bfloat16,
    }
    loaded = load(zipped(value), tmp_path)
    assert (
        loaded["parameter"].tolist() == [[1] * 3] * 2 == loaded["more"].tolist() and loaded["typed"].tolist() == [1] * 6
    )
    assert loaded["size"] == (2, 3) and loaded["device"] == "cuda:1" and loaded["dtype"] == lm.bfloat16


def test_a_state_dict_with_its_metadata(tmp_path) -> None:
    state = collections.OrderedDict(weight=tensor(np.ones((2, 2), np.float32)))
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    loaded = load(zipped(state), tmp_path)
    assert list(loaded) == ["weight"] and loaded["weight"].tolist() == [[1, 1], [1, 1]]


class Calls:
    """Pickled as a call of any function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize("write", [zipped, legacy])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: Calls(os.system, f"touch {path}"), r"it holds (posix|nt)\.system, which is neither"),
        (lambda path: Calls(eval, f"open({path!r}, 'w')"), r"it holds \w+\.eval"),
        (lambda path: Calls(subprocess.Popen, ["touch", path]), r"it holds \w+\.Popen"),
        (lambda path: Calls(getattr, "text", "upper"), r"it holds \w+\.getattr"),
        (lambda path: os.system, r"\.system"),
        (lambda path: Path, r"it holds pathlib\.Path"),
        (lambda path: random.Random(0), r"it holds random\.Random"),
        (
            lambda path: np.array([Calls(os.system, f"touch {path}")], object),
            r"(posix|nt)\.system|a numpy dtype|objects",
        ),
        (lambda path: np.array([{}], object), "a numpy dtype 'O|objects"),
        (lambda path: Called(torch.UTILS._rebuild_sparse_tensor, 1), r"it holds torch\._utils\._rebuild_sparse"),
        (lambda path: Calls(torch.TORCH.Tensor), "a call of a bare type"),
        (lambda path: Called(torch.UTILS._rebuild_parameter, 3, True, None), "a parameter that is no tensor"),
    ],
)
def test_nothing_is_run(tmp_path, write, make, message: str) -> None:
    made = tmp_path / "made"
    with pytest.raises(ValueError, match=message) as caught:
        load(write({"weight": tensor(np.ones(3)), "rest": make(str(made))}), tmp_path)
    assert str(caught.value).startswith("[load_torch] a.pt: ") and not made.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x02c__builtin__\neval\nU\x011\x85R.",
        b"(S'true'\nios\nsystem\n.",
        b"\x82\x01.",
        b"Pabc\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x02ccollections\nOrderedDict\n)R}U\x01xK\x01sb}ccopyreg\n_reconstructor\nb.",
        b"(lp0\n0.",
        b"a.",
        b"0.",
        b"t.",
        b"(.",
        b"g5\n.",
        b"]K\x01s.",
        b"}]K\x01s.",
        b"K\x01K\x02R.",
        b"\x80\x02N",
        b"",
        b"\x8d" + b"\xff" * 8 + b"x.",
        b"\x8b\xff\xff\xff\x7f.",
        b"I" + b"9" * 10000 + b"\n.",
        b"]" * 10 + b"(" * 100000 + b".",
        b"\x80\x02ctorch\nSize\nK\x05\x85R.",
        b"\x80\x02cnumpy\ndtype\nX\x01\x00\x00\x00O\x85R.",
        b"\x80\x02cnumpy\ndtype\nX\x05\x00\x00\x00(3)f4\x85R)b.",
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00rot\x86R.",
    ],
)
def test_hostile_pickles(tmp_path, program: bytes) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", program)
    for raw in (file.getvalue(), legacy(None)[: -len(pickle.dumps(None, 2) + pickle.dumps([], 2))] + program):
        with pytest.raises(ValueError, match=r"\[load_torch\] a\.pt: "):
            load(raw, tmp_path)


def bad(array: Any = (1.0, 2.0), shape: Any = (2,), strides: Any = (1,), offset: Any = 0) -> Tensor:
    return Tensor(Storage(np.array(array)), shape, strides, offset)


@pytest.mark.parametrize("write", [zipped, legacy])
@pytest.mark.parametrize(
    "value",
    [
        bad(shape=(3,)),
        bad(offset=1),
        bad(offset=-1),
        bad(shape=(-2,)),
        bad(strides=(-1,)),
        bad(strides=(2**62,)),
        bad(shape=(2**61, 2**61), strides=(1, 1)),
        bad(shape=(2**61, 2**61), strides=(0, 0)),
        bad(shape=(2, 1)),
        bad(shape=("a",)),
        bad(shape=(True,)),
        bad(offset=2**63),
        Tensor(Storage(np.array([7], np.uint8), "bool"), [1], [1]),
    ],
)
def test_tensors_outside_of_their_storages(tmp_path, write, value: Any) -> None:
    with pytest.raises(ValueError, match=r"\[load_torch\] a\.pt: cannot be read"):
        load(write([value]), tmp_path)


def test_archives_that_are_not_of_torch_save(tmp_path) -> None:
    def archive(**members: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as made:
            for name, content in members.items():
                made.writestr(name.replace("__", "/"), content)
        return file.getvalue()

    plain = pickle.dumps(1, 2)
    cases = {
        "a member of the archive is compressed": zipped([0] * 1000, compressed=True),
        "0 members data.pkl": archive(a__b=b""),
        "2 members data.pkl": archive(**{"a__data.pkl": plain, "b__data.pkl": plain}),
        "a TorchScript program": archive(**{"a__data.pkl": plain, "a__constants.pkl": plain}),
        "the byte order is": archive(**{"a__data.pkl": plain, "a__byteorder": b"odd"}),
        "not a file of torch.save|cannot be read": pickle.dumps({"a": 1}),
    }
    for message, raw in cases.items():
        with pytest.raises(ValueError, match=message):
            load(raw, tmp_path)
    with pytest.raises(FileNotFoundError):
        lm.io.load_torch(tmp_path / "none.pt")


def archive_of(program: bytes) -> bytes:
    """An archive with a storage of two numbers, whose object is this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", program)
        archive.writestr("a/data/0", np.ones(2))
    return file.getvalue()


DEEP = b"\x80\x02)" + b"\x85" * 200000
DOUBLED = b"\x80\x02)" + b"2\x86" * 60


@pytest.mark.parametrize(
    "program",
    [
        b"\x80\x02}" + DEEP[2:] + b"K\x01s.",
        b"\x80\x02(" + DEEP[2:] + b"\x91.",
        b"\x80\x02(" + DOUBLED[2:] + b"\x91.",
        b"\x80\x02}" + DOUBLED[2:] + b"K\x01s.",
        b"\x80\x02ctorch\ndevice\n" + DOUBLED[2:] + b"\x85R.",
        b"\x80\x02cnumpy\ndtype\n" + DOUBLED[2:] + b"\x85R.",
        DOUBLED + b"Q.",
        b"\x80\x02c" + b"x" * 100000 + b"\ny\n.",
    ],
)
def test_values_that_grow_or_lie_deep(tmp_path, program: bytes) -> None:
    with pytest.raises(ValueError, match=r"\[load_torch\] a\.pt: ") as caught:
        load(archive_of(program), tmp_path)
    assert len(str(caught.value)) < 400
    assert isinstance(load(archive_of(DEEP + b"."), tmp_path), tuple)


@pytest.mark.parametrize("dimensions", [65, 100000])
def test_tensors_of_too_many_axes(tmp_path, dimensions: int) -> None:
    wide = Tensor(Storage(np.ones(2)), (2**61,) * dimensions, (0,) * dimensions)
    with pytest.raises(ValueError, match="a tensor of shape"):
        load(zipped(wide), tmp_path)


def damaged(whole: bytes, rng: random.Random) -> bytes:
    raw = bytearray(whole)
    kind = rng.random()
    if kind < 0.1:
        return bytes(raw[: rng.randrange(len(raw))])
    if kind < 0.2:
        place = rng.randrange(len(raw))
        raw[place:place] = raw[place : place + rng.randrange(20)]
        return bytes(raw)
    for _ in range(rng.randint(1, 4)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


WHOLE = {
    "state": collections.OrderedDict(w=tensor(np.ones((3, 2), np.float32)), b=tensor(np.array([True]))),
    "n": [1, 2.5, "x", None, {1, 2}, np.float32(2)],
    "a": np.arange(3),
}


@pytest.mark.parametrize("write", [zipped, lambda value: zipped(value, protocol=4), legacy])
def test_random_damage_raises_value_errors(tmp_path, write) -> None:
    rng = random.Random(0)
    whole = write(WHOLE)
    refused = 0
    for _ in range(300):
        try:
            load(damaged(whole, rng), tmp_path)
        except ValueError:
            refused += 1
    assert refused > 80


@pytest.mark.parametrize("protocol", [2, 4])
def test_random_pickles_raise_value_errors(tmp_path, protocol: int) -> None:
    """The checksums of the archive are right here, so that all damage gets to the reader of pickles."""
    rng = random.Random(1)
    with zipfile.ZipFile(io.BytesIO(zipped(WHOLE, protocol=protocol))) as archive:
        whole = archive.read("archive/data.pkl")
    opcodes = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]
    refused = 0
    for number in range(800):
        program = damaged(whole, rng)
        if number % 2:
            place = rng.randrange(len(program))
            program = program[:place] + b"".join(rng.choices(opcodes, k=rng.randint(1, 6))) + program[place:]
        try:
            load(archive_of(program), tmp_path)
        except ValueError:
            refused += 1
    assert refused > 400

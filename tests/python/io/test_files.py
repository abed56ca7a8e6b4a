"""lm.io: what is written comes back, and damage is an error that names the tensor."""

import json
import math
import os
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn, optim

KINDS = [".safetensors", ".npz"]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


def assert_same(a, b):
    assert a.dtype == b.dtype and tuple(a.shape) == tuple(b.shape)
    np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (2, 3, 4)])
def test_every_dtype_and_shape(tmp_path, kind, dtype, shape):
    array = np.random.default_rng(0).normal(size=shape).astype(dtype)
    lm.io.save({"x": lm.asarray(array)}, tmp_path / f"a{kind}")
    loaded = lm.io.load(tmp_path / f"a{kind}")
    assert list(loaded) == ["x"] and loaded["x"].stop_gradient
    assert_same(loaded["x"], lm.asarray(array))


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_are_read_into_the_host_s_memory_whatever_the_default_device_is(tmp_path, kind):
    before = lm.get_default_device()
    lm.set_default_device("meta")
    try:
        lm.io.save({"x": lm.asarray([1.0, 2.0], device="cpu"), "y": np.arange(3)}, tmp_path / f"a{kind}")
        loaded = lm.io.load(tmp_path / f"a{kind}")
    finally:
        lm.set_default_device(before)
    assert loaded["x"].tolist() == [1.0, 2.0] and loaded["y"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_and_its_optimizer(tmp_path, kind):
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    net(lm.ones((5, 3))).sum().backward()
    optimizer.step()
    path = str(tmp_path / f"state{kind}")
    lm.io.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    state = lm.io.load(path)
    assert state["epoch"] == 3 and list(state["optimizer"]["state"]) == [0, 1, 2, 3]
    assert state["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]
    for name, tensor in net.state_dict().items():
        assert_same(state["model"][name], tensor)
    for position, values in optimizer.state_dict()["state"].items():
        assert state["optimizer"]["state"][position]["step"] == 1
        assert_same(state["optimizer"]["state"][position]["exp_avg"], values["exp_avg"])
    other = optim.Adam(net.parameters())
    other.load_state_dict(state["optimizer"])
    net.load_state_dict(state["model"])
    other.step()
    assert other.state_dict()["state"][0]["step"] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_structure_comes_back(tmp_path, kind):
    state = {"a": [lm.ones((2,)), (1, 2.5, None, True, "text")], "b": {3: lm.zeros((1,)), "": {}}, "inf": math.inf}
    lm.io.save(state, tmp_path / f"a{kind}")
    loaded = lm.io.load(tmp_path / f"a{kind}")
    assert list(loaded) == ["a", "b", "inf"] and loaded["a"][1] == (1, 2.5, None, True, "text")
    assert loaded["a"][0].tolist() == [1.0, 1.0] and loaded["b"][3].tolist() == [0.0] and loaded["b"][""] == {}
    assert loaded["inf"] == math.inf
    lm.io.save([lm.ones((1,))], tmp_path / f"b{kind}")
    assert lm.io.load(tmp_path / f"b{kind}")[0].tolist() == [1.0]
    lm.io.save({}, tmp_path / f"c{kind}")
    assert lm.io.load(tmp_path / f"c{kind}") == {}


@pytest.mark.parametrize("kind", KINDS)
def test_views_and_parameters_are_saved_by_value(tmp_path, kind):
    x = lm.asarray(np.arange(6.0).reshape(2, 3))
    lm.io.save({"t": x.T, "p": nn.Parameter([1.0]), "n": np.arange(3)}, tmp_path / f"a{kind}")
    loaded = lm.io.load(tmp_path / f"a{kind}")
    assert loaded["t"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert loaded["p"].stop_gradient and loaded["n"].tolist() == [0, 1, 2]


def test_bytes_of_a_safetensors_file(tmp_path):
    path = tmp_path / "a.safetensors"
    flags, weights = np.array([True, False, True]), np.array([[1.0, 2.0]], np.float32)
    lm.io.save({"flags": lm.asarray(flags), "weights": lm.asarray(weights)}, path, {"made": "here"})
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    assert length % 8 == 0
    assert json.loads(raw[8 : 8 + length]) == {
        "__metadata__": {"made": "here"},
        "flags": {"dtype": "BOOL", "shape": [3], "data_offsets": [8, 11]},
        "weights": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
    }
    assert raw[8 + length :] == weights.tobytes() + flags.tobytes()
    assert lm.io.metadata(path) == {"made": "here"}


def test_a_file_by_numpy(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(4, dtype=np.float32), y=np.asfortranarray(np.eye(2)))
    loaded = lm.io.load(tmp_path / "a.npz")
    assert loaded["x"].tolist() == [0, 1, 2, 3] and loaded["y"].tolist() == [[1, 0], [0, 1]]
    lm.io.save({"file": lm.ones((2,)), "allow_pickle": lm.zeros((1,))}, tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz", allow_pickle=False) as archive:
        assert archive["file"].tolist() == [1, 1] and archive["allow_pickle"].tolist() == [0]


def test_half_precision_in_safetensors(tmp_path):
    # 1.0, -2.0 and infinity in bfloat16 are the upper halves of their float32 bytes.
    data = struct.pack("<3H", 0x3F80, 0xC000, 0x7F80)
    header = json.dumps({"x": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    loaded = lm.io.load(path)
    assert loaded["x"].dtype == lm.bfloat16 and tuple(loaded["x"].shape) == (3,)
    lm.io.save(loaded, tmp_path / "b.safetensors")
    assert (tmp_path / "b.safetensors").read_bytes().endswith(data)
    with pytest.raises(TypeError, match=r"'x' is bfloat16, which \.npz lacks"):
        lm.io.save(loaded, tmp_path / "c.npz")


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_save_leaves_the_old_file(tmp_path, kind, monkeypatch):
    path = tmp_path / f"a{kind}"
    lm.io.save({"x": lm.ones((2,))}, path)
    before = path.read_bytes()

    def broken(descriptor):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="full"):
        lm.io.save({"x": lm.zeros((2,))}, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]
    monkeypatch.undo()
    lm.io.save({"x": lm.zeros((2,))}, path)
    assert lm.io.load(path)["x"].tolist() == [0.0, 0.0]


def test_a_link_stays_a_link(tmp_path):
    lm.io.save({"x": lm.ones((1,))}, tmp_path / "real.npz")
    (tmp_path / "link.npz").symlink_to("real.npz")
    lm.io.save({"x": lm.zeros((1,))}, tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert lm.io.load(tmp_path / "real.npz")["x"].tolist() == [0.0]


def nested(depth):
    state = {}
    for _ in range(depth):
        state = {"a": state}
    return state


def loop():
    state = {}
    state["self"] = state
    return state


@pytest.mark.parametrize(
    ("state", "name", "kind", "message"),
    [
        ({"x": 1}, "a.pt", ValueError, "neither in .safetensors nor in .npz"),
        ({"f": print}, "a.npz", TypeError, "'f' is builtin_function_or_method"),
        ({"x": {(1, 2): 3}}, "a.npz", TypeError, "a key is a str or an int"),
        ({"a": {"b": np.ones(1)}, "a.b": np.ones(1)}, "a.npz", ValueError, "two entries are called 'a.b'"),
        ({"__metadata__": np.ones(1)}, "a.safetensors", ValueError, "the format's own"),
        ({"lamella.tree": np.ones(1)}, "a.npz", ValueError, "Lamella's own"),
        (nested(200), "a.npz", ValueError, "nested more than"),
        (loop(), "a.npz", ValueError, "nested more than"),
    ],
)
def test_what_cannot_be_saved(tmp_path, state, name, kind, message):
    with pytest.raises(kind, match=message):
        lm.io.save(state, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_what_metadata_cannot_be(tmp_path):
    with pytest.raises(TypeError, match="metadata is text"):
        lm.io.save({}, tmp_path / "a.safetensors", {"epoch": 3})
    with pytest.raises(ValueError, match=r"an \.npz file holds no metadata"):
        lm.io.save({}, tmp_path / "a.npz", {"epoch": "3"})
    with pytest.raises(ValueError, match="Lamella's own"):
        lm.io.save({}, tmp_path / "a.safetensors", {"lamella.tree": "3"})


def test_missing_files(tmp_path):
    for kind in KINDS:
        with pytest.raises(FileNotFoundError):
            lm.io.load(tmp_path / f"none{kind}")


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        ({"w": entry(dtype="F31")}, 8, "'w' has the unknown dtype 'F31'"),
        ({"w": entry(dtype=["F32"])}, 8, "'w' has the unknown dtype"),
        ({"w": entry(shape=(-2,))}, 8, r"'w' has the shape \[-2\]"),
        ({"w": entry(shape=(2.0,))}, 8, "'w' has the shape"),
        ({"w": entry(shape=(True, 2))}, 8, "'w' has the shape"),
        ({"w": entry(shape=(2**64,))}, 8, "'w' has the shape"),
        ({"w": entry(shape=(2**40, 2**40))}, 8, "'w' takes .* bytes by its shape"),
        ({"w": entry(shape=(3,))}, 8, "'w' takes 12 bytes by its shape .*, 8 by its offsets"),
        ({"w": entry(offsets=(0, 80))}, 8, r"'w' lies at \[0, 80\] in 8 bytes"),
        ({"w": entry(offsets=(8, 0))}, 8, r"'w' lies at \[8, 0\]"),
        ({"w": entry(offsets=(-8, 0))}, 8, "'w' lies at"),
        ({"w": entry(offsets=(0, 8, 9))}, 8, "'w' lies at"),
        ({"v": entry(), "w": entry(offsets=(4, 12))}, 12, "'w' overlaps 'v'"),
        ({"v": entry(), "w": entry()}, 8, "overlaps"),
        ({"w": entry(offsets=(4, 12))}, 12, "4 bytes of no tensor before 'w'"),
        ({"w": entry()}, 12, "4 bytes of no tensor at the end"),
        ({"w": {"dtype": "F32", "shape": [2]}}, 8, "the entry of 'w'"),
        ({"w": 3}, 8, "the entry of 'w'"),
        ({"w": entry(dtype="BOOL", offsets=(0, 2))}, 2, "'w' is bool and holds a byte"),
        ({"__metadata__": {"a": 1}}, 0, "'__metadata__' is not text"),
        ({"__metadata__": {"lamella.tree": "{}"}}, 0, "structure is damaged"),
        ({"__metadata__": {"lamella.tree": '{"tensor": "w"}'}}, 0, "structure is damaged"),
        ({"__metadata__": {"lamella.tree": '{"list": ' * 2000}}, 0, "structure is damaged"),
        ({"__metadata__": {"lamella.tree": '{"dict": [[[], {"value": 1}]]}'}}, 0, "structure is damaged"),
        ({"__metadata__": {"lamella.tree": '{"dict": [3]}'}}, 0, "structure is damaged"),
    ],
)
def test_damaged_safetensors_headers(tmp_path, header, data, message):
    path = tmp_path / "a.safetensors"
    encoded = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + b"\x07" * data)
    with pytest.raises(ValueError, match=message):
        lm.io.load(path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a safetensors file"),
        (b"\x10\0\0", "not a safetensors file"),
        (struct.pack("<Q", 2**63) + b"{}", "a header of 9223372036854775808 bytes in a file of 10"),
        (struct.pack("<Q", 2) + b"[]", "does not begin with"),
        (struct.pack("<Q", 2) + b"{\xff", "cannot be read"),
        (struct.pack("<Q", 1) + b"{", "cannot be read"),
        (struct.pack("<Q", 6) + b'{"a":0', "cannot be read"),
        (struct.pack("<Q", 30) + b'{"w":{"dtype":0},"w":{"d":0}} ', "'w' stands there twice"),
        (struct.pack("<Q", 100006) + b'{"a":' + b"[" * 100001, "cannot be read"),
    ],
)
def test_damaged_safetensors_bytes(tmp_path, raw, message):
    path = tmp_path / "a.safetensors"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=message):
        lm.io.load(path)


def npy(header):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    "member",
    [
        b"not numpy",
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}\n"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}\n"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n") + b"cos\nsystem\n",
        npy("{'descr': '<U4', 'fortran_order': False, 'shape': (0,)}\n"),
        npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}\n") + bytes(4),
        npy("((((((("),
    ],
)
def test_damaged_npz_members(tmp_path, member):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("good.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n") + bytes(4))
        archive.writestr("w.npy", member)
    with pytest.raises(ValueError, match="'w'"):
        lm.io.load(path)


@pytest.mark.parametrize("raw", [b"", b"PK", b"\x93NUMPY", b"\x80\x04K\x01.", b"PK\x05\x06" + bytes(17)])
def test_what_is_no_npz(tmp_path, raw):
    path = tmp_path / "a.npz"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"a\.npz"):
        lm.io.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_random_damage_never_crashes(tmp_path, kind):
    path = tmp_path / f"a{kind}"
    lm.io.save({"w": lm.ones((3, 2)), "b": lm.asarray(np.array([True])), "n": {"k": 1}}, path)
    whole = path.read_bytes()
    rng = random.Random(0)
    refused = 0
    for _ in range(300):
        raw = bytearray(whole)
        if rng.random() < 0.2:
            raw = raw[: rng.randrange(len(raw))]
        else:
            for _ in range(rng.randint(1, 4)):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
        path.write_bytes(raw)
        try:
            lm.io.load(path)
        except ValueError:
            refused += 1
    assert refused > 60


COLLISIONS = [
    *(("a", "a.npy"), ("a.npy", "a"), ("x.npy.npy", "x.npy"), ("", ".npy"), ("lamella.tree.npy", "b"), ("a\0b", "a")),
    *(
        ("a\0", "b"),
        ("A", "a"),
        ("a/b", "a\\b"),
        ("a", "a "),
        ("é", "e\u0301"),
        ("a.b", "a"),
        ("../a", "a"),
        ("/a", "a"),
    ),
    *(("a.npz", "a"), ("x" * 70000, "a"), ("\ud800", "a"), ("\n", "a"), ("con", "nul"), ("1", "01"), ("\uff41", "a")),
]


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
@pytest.mark.parametrize("names", COLLISIONS, ids=lambda names: ascii(names)[:30])
def test_two_names_never_become_one(names: tuple[str, str], ending: str, structured: bool, tmp_path: Path) -> None:
    """Both come back as they were, to Lamella and to numpy, or nothing is written and the message names them."""
    state: dict[str, Any] = {name: lm.full([2], float(i)) for i, name in enumerate(names)}
    if structured:
        state["extra"] = 5
    path = tmp_path / f"x{ending}"
    try:
        lm.io.save(state, path)
    except ValueError as error:
        assert "[save]" in str(error) and "name" in str(error)
        assert not list(tmp_path.iterdir())
        return
    loaded = lm.io.load(path)
    assert set(loaded) == set(state)
    for i, name in enumerate(names):
        assert loaded[name].tolist() == [i, i]
    if ending == ".npz":
        with np.load(path) as archive:
            for i, name in enumerate(names):
                assert archive[name].tolist() == [i, i]


def test_numpys_files_are_read_member_by_member(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **{"a": np.zeros(2), "a.npy": np.ones(2)})
    loaded = lm.io.load(tmp_path / "x.npz")
    assert loaded["a"].tolist() == [0, 0]
    assert loaded["a.npy"].tolist() == [1, 1]

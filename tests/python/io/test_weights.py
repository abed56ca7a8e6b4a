"""Weights of other programs: indices of several files, names that differ, and files of PyTorch."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella import nn
from lamella.io import load_weights
from support.torch_files import tensor, zipped

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)
BIAS = np.array([1.0, -1.0], np.float32)


def shards(folder: Path, weights: Any = None, places: Any = None) -> Path:
    """An index and its files, as transformers writes them."""
    lm.io.save({"weight": WEIGHT}, folder / "model-00001-of-00002.safetensors", {"format": "pt"})
    lm.io.save({"bias": BIAS, "extra": BIAS}, folder / "model-00002-of-00002.safetensors")
    places = places or {"bias": "model-00002-of-00002.safetensors", "weight": "model-00001-of-00002.safetensors"}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps(weights if weights is not None else {"metadata": {}, "weight_map": places}))
    return index


def assert_loaded(net: nn.Linear) -> None:
    np.testing.assert_array_equal(net.weight.numpy(), WEIGHT)
    np.testing.assert_array_equal(net.bias.numpy(), BIAS)


def linear() -> nn.Linear:
    net = nn.Linear(3, 2)
    for parameter in net.parameters():
        parameter.stop_gradient = True
    return net


def test_an_index_is_read_in_its_order(tmp_path) -> None:
    loaded = lm.io.load(shards(tmp_path))
    assert list(loaded) == ["bias", "weight"] and loaded["weight"].tolist() == WEIGHT.tolist()


@pytest.mark.parametrize("source", ["index", "folder", "file", "folder of one", "pt", "nested pt", "npz"])
def test_every_source(tmp_path, source: str) -> None:
    state = collections.OrderedDict(weight=tensor(WEIGHT), bias=tensor(BIAS))
    path = tmp_path
    if source in ("index", "folder"):
        path = shards(tmp_path) if source == "index" else shards(tmp_path).parent
    elif source in ("file", "folder of one"):
        lm.io.save({"weight": WEIGHT, "bias": BIAS}, tmp_path / "model.safetensors")
        path = tmp_path / "model.safetensors" if source == "file" else tmp_path
    elif source == "npz":
        path = tmp_path / "a.npz"
        np.savez(path, weight=WEIGHT, bias=BIAS)
    else:
        path = tmp_path / "a.pt"
        path.write_bytes(zipped(state if source == "pt" else {"state_dict": state, "epoch": 3}))
    net = linear()
    assert load_weights(net, path) == ([], [])
    assert_loaded(net)


@pytest.mark.parametrize(
    ("saved", "mapping"),
    [
        ({"model.fc.weight": WEIGHT, "model.fc.bias": BIAS}, {"model.fc": ""}),
        ({"gamma": WEIGHT, "beta": BIAS}, {"gamma": "weight", "beta": "bias"}),
        ({"weight": WEIGHT, "b": BIAS, "head.w": BIAS, "head.b": BIAS}, {"b": "bias", "head": None}),
        ({"a.weight": WEIGHT, "a.b.x": BIAS}, {"a": "", "a.b.x": "bias"}),
        ({"WEIGHT": WEIGHT, "BIAS": BIAS}, str.lower),
        ({"weight": WEIGHT, "bias": BIAS, "skip": BIAS}, lambda name: None if name == "skip" else name),
    ],
)
def test_names_are_mapped(tmp_path, saved: Any, mapping: Any) -> None:
    lm.io.save(saved, tmp_path / "a.safetensors")
    net = linear()
    load_weights(net, tmp_path / "a.safetensors", mapping)
    assert_loaded(net)


def test_a_beginning_is_put_before_all_names(tmp_path) -> None:
    lm.io.save({"weight": WEIGHT, "bias": BIAS}, tmp_path / "a.safetensors")
    net = nn.Sequential(linear())
    load_weights(net, tmp_path / "a.safetensors", {"": "0"})
    assert_loaded(net[0])


def test_strictness(tmp_path) -> None:
    lm.io.save({"weight": WEIGHT.astype(np.float64), "more": BIAS}, tmp_path / "a.safetensors")
    net = linear()
    before = net.bias.tolist()
    with pytest.raises(ValueError, match="missing: bias") as caught:
        load_weights(net, tmp_path / "a.safetensors")
    assert "unexpected: more" in str(caught.value)
    assert load_weights(net, tmp_path / "a.safetensors", strict=False) == (["bias"], ["more"])
    assert net.weight.dtype == lm.float32 and net.weight.tolist() == WEIGHT.tolist() and net.bias.tolist() == before
    lm.io.save({"weight": WEIGHT.T, "bias": BIAS}, tmp_path / "b.safetensors")
    with pytest.raises(ValueError, match=r"weight: shape \[3, 2\] in the state"):
        load_weights(net, tmp_path / "b.safetensors", strict=False)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([], "the index cannot be read"),
        ({}, "the index cannot be read"),
        ({"weight_map": 3}, "'weight_map' is not file by name"),
        ({"weight_map": {"w": 3}}, "'weight_map' is not file by name"),
        ({"weight_map": {"w": "../a.safetensors"}}, "is no .safetensors file beside the index"),
        ({"weight_map": {"w": "/etc/a.safetensors"}}, "is no .safetensors file beside the index"),
        ({"weight_map": {"w": "model.bin"}}, "is no .safetensors file beside the index"),
        ({"weight_map": {"w": "model-00001-of-00002.safetensors"}}, "has no tensor 'w'"),
    ],
)
def test_damaged_indices(tmp_path, index: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lm.io.load(shards(tmp_path, index))


def test_what_is_not_there(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="holds neither model"):
        load_weights(linear(), tmp_path)
    with pytest.raises(FileNotFoundError, match=r"names the file 'gone\.safetensors', which is not beside it"):
        lm.io.load(shards(tmp_path, {"weight_map": {"w": "gone.safetensors"}}))
    with pytest.raises(TypeError, match="expected a Module, got int"):
        load_weights(3, tmp_path)
    lm.io.save({"a": 1, "b": [WEIGHT]}, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match="holds 0 dictionaries of tensors, not one"):
        load_weights(linear(), tmp_path / "a.safetensors")
    lm.io.save({"weight": WEIGHT, "w": WEIGHT}, tmp_path / "b.safetensors")
    with pytest.raises(ValueError, match="'weight' and 'w' both become 'weight'"):
        load_weights(linear(), tmp_path / "b.safetensors", {"w": "weight"})

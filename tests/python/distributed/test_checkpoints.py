"""Checkpoints of several processes: on as many they go on bit for bit, on others and in other layouts to rounding."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
import lamella.distributed as dist
from lamella.distributed._checkpoint_files import planned

from .running import needs_gloo, together


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of four processes, in every layout."""
    folder = tmp_path_factory.mktemp("checkpoints")
    done = together("checkpoints", 4, tmp_path_factory.mktemp("meeting"), "save", folder)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 4
    return folder


@needs_gloo
def test_other_processes_go_on_in_other_layouts(saved: Path, tmp_path: Path) -> None:
    done = together("checkpoints", 2, tmp_path, "load", saved)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("checked") == 2


def _net() -> lm.nn.Module:
    return lm.nn.Sequential(lm.nn.Linear(4, 3), lm.nn.BatchNorm1d(3), lm.nn.Linear(3, 2, dtype="float64"))


def _optimizer(model: lm.nn.Module) -> lm.optim.Optimizer:
    biases = [p for p in model.parameters() if p.ndim == 1]
    weights = [p for p in model.parameters() if p.ndim > 1]
    return lm.optim.AdamW([{"params": weights, "lr": 0.1}, {"params": biases}])


def _step(model: lm.nn.Module, optimizer: lm.optim.Optimizer) -> list[Any]:
    optimizer.zero_grad()
    model[2](model[1](model[0](lm.arange(8.0).reshape([2, 4]))).astype("float64")).square().sum().backward()
    optimizer.step()
    return [p.tolist() for p in model.state_dict().values()]


@needs_gloo
def test_one_process_gathers_them_into_a_plain_file(saved: Path, tmp_path: Path) -> None:
    states = []
    for place in sorted(saved.iterdir()):
        if place.name == "damaged":
            continue
        path = dist.gather_checkpoint(place, tmp_path / place.name, step=2)
        assert path.name == "checkpoint-000000002.safetensors"
        found = lm.io.load_checkpoint(path.parent, random=False)
        states.append((found.values["model"], found.values["optimizer"]))
        weights = dist.gather_checkpoint(place, tmp_path / f"{place.name}.safetensors", step=2, part="model")
        assert {k: x.tolist() for k, x in lm.io.load(weights).items() if isinstance(x, lm.Tensor)} == {
            k: x.tolist() for k, x in found.values["model"].items() if isinstance(x, lm.Tensor)
        }
    (model, optimizer), *others = states
    assert optimizer["param_groups"][0]["weight_decay"] == 0.1
    for other, theirs in others:
        assert sorted(other) == sorted(model) and theirs["param_groups"] == optimizer["param_groups"]
        for key, x in model.items():
            if isinstance(x, lm.Tensor):
                np.testing.assert_allclose(other[key].numpy(), x.numpy(), rtol=1e-8, atol=1e-10)
        for position, values in optimizer["state"].items():
            for key, x in values.items():
                np.testing.assert_allclose(np.asarray(theirs["state"][position][key]), np.asarray(x), atol=1e-10)
    with pytest.raises(ValueError, match=r"the models of checkpoint-000000002 are \['model'\], not 'net'"):
        dist.gather_checkpoint(saved / "data", tmp_path, part="net")
    with pytest.raises(FileNotFoundError, match="has no checkpoint"):
        dist.gather_checkpoint(tmp_path / "nothing", tmp_path)


def test_one_process_without_a_group(tmp_path: Path) -> None:
    lm.seed(0)
    model = _net()
    optimizer, scaler = _optimizer(model), lm.amp.GradScaler(init_scale=32.0)
    _step(model, optimizer)
    path = dist.save_checkpoint(tmp_path, 5, model=model, optimizer=optimizer, scaler=scaler)
    expected, drawn = _step(model, optimizer), lm.rand([2]).tolist()
    other = _net()
    again, found = _optimizer(other), lm.amp.GradScaler()
    taken = dist.load_checkpoint(tmp_path, model=other, optimizer=again, scaler=found)
    assert taken == (5, path, {}) and found.get_scale() == 32.0 and lm.rand([2]).tolist() == drawn
    assert _step(other, again) == expected
    dist.gather_checkpoint(tmp_path, tmp_path / "plain")
    plain = _net()
    again = _optimizer(plain)
    lm.io.load_checkpoint(tmp_path / "plain", model=plain, optimizer=again)
    assert _step(plain, again) == expected


def test_what_does_not_fit_leaves_all_as_it_was(tmp_path: Path) -> None:
    model = _net()
    dist.save_checkpoint(tmp_path, 1, model=model, optimizer=_optimizer(model), scaler=lm.amp.GradScaler(), note=3)
    other = _net()
    before = {key: x.tolist() for key, x in other.state_dict().items()}
    scaler = lm.amp.GradScaler(init_scale=4.0)
    loader = lm.data.DataLoader([1], 1)
    for words, parts in {
        r"the state of SGD has 2 groups, the optimizer 1": {"optimizer": lm.optim.SGD(other.parameters(), lr=0.1)},
        r"group 0 of AdamW has no '0.bias' in the state": {
            "optimizer": lm.optim.AdamW([{"params": [p]} for p in list(other.parameters())[1:3]])
        },
        r"the state is a mapping that holds": {"note": loader},
        r"'optimizer' was saved of another kind of object": {"optimizer": loader},
        r"'scaler' was saved of another kind of object": {"scaler": other},
    }.items():
        with pytest.raises(ValueError, match=words):
            dist.load_checkpoint(tmp_path, **{"model": other, "scaler": scaler, **parts})
        assert {key: x.tolist() for key, x in other.state_dict().items()} == before and scaler.get_scale() == 4.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda text: text[: len(text) // 2], "the index cannot be read"),
        (lambda text: text.replace("part-", "../part-"), "a file lies elsewhere"),
        (lambda text: text.replace('"files"', '"f"'), "the index cannot be read: 'files'"),
    ],
)
def test_a_damaged_index_is_refused(make: Any, words: str, tmp_path: Path) -> None:
    model = lm.nn.Linear(2, 2)
    path = dist.save_checkpoint(tmp_path, 1, model=model) / "index.json"
    path.write_text(make(path.read_text()))
    with pytest.raises(ValueError, match=words):
        dist.load_checkpoint(tmp_path, model=model)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    model = lm.nn.Linear(2, 2)
    path = dist.save_checkpoint(tmp_path, 1, model=model)
    before = shutil.copytree(path, tmp_path / "copy")
    dist.save_checkpoint(tmp_path, 1, model=model)  # replaced by files of other names
    assert {one.name for one in path.iterdir()} & {one.name for one in before.iterdir()} == {"index.json"}
    next(path.glob("part-*")).unlink()
    with pytest.raises(ValueError, match="lacks the file 'part-00000-of-00001-"):
        dist.load_checkpoint(tmp_path, model=model)


def test_what_several_processes_have_is_written_by_one_in_turn() -> None:
    whole = ["float32", [4], [4], [0], [4]]
    halves = [["float32", [4], [4], [2 * i], [2]] for i in range(2)]
    empty = ["float32", [1], [1], [0], [0]]
    described = [
        {"a": whole, "b": whole, "c": halves[0], "d": empty},
        {"a": whole, "b": whole, "c": halves[1], "d": ["float32", [1], [1], [0], [1]]},
    ]
    tensors, writes = planned(described)
    assert writes == [["a", "c"], ["b", "c", "d"]]
    assert [piece.file for piece in tensors["c"].pieces] == [0, 1] and len(tensors["d"].pieces) == 1

"""lamella.utils.tensorboard: what is written is read again, record by record."""

import struct
import subprocess
import sys

import numpy as np
import pytest

import lamella as lm
from support import extensions

pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")

from lamella.utils.tensorboard import SummaryWriter


def events(folder):
    """Returns the events of a folder's files: records with their length before them and check sums around them."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for file in sorted(folder.glob("events.*")):
        data, place = file.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<Q", data, place)
            found.append(Event.FromString(data[place + 12 : place + 12 + length]))
            place += length + 16
    return found


def values(folder):
    return {value.tag: value for event in events(folder) for value in event.summary.value}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int64", "bool"])
def test_numbers_may_be_tensors_on_the_tape(dtype, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        x = lm.ones([], dtype=dtype)
        if dtype.startswith(("float", "bfloat")):
            x.stop_gradient = False
            x = x * 1
        for step in range(3):
            writer.add_scalar("number", x, step)
        writer.add_scalar("plain", 0.5, lm.tensor(7))
    found = [(e.step, v.tag, v.simple_value) for e in events(tmp_path) for v in e.summary.value]
    assert found == [(0, "number", 1.0), (1, "number", 1.0), (2, "number", 1.0), (7, "plain", 0.5)]


def test_tensors_in_containers(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("both", {"a": lm.tensor(1.5), "b": 2.0}, 0)
        writer.add_hparams({"width": lm.tensor(3)}, {"accuracy": lm.tensor(0.25)}, name="run")
    assert values(tmp_path / "both" / "a")["both"].simple_value == 1.5
    assert values(tmp_path / "both" / "b")["both"].simple_value == 2.0
    assert values(tmp_path / "run")["accuracy"].simple_value == 0.25


def test_arrays_are_those_of_numpy(tmp_path):
    numbers = np.random.default_rng(5).normal(size=(40,)).astype(np.float32)
    shades = np.linspace(0, 1, 3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
    for name, make in (("theirs", np.asarray), ("ours", lm.asarray)):
        with SummaryWriter(str(tmp_path / name)) as writer:
            writer.add_histogram("numbers", make(numbers), 1)
            writer.add_image("shades", make(shades), 1)
            writer.add_pr_curve("curve", make(numbers > 0), make(np.abs(numbers) / 4), 1)
    ours, theirs = values(tmp_path / "ours"), values(tmp_path / "theirs")
    assert ours.keys() == theirs.keys() == {"numbers", "shades", "curve"}
    assert all(ours[tag].SerializeToString() == theirs[tag].SerializeToString() for tag in ours)


def test_a_graph_has_the_models_operators(tmp_path, capsys):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from tensorboardX.proto.graph_pb2 import GraphDef

    model = lm.nn.Sequential(lm.nn.Linear(2, 3), lm.nn.ReLU(), lm.nn.Linear(3, 1))
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(model, lm.ones([4, 2]))
    assert capsys.readouterr().out == ""
    (text,) = [event.graph_def for event in events(tmp_path) if event.graph_def]
    nodes = GraphDef.FromString(text).node
    assert [node.op for node in nodes] == ["Variable", "Gemm", "Relu", "Gemm"]
    assert len({node.name for node in nodes}) == len(nodes) and nodes[2].input == [nodes[1].name]


def test_programs_for_pytorch_have_it(tmp_path):
    program = (
        "import torch; from torch.utils.tensorboard import SummaryWriter as W\n"
        "with W(log_dir='run') as w: w.add_scalar('loss', torch.ones(1).requires_grad_().sum(), global_step=3)\n"
    )
    extensions.succeed("-m", "lamella.compat", "-c", program, cwd=tmp_path)
    assert values(tmp_path / "run")["loss"].simple_value == 1.0


def test_without_the_package_an_error_says_what_to_install(tmp_path):
    (tmp_path / "tensorboardX.py").write_text("raise ImportError('not here')\n", "utf-8")
    env = extensions.environment()
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    command = [sys.executable, "-c", "import lamella.utils.tensorboard"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "pip install tensorboardX" in done.stderr

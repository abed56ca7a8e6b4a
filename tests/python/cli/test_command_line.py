"""The command ``lamella``, with good and bad input."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as lm
from lamella._cli import main
from support import extensions

LAYERS = """
import lamella as lm

class Good(lm.PyLayer):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return lm.tanh(x) * factor

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        y = lm.tanh(x)
        return dy * (1 - y * y) * ctx.factor, None

class Half(lm.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return dy * x

class Net(lm.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = lm.nn.Linear(3, 2, dtype="float64")

    def forward(self, x):
        return self.linear(x)

class Wide(lm.nn.Module):
    def __init__(self, width):
        super().__init__()

NUMBER = 3

class Refusing(lm.nn.Module):
    def __init__(self):
        raise ValueError("not today")

def ending(x):
    raise SystemExit(0)

class inner:
    @staticmethod
    def scaled(x, mask, axis=0):
        return (x * mask).sum(axis)
"""


@pytest.fixture
def layers(tmp_path: Path) -> str:
    (tmp_path / "my_layers.py").write_text(LAYERS, encoding="utf-8")
    return str(tmp_path / "my_layers.py")


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["lamella"].startswith(lm.__version__) and lines["numpy"] == np.__version__
    assert lines["cpu kernels"] == lm.config.config()["cpu kernels"]


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    assert extensions.succeed("-m", "lamella", "--version", cwd=tmp_path) == f"lamella {lm.__version__}\n"
    done = extensions.run("-m", "lamella", cwd=tmp_path)
    assert done.returncode == 2 and "COMMAND" in done.stderr and "Traceback" not in done.stderr


def test_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamella._cli.bench._PATIENCE", 0.01)
    assert main(["bench", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert main(["bench", "small", "addition", "layer", "step", "compiled"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 5 and all(re.search(r"  [\d.]+ (µs|ms)", line) for line in printed)
    assert "GB/s" in printed[1] and {"matmul", "convolution"} <= set(names)


@pytest.mark.parametrize(
    ("target", "arguments", "status", "text"),
    [
        ("Good", ["[4,3]", "0.5"], 0, "Good passes"),
        ("Half", ["[4]"], 1, "Half fails 1 of"),
        ("Half", ["[]"], 1, "gradcheck: [gradcheck] the gradient of output 0"),
        ("Net", ["[5,3]"], 0, "Net passes"),
        ("inner.scaled", ["[5,3]", "[3]:bool", "1"], 0, "inner.scaled passes"),
    ],
)
def test_check(
    layers: str, target: str, arguments: list[str], status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", f"{layers}:{target}", *arguments]) == status
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["check", "nowhere.py:Layer", "[2]"], "no file 'nowhere.py'"),
        (["check", "no_such_module_:Layer", "[2]"], "'no_such_module_' cannot be imported"),
        (["check", "Layer", "[2]"], "expected FILE.py:NAME"),
        (["check", "{layers}:Missing", "[2]"], "there is no 'Missing'"),
        (["check", "{layers}:Half"], "give at least one floating tensor"),
        (["check", "{layers}:Half", "[2]:int64"], "give at least one floating tensor"),
        (["check", "{layers}:Half", "[2]:float7"], "there is no dtype 'float7'"),
        (["check", "{layers}:Half", "[2", "x"], "'[2' is neither a shape"),
        (["check", "{layers}:NUMBER", "[2]"], "NUMBER is 3: neither a layer nor a function"),
        (["check", "{layers}:Wide", "[2]"], "Wide is made without arguments"),
        (["check", "{folder}/broken.py:Half", "[2]"], "broken.py' cannot be imported: SyntaxError"),
        (["check", "{folder}/leaving.py:Half", "[2]"], "leaving.py' cannot be imported: SystemExit: 0"),
        (["check", "{layers}:ending", "[2]"], "ending ends the program: SystemExit: 0"),
        (["check", "{layers}:Refusing", "[2]"], "Refusing cannot be made: ValueError: not today"),
        (["check", "{layers}:Half", f"[{10**13}]"], "do not fit into memory"),
        (["check", "{layers}:Half", f"[{10**23}]"], "do not fit into memory"),
        (["bench", "nothing"], "there is no benchmark 'nothing'"),
        (["new-op", "My-Op"], "'My-Op' cannot be a name"),
        (["new-op", "lambda"], "'lambda' cannot be a name"),
        (["new-op", "numpy"], "'numpy' is the name of another package"),
        (["new-op", "json"], "'json' is the name of another package"),
        (["new-op", "lm"], "'lm' is the name of another package or folder, or of something in the project's files"),
        (["new-op", "x"], "'x' is the name of another package or folder, or of something in the project's files"),
        (["new-op", "pytest"], "'pytest' is the name of another package"),
        (["new-op", "mine", "--path", "{folder}"], "exists already"),
        (["new-op", "mine", "--path", "{folder}/" + 300 * "n"], "cannot be written: File name too long"),
        (["new-op", "mine", "--path", "{layers}/mine"], "cannot be written: Not a directory"),
        (["convert", "nowhere.npz", "x.npz"], "no file 'nowhere.npz'"),
        (["convert", "{folder}", "x.npz"], "is a folder, not a file"),
        (["convert", "/dev/null", "x.npz"], "'/dev/null' is no file"),
        (["convert", "{folder}/damaged.pt", "x.npz"], "damaged.pt: cannot be read: it is damaged, or no file of torch"),
        (["convert", "{layers}", "x.npz"], ".py"),
        (["convert", "{weights}", "{folder}/x.txt"], "{folder}/x.txt' ends neither in"),
        (["convert", "{weights}", "."], "'.' ends neither in"),
        (["convert", "{weights}", "/dev/full"], "'/dev/full' ends neither in"),
        (["check", "{folder}/folder.py:Half", "[2]"], "folder.py' is a folder, not a file"),
        (["convert", "{weights}", "{folder}/none/x.npz"], "x.npz' cannot be written: No such file or directory"),
        (["convert", "{weights}", "{folder}/x.npz", "--dtype", "int8"], "'int8' is no floating dtype"),
    ],
)
def test_mistakes_are_told_in_one_line(
    layers: str, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(layers).parent
    weights = folder / "weights.npz"
    lm.io.save({"w": lm.ones([2])}, weights)
    (folder / "broken.py").write_text("def broken(:", encoding="utf-8")
    (folder / "leaving.py").write_text("import sys\nsys.exit(0)", encoding="utf-8")
    (folder / "damaged.pt").write_text("junk", encoding="utf-8")
    (folder / "folder.py").mkdir()
    given = [
        a.replace("{layers}", layers).replace("{folder}", str(folder)).replace("{weights}", str(weights))
        for a in arguments
    ]
    assert main(given) == 2
    told = capsys.readouterr().err
    assert (
        text.replace("{folder}", str(folder)) in told
        and told.startswith(f"lamella {arguments[0]}: ")
        and told.count("\n") == 1
    )


@pytest.mark.parametrize(
    "arguments", [["convert", "", "x.npz"], ["convert", "x.npz", ""], ["new-op", "mine", "--path", ""]]
)
def test_a_path_without_letters_is_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It would stand for the folder that the program runs in."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "a path has at least one letter, not ''" in capsys.readouterr().err


def test_a_module_of_float32_is_checked_in_float64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain.py").write_text("import lamella as lm\nnet = lm.nn.Linear(3, 2)\n", encoding="utf-8")
    assert main(["check", f"{tmp_path}/plain.py:net", "[4,3]"]) == 0
    assert "net passes" in capsys.readouterr().out
    assert main(["check", f"{tmp_path}/plain.py:net", "[4,3]:float32"]) == 1
    assert "float32, which is too coarse" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 bytes"), (48, "48 bytes"), (1500, "1.5 kB"), (2e6, "2 MB"), (3.25e9, "3.25 GB")]
)
def test_sizes_are_told_in_their_unit(count: float, told: str) -> None:
    from lamella._cli import convert

    assert convert._bytes(count) == told


def test_a_seed_is_not_negative(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "layers.py:Half", "[2]", "--seed", "-1"])
    assert ended.value.code == 2 and "a seed is an integer of at least 0, not '-1'" in capsys.readouterr().err


@pytest.mark.parametrize("is_there", [False, True])
def test_a_project_that_cannot_be_written_leaves_nothing(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a" / "project"
    if is_there:
        folder.mkdir(parents=True)
    write = Path.write_text

    def fails_at_the_third(path: Path, *args: Any, **kwargs: Any) -> int:
        if path.name == "setup.py":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", fails_at_the_third)
    assert main(["new-op", "mine", "--path", str(folder)]) == 2
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == ([tmp_path / "a", folder] if is_there else [])


def test_an_interrupt_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(run: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr("lamella._cli.bench._best", interrupted)
    assert main(["bench", "small"]) == 130
    assert capsys.readouterr().err == "lamella bench: interrupted\n"


@pytest.mark.parametrize("module", ["lamella info", "lamella.sysconfig --cflags", "lamella.onnx header.h"])
@pytest.mark.parametrize(("output", "status"), [("full disk", 1), ("nobody reads", 0), ("closed", 0)])
def test_output_that_cannot_be_written(module: str, output: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "header.h").write_text("", encoding="utf-8")
    command = [sys.executable, "-m", *module.split()]
    if output == "closed":
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
    reader, pipe = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = subprocess.run(
            command,
            stdout=full if output == "full disk" else pipe,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=extensions.environment(),
        )
    finally:
        os.close(pipe)
        os.close(full)
    assert done.returncode == status
    assert done.stderr == (
        f"{module.partition(' --')[0].removesuffix(' header.h')}: No space left on device\n" * status
    )


def test_a_terminal_without_the_letters_gets_escapes(tmp_path: Path) -> None:
    program = "from lamella._cli import bench, main; bench._PATIENCE = 0.01; raise SystemExit(main(['bench', 'small']))"
    env = {**extensions.environment(), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("sum of 8 floats"), done.stderr


def test_without_a_command_it_tells_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "new-op" in capsys.readouterr().err


def test_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = lm.nn.Linear(3, 2)
    lm.io.save(model.state_dict(), tmp_path / "a.npz")
    assert main(["convert", str(tmp_path / "a.npz"), str(tmp_path / "b.safetensors"), "--dtype", "float64"]) == 0
    assert capsys.readouterr().out.startswith("2 tensors, ")
    state = lm.io.load(tmp_path / "b.safetensors")
    assert {name: x.dtype.name for name, x in state.items()} == {"weight": "float64", "bias": "float64"}
    for name, x in model.state_dict().items():
        np.testing.assert_array_equal(state[name].numpy(), x.detach().numpy())


@pytest.mark.projects
def test_a_new_operator_builds_and_passes_its_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extensions.need_compiler()
    pytest.importorskip("setuptools")
    folder = tmp_path / "project"
    assert main(["new-op", "soft_limit", "--path", str(folder)]) == 0
    assert "soft_limit(x, alpha)" in capsys.readouterr().out
    assert not [path for path in folder.rglob("*") if path.is_file() and "@name@" in path.read_text(encoding="utf-8")]
    extensions.succeed("setup.py", "-q", "build_ext", "--inplace", cwd=folder)
    assert "failed" not in extensions.succeed("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=folder)

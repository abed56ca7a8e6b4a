"""python -m lamella.compat: what it runs, and that the fronts reach child processes and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lamella import compat
from support import extensions


def run(*arguments, options=(), env=None, cwd=None):
    command = [sys.executable, *options, "-m", "lamella.compat", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=cwd)


def output(*arguments, **kwargs):
    done = run(*arguments, **kwargs)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


WHERE = "import sys, paddle; print(paddle.__file__); print(sys.argv[1:])"


def assert_front(text, arguments):
    first, second = text.splitlines()
    assert first.startswith(str(compat.PATH)) and second == str(arguments)


def test_code_module_and_script(tmp_path):
    assert_front(output("-c", WHERE, "a", "-m"), ["a", "-m"])
    (tmp_path / "probe.py").write_text(WHERE)
    assert_front(output("-m", "probe", "--flag", cwd=tmp_path), ["--flag"])
    assert_front(output(tmp_path / "probe.py", "x y"), ["x y"])
    assert_front(output("probe.py", cwd=tmp_path), [])
    (tmp_path / "neighbour.py").write_text("value = 5")
    (tmp_path / "uses.py").write_text("import neighbour; print(neighbour.value, __name__)")
    assert output(tmp_path / "uses.py") == "5 __main__"


def test_a_package_folder_runs(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text(WHERE)
    assert_front(output(tmp_path / "app", "1"), ["1"])


def test_commands_and_child_processes(tmp_path):
    assert_front(output("sh", "-c", f"{sys.executable} -c '{WHERE}' 1"), ["1"])
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    assert_front(output("-c", child, WHERE), [])
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{WHERE}' \"$@\"\n")
    tool.chmod(0o755)
    assert_front(output(tool, "2"), ["2"])


def test_interpreter_options_are_passed_on():
    code = "import sys; print(sys.warnoptions, sys.flags.utf8_mode, sys.flags.dont_write_bytecode)"
    assert output("-c", code, options=("-W", "error", "-X", "utf8", "-B")) == "['error'] 1 1"
    joined = [sys.executable, "-Bm", "lamella.compat", "-c", code]
    assert subprocess.run(joined, capture_output=True, text=True).stdout.strip() == "[] 0 1"


def test_exit_status_and_mistakes(tmp_path):
    assert run("-c", "import sys; sys.exit(7)").returncode == 7
    missing = run(tmp_path / "none.py")
    assert missing.returncode == 1 and "there is no script or command" in missing.stderr
    assert "Traceback" not in missing.stderr
    (tmp_path / "program").write_bytes(b"no program")
    (tmp_path / "program").chmod(0o755)
    refused = run(tmp_path / "program")
    assert refused.returncode == 1 and refused.stderr.endswith("program' cannot be run: Exec format error\n")
    assert "Traceback" not in refused.stderr
    assert run().returncode == 2 and "usage:" in run().stdout
    assert run("--help").returncode == 0


def test_other_processes_do_not_see_the_fronts():
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('paddle') is not None)"
    assert subprocess.run([sys.executable, "-c", "import lamella.compat\n" + code]).returncode == 0


def test_environment_keeps_what_was_there():
    env = compat.environment({"PYTHONPATH": "/a:/b", "HOME": "/h"})
    entries = env["PYTHONPATH"].split(os.pathsep)
    assert entries[0] == str(compat.PATH) and entries[-2:] == ["/a", "/b"] and env["HOME"] == "/h"
    assert compat.environment(env) == env


@pytest.mark.parametrize(
    ("statement", "kind", "name"),
    [
        ("import paddle; paddle.nosuch", "AttributeError", "paddle.nosuch"),
        ("import paddle.nosuch", "ImportError", "paddle.nosuch"),
        ("from paddle import nosuch", "ImportError", "paddle.nosuch"),
        ("from paddle.autograd import nosuch", "ImportError", "paddle.autograd.nosuch"),
        ("from paddle.nn import Conv9D", "ImportError", "paddle.nn.Conv9D"),
        ("import paddle.nn.functional as F; F.nosuch", "AttributeError", "paddle.nn.functional.nosuch"),
        ("import paddle; paddle.optimizer.Nosuch", "AttributeError", "paddle.optimizer.Nosuch"),
        ("import paddle; paddle.quantization.imperative", "AttributeError", "paddle.quantization"),
        ("import paddle.quantization", "ImportError", "paddle.quantization"),
        ("from paddle.quantization import imperative", "ImportError", "paddle.quantization"),
        ("from paddle.static import WeightNormParamAttr", "ImportError", "paddle.static.WeightNormParamAttr"),
        ("import paddle; paddle.static.nn.sequence_pool", "AttributeError", "paddle.static.nn.sequence_pool"),
    ],
)
def test_what_the_front_lacks_says_so(statement, kind, name):
    code = f"""
try:
    {statement.replace("; ", chr(10) + "    ")}
except {kind} as error:
    print(error)
"""
    text = output("-c", code)
    assert text.startswith(f"Lamella's paddle front does not have '{name}'")
    assert ("functions are not traced yet" in text) == ("jit" in statement)


@pytest.mark.parametrize("name", ["conv", "expand", "first_step", "last_step", "pool", "softmax"])
def test_sequences_of_lengths_say_what_to_use(name):
    code = (
        f"import paddle\ntry:\n    paddle.static.nn.sequence_{name}\nexcept AttributeError as error:\n    print(error)"
    )
    assert "padded, and masked with paddle.nn.functional.sequence_mask" in output("-c", code)


def test_other_missing_modules_are_not_the_fronts_business():
    code = "import paddle\ntry:\n    import paddling\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert output("-c", code) == "No module named 'paddling'"


# A project that requires the frameworks, for its build as well.
REQUIRES = {
    "setup.py": """
from setuptools import setup
import torch
setup(
    name="lamella-test-requires",
    version="1.0",
    py_modules=["requires_torch"],
    setup_requires=["torch"],
    install_requires=["torch>=2", "torch!=2.5", "paddlepaddle", "oneflow"],
)
""",
    "requires_torch.py": "import torch, paddle, oneflow\n",
    "pyproject.toml": '[build-system]\nrequires = ["setuptools", "torch"]\nbuild-backend = "setuptools.build_meta"\n',
}


def test_pip_takes_the_frameworks_for_installed(tmp_path):
    extensions.need_wheels()
    project = extensions.write(tmp_path / "project", REQUIRES)
    site = tmp_path / "site"
    env = os.environ | {"PIP_NO_INDEX": "1"}
    install = ("-m", "pip", "install", "-q", "--prefix", tmp_path / "prefix")
    done = run(*install, ".", cwd=project, env=env)
    assert done.returncode == 0, done.stderr
    (site,) = (tmp_path / "prefix").glob("**/site-packages")
    assert sorted(path.name for path in site.iterdir() if path.name != "__pycache__") == [
        "lamella_test_requires-1.0.dist-info",
        "requires_torch.py",
    ]
    output("-m", "pip", "check")
    assert "already satisfied" in output("-m", "pip", "install", "torch", "paddlepaddle==3.0.0", env=env)
    # A version that the front is not: said, and not fetched. There would be an index.
    for command in (("install", "torch>=99"), ("install", "--force-reinstall", "torch"), ("download", "torch")):
        done = run("-m", "pip", *command, cwd=tmp_path, env=env)
        assert done.returncode != 0 and "+lamella" in done.stderr + done.stdout


def test_the_frameworks_have_versions_in_the_front_and_nowhere_else():
    code = """
import importlib.metadata as metadata, torch, paddle, oneflow
from lamella import compat
lines = [f"{name}=={metadata.version(name)}" for name in sorted(compat.fronts())]
assert lines == [line for line in compat.CONSTRAINTS.read_text().splitlines() if line[0] != "#"], lines
for name, module in (("torch", torch), ("paddlepaddle", paddle), ("oneflow", oneflow)):
    assert metadata.version(name) == module.__version__ and metadata.requires(name) is None
"""
    output("-c", code)
    names = "('torch', 'paddlepaddle', 'oneflow')"
    outside = f"import importlib.metadata as m; print([n for n in {names} if any(m.Distribution.discover(name=n))])"
    done = subprocess.run([sys.executable, "-c", "import lamella.compat\n" + outside], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_constraints_of_the_user_are_kept():
    once = compat.environment({"PIP_CONSTRAINT": "/a.txt /b.txt"})
    assert once["PIP_CONSTRAINT"].split() == ["/a.txt", "/b.txt", compat.CONSTRAINTS.as_uri()]
    assert compat.environment(once) == once


@pytest.mark.parametrize("framework", ["torch", "paddle"])
def test_the_examples_of_the_documentation_run(framework, tmp_path):
    page = (Path(__file__).resolve().parents[3] / "docs" / "compat.md").read_text("utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    examples = [block for block in blocks if f"import {framework}" in block]
    for code in examples:
        (tmp_path / "example.py").write_text(code, "utf-8")
        printed = output("example.py", cwd=tmp_path)
        assert printed
    assert "0." in output("-c", examples[0], cwd=tmp_path)

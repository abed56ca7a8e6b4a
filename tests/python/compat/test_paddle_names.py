"""How many of Paddle's public names the front has, by module: the lists are in ``paddle_names.txt``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import extensions

#: The least share of a module's names that the front has, of those that need nothing that it leaves out.
SHARE = 0.95
#: Modules of which it has fewer.
SHARES = {"paddle.static.nn": 0.85}

PROBE = """
import importlib, json, sys

missing = {}
for path, names in json.load(sys.stdin).items():
    above, _, last = path.rpartition(".")
    owner = importlib.import_module("paddle").Tensor if last == "Tensor" else importlib.import_module(path)
    missing[path] = [name for name in names if not hasattr(owner, name)]
print(json.dumps(missing))
"""


def listed():
    """Returns the names by module, and the names that are left out by module, each with the reason."""
    modules, without = {}, {}
    for line in Path(__file__).with_name("paddle_names.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            title = line.strip("[]")
            reason = title.removeprefix("without: ") if title.startswith("without: ") else None
        elif not line or line.startswith("#"):
            continue
        elif reason is None:
            modules.setdefault(title, []).extend(line.split())
        else:
            module, _, names = line.partition(": ")
            without.setdefault(module, {}).update(dict.fromkeys(names.split(), reason))
    return modules, without


@pytest.fixture(scope="module")
def missing():
    command = [sys.executable, "-m", "lamella.compat", "-c", PROBE]
    done = subprocess.run(
        command,
        input=json.dumps(listed()[0]),
        capture_output=True,
        text=True,
        env=extensions.environment(),
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_name_is_listed_twice():
    for module, names in listed()[0].items():
        assert len(names) == len(set(names)), (module, [name for name in names if names.count(name) > 1])


@pytest.mark.parametrize("module", listed()[0])
def test_the_front_has_the_names(module, missing):
    modules, without = listed()
    left_out = without.get(module, {})
    assert set(missing[module]) <= set(left_out), "names that are missing without a reason"
    wanted = [name for name in modules[module] if left_out.get(name, "not written") == "not written"]
    share = sum(name not in missing[module] for name in wanted) / len(wanted)
    assert share >= SHARES.get(module, SHARE), (share, missing[module])


@pytest.mark.parametrize("module", listed()[1])
def test_what_is_left_out_is_missing(module, missing):
    names = listed()[1][module]
    assert set(names) <= set(missing[module]), "names that the front has by now"

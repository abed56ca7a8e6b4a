"""How many of PyTorch's public names the front has, by module: the lists are in ``torch_names.txt``."""

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from support import extensions

#: The least share of a module's names that the front has.
SHARES = {
    "torch": 0.90,
    "torch.Tensor": 0.95,
    "torch.nn": 0.90,
    "torch.nn.functional": 1.0,
    "torch.nn.init": 1.0,
    "torch.nn.utils": 0.90,
    "torch.nn.utils.parametrize": 0.90,
    "torch.nn.utils.rnn": 0.90,
    "torch.optim": 0.90,
    "torch.optim.lr_scheduler": 1.0,
    "torch.optim.swa_utils": 0.90,
    "torch.utils.data": 1.0,
    "torch.linalg": 1.0,
    "torch.fft": 1.0,
    "torch.special": 1.0,
    "torch.distributions": 0.90,
}

#: Native modules of names, for a library that lacks them.
NATIVE = {
    "torch.nn.utils": "lamella.nn.utils",
    "torch.nn.utils.parametrize": "lamella.nn.utils.parametrize",
    "torch.nn.utils.rnn": "lamella.nn.utils.rnn",
    "torch.optim.swa_utils": "lamella.optim.swa_utils",
    "torch.utils.data": "lamella.data",
    "torch.distributions": "lamella.distributions",
}

PROBE = """
import importlib, json, sys

missing = {}
for path, names in json.load(sys.stdin).items():
    above, _, last = path.rpartition(".")
    owner = importlib.import_module("torch").Tensor if last == "Tensor" else importlib.import_module(path)
    missing[path] = [name for name in names if not hasattr(owner, name)]
print(json.dumps(missing))
"""


def listed():
    modules = {}
    for line in Path(__file__).with_name("torch_names.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            names = modules.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            names.extend(line.split())
    return modules


@pytest.fixture(scope="module")
def missing():
    command = [sys.executable, "-m", "lamella.compat", "-c", PROBE]
    done = subprocess.run(
        command, input=json.dumps(listed()), capture_output=True, text=True, env=extensions.environment(), timeout=100
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_name_is_listed_twice():
    for module, names in listed().items():
        assert len(names) == len(set(names)), (module, [name for name in names if names.count(name) > 1])


@pytest.mark.parametrize("module", SHARES)
def test_the_front_has_the_names(module, missing):
    if module in NATIVE:
        try:
            importlib.import_module(NATIVE[module])
        except ModuleNotFoundError as error:
            pytest.skip(str(error))
    names = listed()[module]
    assert len(missing[module]) <= math.floor(len(names) * (1 - SHARES[module]) + 1e-9), missing[module]


def test_every_list_has_a_share():
    assert set(listed()) == set(SHARES)

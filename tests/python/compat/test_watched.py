"""What fronts put in the place of tensors' methods in C is seen by what records programs."""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib
import sys

import lamella as lm
from lamella import _attributes
from lamella.graph import _special

natives = dict(_special.ORIGINALS)  # as they are before the front is loaded
importlib.import_module({front!r})
own = {{name for name, value in natives.items() if vars(lm.Tensor)[name] is not value}}
watched = {{name for name, original in _asked}}
print(sorted(own - set(_attributes.replaced) - watched))
"""
#: What a front's methods do by themselves, without the method in C whose place they take, or as a step that is called.
WITHOUT = {
    "torch": [],
    "paddle": [
        *("__array__", "__bool__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imod__", "__imul__"),
        *("__ior__", "__ipow__", "__irshift__", "__isub__", "__itruediv__", "__ixor__", "backward", "clear_grad"),
        *(
            "detach_",
            "imag",
            "item",
            "numpy",
            "real",
            "register_hook",
            "requires_grad_",
            "shape",
            "stop_gradient",
            "to",
        ),
    ],
    "oneflow": [],
}


@pytest.mark.parametrize("front", WITHOUT)
def test_methods_in_c_that_a_front_wraps_are_watched(front):
    noted = "import lamella._attributes as a\n_asked = []\n_watched = a.watched\n"
    noted += "a.watched = lambda name, original: (_asked.append((name, original)), _watched(name, original))[1]\n"
    command = [sys.executable, "-m", "lamella.compat", "-c", noted + PROGRAM.format(front=front)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(WITHOUT[front])

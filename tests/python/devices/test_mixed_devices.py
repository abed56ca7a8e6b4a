"""Every operator with each of its tensors in turn on another device: an error that names both, and no crash.

What is not an error is listed, with its reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import devices, extensions

SCRIPT = devices.ROOT / "tests" / "python" / "devices" / "mixed.py"

#: By operator and place of the tensor that was moved, what is no error: copies between devices are what these are for.
ALLOWED = {
    "copy_ 0 0": "writes from any device into any other",
    "copy_ 0 1": "writes from any device into any other",
    "ctc_loss 0 2": "lengths are read on the host",
    "ctc_loss 0 3": "lengths are read on the host",
    **dict.fromkeys(
        [
            *("dynamic_reshape 0 0", "dynamic_reshape 0 1", "dynamic_broadcast 0 0", "dynamic_broadcast 0 1"),
            *("dynamic_slice 0 0", "dynamic_slice 0 1", "dynamic_slice 0 2"),
            *("dynamic_interpolate 0 0", "dynamic_interpolate 0 1"),
        ],
        "sizes are read on the host",
    ),
}


def outcomes(other: str, *path: Path) -> list[tuple[str, str]]:
    """The calls with their outcomes; one that ended its process has the outcome "ended by signal ..."."""
    env = extensions.environment()
    env["PYTHONPATH"] = os.pathsep.join(
        [*map(str, path), str(devices.ROOT / "tests" / "python"), env.get("PYTHONPATH", "")]
    )
    found: list[tuple[str, str]] = []
    skipped = 0
    while True:
        line = [sys.executable, str(SCRIPT), other, str(skipped)]
        done = subprocess.run(line, capture_output=True, text=True, env=env, timeout=600)
        running = None
        for printed in done.stdout.splitlines():
            word, _, rest = printed.partition(" ")
            if word == "call":
                running = rest
            elif word == "done" and running is not None:
                found.append((running.partition(" ")[2], rest))
                running = None
            elif word == "end":
                assert int(rest) == len(found)
                return found
        assert running is not None, done.stdout[-500:] + done.stderr
        found.append((running.partition(" ")[2], f"ended by {done.returncode}"))
        skipped = int(running.partition(" ")[0]) + 1


def check(other: str, *path: Path) -> None:
    found = outcomes(other, *path)
    assert len(found) > 400
    wrong = []
    for call, outcome in found:
        named = outcome.startswith("RuntimeError [") and other.partition(":")[0] in outcome and "cpu" in outcome
        if not named and not (call in ALLOWED and not outcome.startswith("ended")):
            wrong.append(f"{call}: {outcome}")
    assert not wrong, "\n".join(wrong)


def test_one_tensor_on_meta() -> None:
    check("meta")


def test_one_tensor_on_a_device_that_an_extension_brings(npu: Path) -> None:
    check("npu:0", npu)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_an_index_of_embeddings_on_meta(mode: str) -> None:
    devices.succeed(
        """
        import sys
        import lamella as lm
        from support.devices import raises
        weight, index = lm.ones([4, 3]), lm.asarray([[0, 2]])
        for x, w in ((index.to("meta"), weight), (index, weight.to("meta"))):
            raises(RuntimeError, lambda: lm.embedding(x, w), "[embedding] got tensors on")
            raises(RuntimeError, lambda: lm.embedding_bag(x, w, mode=sys.argv[1]), "[embedding_bag] got tensors on")
        """,
        arguments=(mode,),
    )

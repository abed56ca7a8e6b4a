"""The library under limits of memory: an error that says who asked for what, and a process that lives on.

LAMELLA_LIMITS=full sweeps every case in steps of 40 kB, and in new interpreters too, which takes half an hour;
otherwise a few limits are tried for each case.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import cases
import pytest

import lamella as lm

FOLDER = Path(__file__).parent
FULL = os.environ.get("LAMELLA_LIMITS") == "full"
GROUPS = 8
NAMES = sorted(cases.CASES)


def sweep(*arguments: str) -> None:
    run = subprocess.run([sys.executable, FOLDER / "sweep.py", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_operator_succeeds_or_says_what_it_asked_for(group):
    sweep(*([] if FULL else ["--points", "5"]), *NAMES[group::GROUPS])


def test_also_with_threads_of_its_own():
    sweep(
        "--fresh",
        "--patience",
        "60",
        *([] if FULL else ["--points", "4"]),
        "exp",
        "matmul_large",
        "inv_large",
        "conv2d_float32",
    )


@pytest.mark.parametrize("megabytes", range(60, 600, 20 if FULL else 60))
def test_import_ends(megabytes):
    """OpenBLAS, as it is loaded, asks for memory for ever."""
    limit = megabytes << 20
    run = subprocess.run(
        [sys.executable, "-c", "import lamella as lm; print(lm.exp(lm.zeros([2])).tolist())"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert run.returncode >= 0, run
    assert (run.stdout == "[1.0, 1.0]\n") if run.returncode == 0 else ("Error" in run.stderr or not run.stderr), run


class OutOfMemory(lm.PyLayer):
    """A layer of which a part asks for more than there is, or fails as if it did."""

    @staticmethod
    def forward(ctx, x, part, error):
        ctx.part, ctx.error = part, error
        if part == "forward":
            fail(error)
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, dy):
        if ctx.part == "backward":
            fail(ctx.error)
        return dy * ctx.saved_tensors[0]


def fail(error):
    if error == "python":
        raise MemoryError("from Python")
    if error == "operator":
        lm.empty([1 << 60], dtype="uint8")
    bytearray(1 << 60)


@pytest.mark.parametrize("error", ["python", "operator", "interpreter"])
@pytest.mark.parametrize("part", ["forward", "backward", "hook", "prehook", "accumulated"])
def test_a_pass_that_runs_out_of_memory_leaves_nothing_behind(part, error):
    def run():
        w = lm.tensor([2.0, 3.0], stop_gradient=False)
        before = (w._version, w.tolist())
        y = w * 2
        if part == "hook":
            y.register_hook(lambda g: fail(error))
        if part == "prehook":
            y.grad_fn.register_prehook(lambda g: fail(error))
        if part == "accumulated":
            w.register_post_accumulate_grad_hook(lambda leaf: fail(error))
        with pytest.raises(MemoryError) as caught:
            OutOfMemory.apply(y, part, error).sum().backward()
        assert str(caught.value) and (w._version, w.tolist()) == before and lm.is_grad_enabled()
        assert (w.grad is None) == (part != "accumulated")
        with pytest.raises(RuntimeError, match="no backward pass"):
            lm.autograd.queue_callback(lambda: None)

    run()
    held = lm.memory.memory_stats()["allocated"] if hasattr(lm.memory, "memory_stats") else 0
    for _ in range(20):
        run()
    assert not held or lm.memory.memory_stats()["allocated"] <= held
    x = lm.tensor([2.0], stop_gradient=False)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.item() == 4

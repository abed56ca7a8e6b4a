"""What all tests share: random numbers that depend on no other test."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --cases."""
    parser.addoption(
        "--cases", type=int, default=None, metavar="N", help="run N of the cases of each test that has more, far apart"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what --cases does not ask for; pytest tells how many tests were deselected."""
    most = config.getoption("--cases")
    if most is None:
        return
    if most < 1:
        raise pytest.UsageError(f"--cases is a number of at least 1, not {most}")
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {
        cases[i * (len(cases) - 1) // max(most - 1, 1)].nodeid
        for cases in tests.values()
        for i in (range(most) if len(cases) > most else ())
    } | {item.nodeid for cases in tests.values() if len(cases) <= most for item in cases}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def pytest_configure() -> None:
    """Lets programs that tests start be interrupted; makes tensors on LAMELLA_TEST_DEVICE, if it is set."""
    # A shell has what it runs in the background ignore interrupts, and programs inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Before the tests' modules make any.
    if os.environ.get("LAMELLA_TEST_DEVICE"):
        from support import default_device

        os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")  # errors in the calls that they are from, as on the CPU
        default_device.use(default_device.DEVICE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Counts a test as expected to fail if an operator that it calls is known to have no kernel for that device."""
    report = yield
    if report.failed and call.excinfo and os.environ.get("LAMELLA_TEST_DEVICE"):
        from support import default_device

        if (name := default_device.missing_kernel(call.excinfo.value)) is not None:
            report.outcome, report.wasxfail = "skipped", f"{name} has no kernel for {default_device.DEVICE}"
    return report


def pytest_collection_finish() -> None:
    """Keeps the collector away from the tests themselves, of which there are millions of objects.

    Checks for leaks collect often.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of the test's own."""
    return np.random.default_rng(20240607)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seeds the default generators, where the test's module has imported them, so that tests may run in any order."""
    if (lm := sys.modules.get("lamella")) is not None:
        lm.seed(20240607)


def _modes(lm: Any) -> dict[str, Any]:
    """Returns the modes that tests after this one would run under."""
    from lamella._compile._interception import Interception

    return {
        "gradients are on": lm.is_grad_enabled(),
        "inference mode is on": lm.is_inference_mode_enabled(),
        "autocast is on": lm.is_autocast_enabled(),
        "operators are recorded": lm._C._recorder(),
        "a graph is recorded": lm.graph.is_recording(),
        "a call is observed": Interception._lock.locked(),
        "profile function": sys.getprofile(),
        "trace function": sys.gettrace(),
        "default device": lm.get_default_device(),
    }


@pytest.fixture(autouse=True)
def modes_are_left_as_found(seeded: None) -> Generator[None]:
    """Fails a test that leaves a mode on, which would change what tests after it see."""
    lm = sys.modules.get("lamella")
    before = None if lm is None else _modes(lm)
    yield
    if before is not None:
        after = _modes(lm)
        if after != before:
            gc.collect()  # a module's cycle keeps its global tensors, and they their recorder
            after = _modes(lm)
        assert after == before, {name: (before[name], after[name]) for name in after if after[name] != before[name]}

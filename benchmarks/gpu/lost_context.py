"""A plugin of pytest for runs on a GPU: ``-p benchmarks.gpu.lost_context``, with pytest-xdist.

A kernel that ends with an error takes its process's CUDA context with it, and every test after it in that process
fails. Here each failure is written to a file of its process in the folder ``FAILURES`` as soon as it is known, and a
process that lost its context ends, so that xdist starts another one and the other tests say what they would. After
``LIMIT`` seconds, if it is set, what is left is skipped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

LOST = ("LaunchFailure", "IllegalAddress", "MisalignedAddress", "IllegalInstruction", "LaunchTimeout", "HardwareStack")
LINES = 28  # of a failure, the last ones
BEGIN = time.monotonic()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, None]:
    """Writes a failure, and ends the process if the error is one that stays."""
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    folder = Path(os.environ.get("FAILURES", "build/gpu/failures"))
    folder.mkdir(parents=True, exist_ok=True)
    text = report.longreprtext
    with (folder / f"{os.getpid()}.log").open("a", encoding="utf-8") as file:
        file.write(f"=== {report.nodeid} {report.when}\n" + "\n".join(text.splitlines()[-LINES:]) + "\n")
    if any(name in text for name in LOST):
        os._exit(7)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what comes after the time."""
    if "LIMIT" in os.environ and time.monotonic() - BEGIN > float(os.environ["LIMIT"]):
        pytest.skip("the time that LIMIT gives is over")

"""``lamella info``."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import numpy as np

import lamella as lm


def _compiler() -> str:
    status = lm.graph.native_status()
    named = os.environ.get("LAMELLA_COMPILER", "")
    found = named or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    return f"compiled by {found}" if found and status.mode != "off" else "interpreted"


def info() -> int:
    """Prints what this copy of the library is and what it finds here."""
    entries = {
        "lamella": f"{lm.__version__} in {Path(lm.__file__).parent}",
        "python": f"{platform.python_version()} ({sys.executable})",
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores",
        **{name: str(value) for name, value in lm.config.config().items() if name != "python"},
        "fused programs": _compiler(),
        "settings": ", ".join(sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("LAMELLA_"))) or "none",
    }
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")
    return 0

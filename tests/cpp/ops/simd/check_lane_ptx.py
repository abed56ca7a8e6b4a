"""Compiles lane_ptx.cu and looks for double arithmetic in the kernels of floats.

Usage: check_lane_ptx.py NVCC ROOT, where ROOT is the folder that holds `ops`.
"""

import re
import subprocess
import sys
from pathlib import Path


def kernels(ptx: str) -> dict[str, str]:
    """The text of each kernel, by name."""
    parts = re.split(r"\.entry (\w+)", ptx)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def main(nvcc: str, root: str) -> int:
    source = Path(__file__).with_name("lane_ptx.cu")
    command = [nvcc, "-std=c++20", "-Werror", "all-warnings", "-ptx", "-I", root, str(source), "-o", "-"]
    ptx = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {name: text.count(".f64") for name, text in kernels(ptx).items()}
    print(*(f"{name}: {count} lines with .f64" for name, count in found.items()), sep="\n")
    if not found.get("bare_gelu"):
        print("bare_gelu should be double arithmetic: the check sees nothing")
        return 1
    return int(any(count for name, count in found.items() if name.startswith("lane_")) or len(found) != 5)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

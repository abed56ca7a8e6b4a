"""``python -m lamella.onnx header.h -o builders.py`` writes functions for the operators that a header declares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lamella._console import ended

from .prototypes import builders, read_prototypes


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m lamella.onnx", description=__doc__)
    parser.add_argument("header", type=Path, help="a C++ header with declarations: REG_OP(...).INPUT(...).OUTPUT(...)")
    parser.add_argument("-o", "--output", type=Path, help="the module that is written; standard output by default")
    parser.add_argument("--domain", default="custom", help="the operator set of the nodes")
    given = parser.parse_args(arguments)
    try:
        text = builders(read_prototypes(given.header, given.domain))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if given.output is None:
        print(text, end="")
    else:
        given.output.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(ended("lamella.onnx", main))

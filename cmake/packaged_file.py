"""Prints the path of an installed Python package's file whose name ends as asked: `packaged_file.py PACKAGE TAIL`."""

import importlib.metadata
import os
import sys


def main(package: str, tail: str) -> int:
    """Prints the first file of `package` whose path ends in `tail`; returns 0 if there is one."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return 1
    # A path may begin with ../.. and is made absolute before it is compared.
    paths = [os.path.abspath(str(file.locate())) for file in files]
    found = [path for path in paths if path.endswith(tail) and os.path.exists(path)]
    print(*found[:1], end="")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

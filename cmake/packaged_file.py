"""Prints the path of an installed Python package's file whose name ends as asked: `packaged_file.py PACKAGE TAIL`."""

import importlib.metadata
import sys


def main(package: str, tail: str) -> int:
    """Prints the first such file, and succeeds where there is one."""
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        return 1
    paths = [file.locate() for file in files if f"/{file}".endswith(tail)]
    found = [str(path.resolve()) for path in paths if path.exists()]
    print(*found[:1], end="")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Checks that modules of CPU kernels export their table and nothing else, and use nothing of the library's.

    python check_symbols.py liblamella_cpu_x86-64-v3.so ...

A weak symbol compiled for a newer instruction set, if exported, could replace the library's own of the same name.
"""

import subprocess
import sys

TABLE = "lamella_cpu_kernels"


def symbols(path: str, *options: str) -> set[str]:
    """The dynamic symbols of the library at `path`, without their versions."""
    output = subprocess.run(
        ["nm", "--dynamic", "--format=posix", *options, path], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[0].split("@")[0] for line in output.splitlines()}


def problems(path: str) -> list[str]:
    """What is wrong with the module at `path`, one line of text each."""
    exported = symbols(path, "--defined-only")
    foreign = sorted(name for name in symbols(path, "--undefined-only") if "lamella" in name)
    found = [f"{path} exports {name}" for name in sorted(exported - {TABLE})]
    if TABLE not in exported:
        found.append(f"{path} does not export {TABLE}")
    return found + [f"{path} needs {name} from elsewhere" for name in foreign]


def main() -> int:
    """Reports on the modules named in the command line."""
    if len(sys.argv) < 2:
        print("check_symbols.py: name at least one module")
        return 1
    found = [problem for path in sys.argv[1:] for problem in problems(path)]
    print("\n".join(found) if found else f"Each of {len(sys.argv) - 1} modules exports {TABLE} alone.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

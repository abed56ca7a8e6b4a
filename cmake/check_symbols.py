"""Checks the symbols and the thread_local memory of the library and of its modules.

    python check_symbols.py liblamella.so [MODULE...] --kernels liblamella_cpu_x86-64-v3.so ...

A module of CPU kernels may export its table and nothing else, and may use nothing of the library: a weak symbol that is
compiled for a newer instruction set could, if exported, replace the library's own of the same name.

The thread_local objects must be small: a program that loads the library late, as Python does, has about 1.6 kB left for
those of all its libraries, and reports "cannot allocate memory in static TLS block" if that is not enough. And they
must lie there: memory for others is made when a thread first asks for one, and where there is none the C library ends
the process.
"""

import argparse
import subprocess
import sys

TABLE = "lamella_cpu_kernels"
MAX_THREAD_LOCAL_BYTES = 768


def symbols(path: str, *options: str) -> set[str]:
    """Returns the dynamic symbols of the library at `path`, without their versions."""
    output = subprocess.run(
        ["nm", "--dynamic", "--format=posix", *options, path], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[0].split("@")[0] for line in output.splitlines()}


def problems(path: str) -> list[str]:
    """Returns the faults of the module at `path`, one line of text each."""
    exported = symbols(path, "--defined-only")
    foreign = sorted(name for name in symbols(path, "--undefined-only") if "lamella" in name)
    found = [f"{path} exports {name}" for name in sorted(exported - {TABLE})]
    if TABLE not in exported:
        found.append(f"{path} does not export {TABLE}")
    return found + [f"{path} needs {name} from elsewhere" for name in foreign]


def thread_local_bytes(path: str) -> int:
    """Returns the size of the library's thread_local objects, per thread."""
    output = subprocess.run(
        ["readelf", "--program-headers", "--wide", path], check=True, capture_output=True, text=True
    )
    sizes = [int(line.split()[5], 16) for line in output.stdout.splitlines() if line.split()[:1] == ["TLS"]]
    return sum(sizes)


def asks_late(path: str) -> bool:
    """True if the library has thread_local objects whose memory is made when they are first used."""
    output = subprocess.run(["readelf", "--relocs", "--wide", path], check=True, capture_output=True, text=True).stdout
    return any(kind in output for kind in ("DTPMOD", "TLSDESC"))


def main() -> int:
    """Reports on the library and the modules named in the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--kernels", nargs="+", required=True)
    arguments = parser.parse_args()
    found = [problem for path in arguments.kernels for problem in problems(path)]
    size = sum(map(thread_local_bytes, arguments.libraries))
    if size > MAX_THREAD_LOCAL_BYTES:
        found.append(f"{size} bytes of thread_local objects, more than {MAX_THREAD_LOCAL_BYTES}")
    found += [
        f"{path} has thread_local objects that are not of the model initial-exec"
        for path in arguments.libraries + arguments.kernels
        if asks_late(path)
    ]
    modules = len(arguments.kernels)
    good = f"Each of {modules} modules of kernels exports {TABLE} alone; the libraries have {size} thread_local bytes."
    print("\n".join(found) if found else good)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks the symbols and the thread_local memory of the library and of the modules of CPU kernels.

    python check_symbols.py liblamella.so liblamella_cpu_x86-64-v3.so ...

A module may export its table and nothing else, and may use nothing of the library: a weak symbol compiled for a newer
instruction set, if exported, could replace the library's own of the same name.

The library's thread_local objects must be small: a program that loads it late, as Python does, has about 1.6 kB left
for those of all its libraries, and reports "cannot allocate memory in static TLS block" if that is not enough.
"""

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


def main() -> int:
    """Reports on the library and the modules named in the command line."""
    if len(sys.argv) < 3:
        print("check_symbols.py: name the library and at least one module")
        return 1
    library, *modules = sys.argv[1:]
    found = [problem for path in modules for problem in problems(path)]
    size = thread_local_bytes(library)
    if size > MAX_THREAD_LOCAL_BYTES:
        found.append(f"{library} has {size} bytes of thread_local objects, more than {MAX_THREAD_LOCAL_BYTES}")
    good = f"Each of {len(modules)} modules exports {TABLE} alone; the library has {size} thread_local bytes."
    print("\n".join(found) if found else good)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes link-time stand-ins of the C and C++ libraries, so that what a new system links runs on older ones.

    python stubs.py FOLDER [--glibc 2.28] [--libstdcxx 3.4.24] [--cxxabi 1.3.11]

A library that is linked on a new system asks for the newest version of each symbol. The stand-ins have the versions
that an older system has, and nothing else: they hold no code and are only linked against (`-L FOLDER`), the real
libraries are found at run time. What is newer than the limits comes from elsewhere:

- functions of glibc that are called but came later: from shims.c, in terms of older ones;
- newer parts of libstdc++: from libstdc++.a, hidden in the library that uses them (as Red Hat's toolsets do);
- glibc's vector functions (libmvec, of which most came with 2.35): from libmvec.a, for each instruction set the
  variants for just that set, so that nothing is chosen at run time by glibc's private data.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
Version = tuple[int, ...]

#: Libraries that were parts of their own until glibc 2.34, and the functions that lay in them.
ONCE_APART = {
    "libdl.so.2": re.compile("dl(open|sym|vsym|mopen|close|error|addr|addr1|info)$"),
    "libpthread.so.0": re.compile("(pthread|sem)_"),
    "librt.so.1": re.compile("(timer|mq|aio|shm|lio)_"),
}


@dataclass(frozen=True)
class Symbol:
    """A symbol that a library defines, in one of its versions."""

    name: str
    version: str
    is_default: bool
    kind: str  # FUNC, IFUNC, OBJECT or TLS
    size: int


def output(*command: str | Path) -> str:
    """Returns what a command prints."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def find(library: str) -> Path:
    """Returns the path at which the compiler finds a library."""
    path = Path(output("g++", f"-print-file-name={library}").strip())
    if not path.is_absolute():
        raise SystemExit(f"{library} was not found: install g++ and libc6-dev")
    return path.resolve()


def symbols_of(library: Path) -> Iterable[Symbol]:
    """Reads the symbols that a shared library defines."""
    for line in output("readelf", "--dyn-syms", "--wide", library).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] == "UND" or "@" not in words[7]:
            continue
        name, _, version = words[7].partition("@")
        if not re.fullmatch(r"@?[A-Z]+_[0-9.]+", version):
            continue  # glibc's private symbols, and a few without a number
        yield Symbol(name, version.lstrip("@"), version.startswith("@"), words[3], int(words[2], 0))


def number(version: str) -> Version:
    """Returns a symbol version's number: (2, 28) for GLIBC_2.28."""
    return tuple(int(part) for part in version.rpartition("_")[2].split("."))


def newest(symbols: Iterable[Symbol], limits: dict[str, Version]) -> dict[str, Symbol]:
    """Returns for each name its newest version within the limits of the version's family."""
    chosen: dict[str, Symbol] = {}
    for symbol in symbols:
        family = symbol.version.rpartition("_")[0]
        if family not in limits or number(symbol.version) > limits[family]:
            continue
        before = chosen.get(symbol.name)
        # A default version goes before others of the same number.
        if not before or (number(before.version), before.is_default) < (number(symbol.version), symbol.is_default):
            chosen[symbol.name] = symbol
    return chosen


#: Section and type of a symbol in assembly; all that is not here is a function.
PLACES = {"OBJECT": (".data", "object"), "TLS": ('.section .tbss,"awT",@nobits', "tls_object")}


def write_stub(folder: Path, soname: str, symbols: Iterable[Symbol]) -> None:
    """Links a shared library of that name which defines the symbols, and does nothing."""
    lines = []
    versions: dict[str, list[str]] = {}
    for i, symbol in enumerate(symbols):
        section, kind = PLACES.get(symbol.kind, (".text", "function"))
        size = max(symbol.size, 1) if symbol.kind in PLACES else 1
        lines += [section, f".globl stub{i}", f".type stub{i}, @{kind}"]
        lines += [f".size stub{i}, {size}", f"stub{i}: .skip {size}"]
        lines.append(f".symver stub{i}, {symbol.name}@@@{symbol.version}")
        versions.setdefault(symbol.version, [])
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch, "stub.s"), Path(scratch, "stub.map")
        source.write_text("\n".join(lines) + '\n.section .note.GNU-stack,"",@progbits\n')
        script.write_text("".join(f"{version} {{}};\n" for version in sorted(versions, key=number)))
        link = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}"]
        output(*link, source, "-o", folder / soname)


def home(symbol: Symbol, newer: dict[str, Version], soname: str) -> str:
    """Returns the library in which an older system has a symbol of a newer one's `soname`."""
    if soname != "libc.so.6" or newer.get(symbol.name) != (2, 34):
        return soname
    return next((library for library, names in ONCE_APART.items() if names.match(symbol.name)), soname)


def write_vector_functions(folder: Path) -> None:
    """Makes libmvec.a of the variants for the instruction sets that the names of vector functions stand for."""
    suffixes = {"_ZGVb": "_sse4", "_ZGVd": "_avx2", "_ZGVe": "_skx"}
    original, archive = find("libmvec.a"), folder / "libmvec.a"
    renamed, choosing, member = [], [], ""
    for line in output("nm", "--defined-only", original).splitlines():
        if line.endswith(".o:"):
            member = line[:-1]
        elif " i _ZGV" in line:
            choosing.append(member)  # picks a variant by the processor
        elif match := re.search(r" T ((_ZGV[bde])\w+)$", line):
            name, suffix = match[1], suffixes[match[2]]
            if name.endswith(suffix):
                renamed.append(f"--redefine-sym={name}={name.removesuffix(suffix)}")
    output("objcopy", *renamed, original, archive)
    output("ar", "d", archive, *dict.fromkeys(choosing))


def main() -> None:
    """Writes everything that a linker is to find before the system's libraries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--glibc", default="2.28")
    parser.add_argument("--libstdcxx", default="3.4.24")
    parser.add_argument("--cxxabi", default="1.3.11")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    limits = {
        "GLIBC": number(options.glibc),
        "GLIBCXX": number(options.libstdcxx),
        "CXXABI": number(options.cxxabi),
    }
    libraries: dict[str, list[Symbol]] = {name: [] for name in ONCE_APART}
    for soname in ("libc.so.6", "libm.so.6", "libstdc++.so.6"):
        symbols = list(symbols_of(find(soname)))
        of_now = {symbol.name: number(symbol.version) for symbol in symbols if symbol.is_default}
        for symbol in newest(symbols, limits).values():
            libraries.setdefault(home(symbol, of_now, soname), []).append(symbol)
    for soname, symbols in libraries.items():
        write_stub(folder, soname, symbols)
    output("gcc", "-O2", "-fPIC", "-fvisibility=hidden", "-c", HERE / "shims.c", "-o", folder / "shims.o")
    (folder / "libshims.a").unlink(missing_ok=True)
    output("ar", "crs", folder / "libshims.a", folder / "shims.o")
    write_vector_functions(folder)
    # What -lc, -lm and -lstdc++ find. Archives that follow a stand-in give what it lacks.
    parts = [*(folder / name for name in ("libc.so.6", *ONCE_APART, "libshims.a")), find("libc_nonshared.a")]
    (folder / "libc.so").write_text(f"INPUT({' '.join(map(str, parts))})\n")
    (folder / "libm.so").write_text(f"INPUT({folder / 'libm.so.6'})\n")
    (folder / "libstdc++.so").write_text(f"INPUT({folder / 'libstdc++.so.6'} {find('libstdc++.a')})\n")


if __name__ == "__main__":
    main()

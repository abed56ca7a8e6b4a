"""The compilers of an extension, and the flags that every extension needs."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sysconfig as python_sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lamella import sysconfig

CUDA_SUFFIXES = (".cu", ".cuh")

#: Option for the C++ standard that Lamella's headers need.
STANDARD = "-std=c++20"


@dataclass(frozen=True)
class Compiler:
    """Compiler that was found, and what distinguishes its version from another one's."""

    #: Words of the command: "c++", or several, as in CXX="ccache g++".
    line: tuple[str, ...]
    identity: str
    is_gcc: bool = False


@functools.cache
def _identify(line: tuple[str, ...], stamp: tuple[int, int]) -> Compiler:
    try:
        done = subprocess.run([*line, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"[cpp_extension] cannot run the compiler '{shlex.join(line)}': {error.strerror}") from None
    if done.returncode != 0:
        raise RuntimeError(f"[cpp_extension] '{shlex.join(line)} --version' failed:\n{done.stderr}")
    return Compiler(line, f"{shlex.join(line)} {stamp} {done.stdout}", "Free Software Foundation" in done.stdout)


def _described(line: list[str]) -> Compiler:
    path = shutil.which(line[-1]) or line[-1]
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size)
    except OSError:
        stamp = (0, 0)
    return _identify(tuple(line), stamp)


@functools.cache
def _of_standard(compiler: Compiler) -> Compiler:
    """Returns the compiler. RuntimeError if its standard library is older than C++20's, as Lamella's headers need."""
    source = (
        "#include <version>\n#if !defined __cpp_lib_bit_cast || !defined __cpp_lib_source_location\n#error\n#endif\n"
    )
    command = [*compiler.line, STANDARD, "-E", "-x", "c++", "-"]
    if subprocess.run(command, input=source, capture_output=True, text=True, check=False).returncode != 0:
        version = compiler.identity.partition(") ")[2].partition("\n")[0]
        raise RuntimeError(
            f"[cpp_extension] the compiler '{shlex.join(compiler.line)}' is too old: Lamella's headers need C++20, as "
            f"of g++ 11 or clang++ 16, got {version}; set CXX to a newer one"
        )
    return compiler


def cxx() -> Compiler:
    """Returns the C++ compiler: $CXX, or the first of c++, g++ and clang++ that is there.

    Raises:
        RuntimeError: there is none, it does not run, or it is too old.
    """
    wish = os.environ.get("CXX")
    if wish:
        return _of_standard(_described(shlex.split(wish)))
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return _of_standard(_described([name]))
    raise RuntimeError("[cpp_extension] there is no C++ compiler: looked for $CXX, c++, g++ and clang++")


@functools.cache
def cuda_home() -> str | None:
    """CUDA's folder: $CUDA_HOME, $CUDA_PATH, that of the nvcc on the path, or the usual place; None without CUDA."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            return os.environ[variable]
    found = shutil.which("nvcc")
    if found:
        return str(Path(found).resolve().parent.parent)
    usual = Path("/usr/local/cuda")
    return str(usual) if (usual / "bin" / "nvcc").exists() else None


def nvcc() -> Compiler:
    """CUDA's compiler.

    Raises:
        RuntimeError: there is no CUDA.
    """
    home = cuda_home()
    if home is None:
        raise RuntimeError(
            "[cpp_extension] sources for CUDA need nvcc, which was not found: set CUDA_HOME to CUDA's folder"
        )
    return _described([str(Path(home) / "bin" / "nvcc")])


def include_dirs(with_cuda: bool) -> list[str]:
    """Returns the folders of Lamella's, Python's, pybind11's (a wheel has them, too) and CUDA's headers."""
    folders = [*sysconfig.get_include(), python_sysconfig.get_path("include")]
    platform = python_sysconfig.get_path("platinclude")
    if platform not in folders:
        folders.append(platform)
    try:
        import pybind11

        folders.append(pybind11.get_include())
    except ImportError:
        # An extension of registered operators alone needs none.
        bundled = Path(sysconfig.get_lib()) / "extern"
        folders += [str(bundled)] * bundled.exists()
    if with_cuda:
        home = cuda_home()
        if home is not None:
            folders.append(str(Path(home) / "include"))
    return folders


def library_dirs(with_cuda: bool) -> list[str]:
    """Returns the folders of ``liblamella.so`` and of CUDA's runtime."""
    folders = [sysconfig.get_lib()]
    home = cuda_home() if with_cuda else None
    if home is not None:
        folders += [str(path) for name in ("lib64", "lib") if (path := Path(home) / name).is_dir()]
    return folders


def new_enough(flags: Sequence[str]) -> list[str]:
    """Returns the flags without those that ask for an older C++ than Lamella's headers need."""
    kept = [flag for flag in flags if not re.fullmatch(r"--?std=(c|gnu)\+\+[019].", flag)]
    for i in reversed(range(len(kept) - 1)):  # nvcc's form in two words
        if kept[i] in ("-std", "--std") and re.fullmatch(r"(c|gnu)\+\+[019].", kept[i + 1]):
            del kept[i : i + 2]
    return kept


def flags_of_environment(*names: str) -> list[str]:
    """Returns the flags that environment variables such as CXXFLAGS have, in order."""
    return [flag for name in names for flag in shlex.split(os.environ.get(name, ""))]


def cxx_flags(compiler: Compiler) -> list[str]:
    """Returns the flags of every C++ source, which come before the flags of its extension."""
    flags = [STANDARD, "-O2", "-fPIC"]
    if compiler.is_gcc:
        # Without this option, static variables of inline functions are shared by all versions of an extension in a
        # process, so that the second build of one would work with the variables of the first.
        flags.append("-fno-gnu-unique")
    return flags


def nvcc_flags(given: list[str]) -> list[str]:
    """Returns the flags of every CUDA source: the host's flags, and the GPUs if ``given`` names none."""
    host = cxx()
    flags = [STANDARD, "-O2", "--expt-relaxed-constexpr", "--extended-lambda", "-Xcompiler", "-fPIC"]
    flags.append("-diag-suppress=1835")  # silences warnings about attributes of the host's compiler in the headers
    flags.append("-forward-unknown-to-host-compiler")
    if host.is_gcc:
        flags += ["-Xcompiler", "-fno-gnu-unique"]
    if os.environ.get("CXX"):
        flags += ["-ccbin", host.line[-1]]
    if not any(flag.startswith(("-arch", "--gpu-architecture", "-gencode", "--generate-code")) for flag in given):
        flags += architecture_flags(os.environ.get("LAMELLA_CUDA_ARCH_LIST") or os.environ.get("TORCH_CUDA_ARCH_LIST"))
    return flags


def architecture_flags(wish: str | None) -> list[str]:
    """Nvcc's options for architectures such as "8.0;9.0+PTX"; without a wish those of the GPUs here, or of all.

    Raises:
        ValueError: an entry is no architecture.
    """
    if not wish:
        from lamella import cuda

        return ["-arch=native"] if cuda.is_available() else ["-arch=all-major"]
    flags = []
    for entry in wish.replace(" ", ";").split(";"):
        if not entry:
            continue
        number = entry.removesuffix("+PTX").replace(".", "")
        if not number[:-1].isdigit() or not number[-1].isalnum():
            raise ValueError(f"[cpp_extension] '{entry}' is no architecture: expected, for example, 9.0 or 9.0+PTX")
        flags += ["-gencode", f"arch=compute_{number},code=sm_{number}"]
        if entry.endswith("+PTX"):
            flags += ["-gencode", f"arch=compute_{number},code=compute_{number}"]
    return flags

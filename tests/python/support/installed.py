"""Lamella as users have it: a wheel and a prefix, made of the build tree, where the source tree is not seen."""

import base64
import functools
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Python's files of the package, as scikit-build-core takes them: without what is built.
_NOT_SOURCES = shutil.ignore_patterns("*.so", "*.so.*", "_C.pyi", "__pycache__", "cmake", "licenses")


def build_tree() -> Path:
    """The build tree that wrote the libraries into python/lamella; skips where the package was not built in place."""
    caches = [
        path
        for path in (ROOT / "build").glob("*/CMakeCache.txt")
        if "LAMELLA_IN_PLACE:BOOL=ON" in path.read_text("utf-8")
    ]
    if not caches:
        pytest.skip("no build tree has LAMELLA_IN_PLACE: there is nothing to install from")
    return max(caches, key=lambda path: path.stat().st_mtime).parent


def install_prefix(prefix: Path) -> Path:
    """What `cmake --install` gives."""
    subprocess.run(["cmake", "--install", build_tree(), "--prefix", prefix], check=True, capture_output=True)
    return prefix


def wheel(folder: Path) -> Path:
    """A wheel of what is built; or the one that LAMELLA_TEST_WHEEL names.

    `pip wheel` would compile all of it again. This one has the same files: those of the install component `python`, the
    package's sources, and the metadata that the build backend writes.
    """
    given = os.environ.get("LAMELLA_TEST_WHEEL")
    if given:
        return Path(given).resolve()
    stage = folder / "stage"
    shutil.copytree(ROOT / "python" / "lamella", stage / "lamella", ignore=_NOT_SOURCES)
    command = ["cmake", "--install", build_tree(), "--prefix", stage / "lamella", "--component", "python"]
    subprocess.run(command, check=True, capture_output=True)
    hook = "import scikit_build_core.build as b, sys; print(b.prepare_metadata_for_build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", hook, stage], check=True, cwd=ROOT, capture_output=True, text=True)
    metadata = stage / done.stdout.split()[-1]
    tags = re.findall(r"^Tag: (.*)$", (metadata / "WHEEL").read_text("utf-8"), re.MULTILINE)
    return _packed(stage, metadata, folder / f"{metadata.name.removesuffix('.dist-info')}-{tags[0]}.whl")


def _packed(stage: Path, metadata: Path, target: Path) -> Path:
    files = sorted(path for path in stage.rglob("*") if path.is_file() and path.name != "RECORD")
    lines = []
    with zipfile.ZipFile(target, "w", compresslevel=1, compression=zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            name, data = path.relative_to(stage).as_posix(), path.read_bytes()
            archive.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
        record = f"{metadata.name}/RECORD"
        archive.writestr(record, "".join(lines) + f"{record},,\n")
    return target


def environment(folder: Path, *packages: str) -> Path:
    """A virtual environment with copies of this one's packages and what these need; returns its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in _with_requirements(packages):
        _copy(name, folder / "lib" / version / "site-packages")
    return folder / "bin" / "python"


def packed_distribution(name: str, folder: Path) -> Path:
    """A wheel of a package that is installed here, without its commands."""
    stage = folder / f"{name}-stage"
    _copy(name, stage)
    (metadata,) = stage.glob("*.dist-info")
    tag = re.search(r"^Tag: (.*)$", (metadata / "WHEEL").read_text("utf-8"), re.MULTILINE)[1]
    target = _packed(stage, metadata, folder / f"{metadata.name.removesuffix('.dist-info')}-{tag}.whl")
    shutil.rmtree(stage)
    return target


def _copy(name: str, site: Path) -> None:
    for file in importlib.metadata.files(name) or []:
        source, target = Path(str(file.locate())), site / file
        if ".." in file.parts or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _with_requirements(packages: tuple[str, ...]) -> list[str]:
    found: dict[str, None] = {}
    waiting = list(packages)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            requirements = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform or another Python
        found[name] = None
        waiting += [re.match(r"[\w.-]+", line)[0] for line in requirements if "extra ==" not in line]
    return list(found)


@functools.cache
def _hidden() -> tuple[str, ...]:
    """The words before a command that hide the source tree from it, where the system lets us: Linux, as root."""
    words = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(ROOT))
    try:
        done = subprocess.run([*words, "true"], capture_output=True)
    except OSError:
        return ()
    return words if done.returncode == 0 else ()


def run(*command: object, cwd: Path, python: Path | None = None, **variables: str) -> str:
    """What a command prints that cannot see the source tree; it has to succeed."""
    kept = ("LANG", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "TMPDIR", "CXX")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    first = [str(python.parent)] if python else []
    env["PATH"] = os.pathsep.join([*first, "/usr/local/cuda/bin", "/usr/local/bin", "/usr/bin", "/bin"])
    env |= {"HOME": str(cwd), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONWARNINGS": "error::ImportWarning"}
    line = [*_hidden(), *map(str, command)]
    done = subprocess.run(line, cwd=cwd, env=env | variables, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""The build backend: scikit-build-core's, which also asks for those of PyPI's packages that stand in for the system's.

A build wants Eigen's headers and takes oneDNN and OpenBLAS where they are (cmake/libraries.cmake). What the system does
not have comes from PyPI, and is installed into the build's own environment.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from typing import Any

from scikit_build_core import build as _core
from scikit_build_core.build import (  # noqa: F401 (the other hooks)
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

# (header that the compiler finds if the system has the library, option that leaves it out, PyPI's package with it)
_EIGEN = ("eigen3/Eigen/Core", None, "cmeel-eigen>=3.4")
_ONEDNN = ("oneapi/dnnl/dnnl.hpp", "LAMELLA_WITH_ONEDNN", "onednn-devel-cpu-gomp==2023.2.0")
_OPENBLAS = (None, "LAMELLA_WITH_LAPACK", "scipy-openblas32>=0.3.27")

Settings = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Returns scikit-build-core's requirements, and packages for libraries that the system lacks."""
    return [*_core.get_requires_for_build_wheel(config_settings), *missing_libraries(config_settings)]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Returns the requirements of an editable install, which are those of a wheel."""
    return [*_core.get_requires_for_build_editable(config_settings), *missing_libraries(config_settings)]


def missing_libraries(config_settings: Settings = None) -> list[str]:
    """Returns PyPI's packages for libraries that the system lacks and the settings do not leave out."""
    settings = {name.removeprefix("cmake.define."): value for name, value in (config_settings or {}).items()}
    places = str(settings.get("LAMELLA_LIBRARIES", "system;python")).split(";")
    # oneDNN's package is for x86-64 only; on other processors the build does without.
    libraries = [_EIGEN, _OPENBLAS, *([_ONEDNN] if platform.machine() == "x86_64" else [])]
    wanted = []
    for header, option, package in libraries:
        left_out = option and str(settings.get(option, "AUTO")).upper() in ("OFF", "0", "NO", "FALSE")
        on_system = places[0] == "system" and (has_header(header) if header else has_openblas())
        if "python" in places and not left_out and not on_system:
            wanted.append(package)
    return wanted


def has_header(name: str) -> bool:
    """True if the C++ compiler finds a header."""
    compiler = shlex.split(os.environ.get("CXX", "")) or [shutil.which("c++") or shutil.which("g++") or "clang++"]
    command = [*compiler, *shlex.split(os.environ.get("CXXFLAGS", "")), "-E", "-x", "c++", "-"]
    source = f"#if !__has_include(<{name}>)\n#error\n#endif\n"
    try:
        return subprocess.run(command, input=source, capture_output=True, text=True).returncode == 0
    except OSError:
        sys.exit(f"Lamella needs a C++ compiler, and there is no {compiler[0]}: install g++ 12 or newer, or set CXX.")


def has_openblas() -> bool:
    """True if the system's loader finds OpenBLAS, which the library loads on first use."""
    import ctypes

    try:
        ctypes.CDLL("libopenblas.so.0")
    except OSError:
        return False
    return True

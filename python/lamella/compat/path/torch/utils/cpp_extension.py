"""Builds extensions written for PyTorch: :mod:`lamella.utils.cpp_extension` with PyTorch's headers before Lamella's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from lamella import compat
from lamella.compat.front import close_module
from lamella.utils import cpp_extension as _native
from lamella.utils._extension import toolchain as _toolchain
from lamella.utils.cpp_extension import CUDA_HOME, is_ninja_available, library_paths

_HEADERS = [str(compat.HEADERS)]
# Lines that load_inline() puts before C++ sources, and before CUDA sources.
_INLINE_HEADERS = (
    "#include <torch/extension.h>\n",
    "#include <torch/types.h>\n#include <cuda_runtime.h>\n",
)

ROCM_HOME = CUDNN_HOME = SYCL_HOME = None
IS_LINUX = True
IS_WINDOWS = IS_MACOS = IS_HIP_EXTENSION = False
LIB_EXT = CLIB_EXT = ".so"
CLIB_PREFIX = "lib"
EXEC_EXT = ""
SHARED_FLAG = "-shared"
#: The folder of the library that extensions are linked with.
TORCH_LIB_PATH = library_paths()[0]
#: Flags that PyTorch gives nvcc; Lamella's headers do without.
COMMON_NVCC_FLAGS: list[str] = []


def get_default_build_root() -> str:
    """Returns the folder in which :func:`load` keeps what it built."""
    return str(_native.get_default_build_root())


def get_cxx_compiler() -> str:
    """Returns the C++ compiler: $CXX, or the one that is found."""
    return _toolchain.cxx().line[-1]


def verify_ninja_availability() -> None:
    """RuntimeError where ninja is not installed; nothing here needs it."""
    if not is_ninja_available():
        raise RuntimeError("[cpp_extension] ninja is not installed; extensions are built without it here")


def _find_cuda_home() -> str | None:
    return _toolchain.cuda_home()


def _join_cuda_home(*paths: str) -> str:
    if CUDA_HOME is None:
        raise OSError("[cpp_extension] CUDA is not found: set CUDA_HOME to its folder")
    return os.path.join(CUDA_HOME, *paths)


def _is_cuda_file(path: str) -> bool:
    return Path(path).suffix in _toolchain.CUDA_SUFFIXES


def _get_cuda_arch_flags(cflags: Sequence[str] | None = None) -> list[str]:
    """Returns nvcc's flags for the GPUs to compile for; none where ``cflags`` name some."""
    if any(name in flag for flag in cflags or () for name in ("arch", "gencode", "generate-code")):
        return []
    wish = os.environ.get("TORCH_CUDA_ARCH_LIST") or os.environ.get("LAMELLA_CUDA_ARCH_LIST")
    return _toolchain.architecture_flags(wish)


def _get_build_directory(name: str, verbose: bool) -> str:
    folder = _native._build_folder(name, None)
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def CppExtension(name: str, sources: Sequence[Any], *args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """Returns a ``setuptools.Extension`` for C++ sources; see :func:`lamella.utils.cpp_extension.CppExtension`."""
    return _native._command().extension(name, sources, *args, with_cuda=False, headers=_HEADERS, **kwargs)


def CUDAExtension(name: str, sources: Sequence[Any], *args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """Returns a ``setuptools.Extension`` for C++ and CUDA sources; see :func:`CppExtension`."""
    return _native._command().extension(name, sources, *args, with_cuda=True, headers=_HEADERS, **kwargs)


def include_paths(device_type: str | bool = "cpu", cuda: bool = False) -> list[str]:
    """Returns the folders of the headers that an extension includes."""
    return [*_HEADERS, *_native.include_paths("cuda" if cuda or device_type in (True, "cuda") else "cpu")]


def load(
    name: str,
    sources: Any,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[Any] | None = None,
    build_directory: str | Path | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> ModuleType | None:
    """Compiles and loads sources; see :func:`lamella.utils.cpp_extension.load`.

    Raises:
        NotImplementedError: ``is_standalone``; programs are not built here.
    """
    if is_standalone:
        raise NotImplementedError(
            "[load] is_standalone=True: only libraries are built here; build the program by its compiler, with the "
            "flags of python -m lamella.sysconfig --cflags --ldflags"
        )
    return _native.load(
        name,
        sources,
        extra_cflags,
        extra_cuda_cflags,
        extra_ldflags,
        [*(extra_include_paths or ()), *_HEADERS],
        build_directory,
        verbose,
        with_cuda,
        is_python_module,
        keep_intermediates,
    )


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[Any] | None = None,
    build_directory: str | Path | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> ModuleType | None:
    """Builds and loads sources given as text, before which ``<torch/extension.h>`` is included."""
    return _native.inline_and_load(
        name,
        cpp_sources,
        cuda_sources,
        functions,
        headers=("", "") if no_implicit_headers else _INLINE_HEADERS,
        cflags=extra_cflags,
        cuda_cflags=extra_cuda_cflags,
        ldflags=extra_ldflags,
        includes=extra_include_paths,
        dialect=_HEADERS,
        build_directory=build_directory,
        verbose=verbose,
        with_cuda=with_cuda,
        is_python_module=is_python_module,
        keep_intermediates=keep_intermediates,
    )


_missing = close_module(__name__)


def __getattr__(name: str) -> Any:
    if name == "BuildExtension":
        return _native.BuildExtension
    return _missing(name)

"""Builds extensions written for PyTorch: :mod:`lamella.utils.cpp_extension` with PyTorch's headers before Lamella's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from lamella import compat
from lamella.compat.front import close_module
from lamella.utils import cpp_extension as _native
from lamella.utils.cpp_extension import CUDA_HOME, is_ninja_available, library_paths  # noqa: F401

_HEADERS = [str(compat.HEADERS)]
# Lines that load_inline() puts before C++ sources, and before CUDA sources.
_INLINE_HEADERS = (
    "#include <torch/extension.h>\n",
    "#include <torch/types.h>\n#include <cuda_runtime.h>\n",
)

ROCM_HOME = None


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
    keep_intermediates: bool = True,
) -> ModuleType | None:
    """Compiles and loads sources; see :func:`lamella.utils.cpp_extension.load`."""
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

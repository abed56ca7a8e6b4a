"""Builds extensions in C++ and CUDA: with setuptools into a wheel, or while a program runs.

A project's ``setup.py``::

    from setuptools import setup
    from lamella.utils.cpp_extension import BuildExtension, CppExtension

    setup(
        name="my_layers",
        ext_modules=[CppExtension("my_layers", ["my_layers.cpp"])],
        cmdclass={"build_ext": BuildExtension},
    )

and its ``pyproject.toml``, where the project is written for PyTorch, or for both::

    [build-system]
    requires = ["lamella", "setuptools>=70.1", "pybind11>=3"]
    build-backend = "lamella.utils.cpp_extension"

Or at once, compiled on first use and found again by its content afterwards::

    my_layers = load(name="my_layers", sources=["my_layers.cpp"])

See docs/extensions.md.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import sys
import sysconfig as python_sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lamella.utils._extension import library, toolchain, versions, wheels

if TYPE_CHECKING:
    from lamella.utils._extension.command import BuildExtension

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
]

#: The folder of CUDA; None where it is not installed.
CUDA_HOME = toolchain.cuda_home()

# Lines that load_inline() puts before C++ sources, and before CUDA sources.
_INLINE_HEADERS = (
    "#include <lamella/lamella.h>\n#include <lamella/python.h>\n",
    "#include <lamella/lamella.h>\n#include <cuda_runtime.h>\n",
)

Path_ = str | os.PathLike[str]


def __getattr__(name: str) -> Any:
    # setuptools is imported late: only projects with a setup.py need it, and load() does without.
    if name == "BuildExtension":
        return _command().BuildExtension
    if name.startswith(("build_", "get_requires_for_build_", "prepare_metadata_for_build_")):
        return _of_setuptools("backend").hook(name)
    raise AttributeError(f"module 'lamella.utils.cpp_extension' has no attribute '{name}'")


def _of_setuptools(module: str) -> Any:
    """Returns a module of ours that needs setuptools."""
    try:
        return importlib.import_module(f"lamella.utils._extension.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "setuptools":
            raise
        raise ModuleNotFoundError(
            "[cpp_extension] projects are built by setuptools, which is not installed", name=error.name
        ) from None


def _command() -> Any:
    missing = wheels.what_is_missing() if {"bdist_wheel", "dist_info"}.intersection(sys.argv) else None
    if missing:
        raise ModuleNotFoundError(f"[cpp_extension] {missing}", name="wheel")
    return _of_setuptools("command")


def CppExtension(name: str, sources: Sequence[Path_], *args: Any, **kwargs: Any) -> Any:  # noqa: N802 (a class elsewhere)
    """Returns a ``setuptools.Extension`` for C++ sources that use Lamella.

    Args:
        name: the module's full name, such as ``my_package._C``.
        sources: paths, from the folder of ``setup.py``.
        *args: those of ``setuptools.Extension``.
        **kwargs: those of ``setuptools.Extension``; ``extra_compile_args`` may be a list or a dict with the lists
            ``cxx`` and ``nvcc``, and ``py_limited_api=True`` names the library for all versions of Python.

    Returns:
        The extension, with Lamella's headers and library added. Build it with :class:`BuildExtension`.
    """
    return _command().extension(name, sources, *args, with_cuda=False, headers=(), **kwargs)


def CUDAExtension(name: str, sources: Sequence[Path_], *args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """Returns a ``setuptools.Extension`` for C++ and CUDA (``.cu``) sources; nvcc compiles the latter.

    They are compiled for the GPUs of this machine, for all where it has none, or for those in LAMELLA_CUDA_ARCH_LIST
    (such as ``"8.0;9.0+PTX"``).
    """
    return _command().extension(name, sources, *args, with_cuda=True, headers=(), **kwargs)


def include_paths(device_type: str = "cpu") -> list[str]:
    """Returns the folders of the headers that an extension includes; ``"cuda"`` for CUDA's as well."""
    return toolchain.include_dirs(device_type == "cuda")


def library_paths(device_type: str = "cpu") -> list[str]:
    """Returns the folders of the libraries that an extension is linked with; ``"cuda"`` for CUDA's as well."""
    return toolchain.library_dirs(device_type == "cuda")


def is_ninja_available() -> bool:
    """True if ninja is installed. Nothing here needs it."""
    return shutil.which("ninja") is not None


def get_default_build_root() -> Path:
    """Returns the folder in which :func:`load` keeps what it built, one folder in it for each name.

    $LAMELLA_EXTENSIONS_DIR, or $TORCH_EXTENSIONS_DIR, or a folder in the user's cache.
    """
    for variable in ("LAMELLA_EXTENSIONS_DIR", "TORCH_EXTENSIONS_DIR"):
        if os.environ.get(variable):
            return Path(os.environ[variable])
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "lamella" / "extensions"


def load(
    name: str,
    sources: Path_ | Sequence[Path_],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[Path_] | None = None,
    build_directory: Path_ | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    keep_intermediates: bool = True,
) -> ModuleType | None:
    """Compiles sources where that was not done already, and loads what came out.

    What was built is found again by its content: sources, the headers they include, flags, compiler, and Lamella's own
    headers. A source that was changed gives a new module, also where one of that name is loaded: its operators take the
    place of those that the earlier one registered for the same namespace. An unchanged one gives the same module.
    Processes that want the same build it once; one that dies leaves nothing that another waits for. MAX_JOBS
    says how many compilers run at once; otherwise processors and free memory do.

    Args:
        name: the name of the module, which is also what TORCH_EXTENSION_NAME and LAMELLA_EXTENSION_NAME stand for.
        sources: C++ sources, and CUDA's, which end in ``.cu``.
        extra_cflags: more flags for C++.
        extra_cuda_cflags: more flags for nvcc.
        extra_ldflags: more flags for the linker.
        extra_include_paths: more folders with headers, searched first.
        build_directory: where to build; by default a folder of this name in :func:`get_default_build_root`.
        verbose: print the commands.
        with_cuda: link with CUDA's runtime; by default where a source is CUDA's.
        is_python_module: False for a library that registers operators and is no module.
        keep_intermediates: keep the objects, so that a change of one source compiles that one only.

    Returns:
        The module; None where ``is_python_module`` is False.

    Raises:
        RuntimeError: a compiler failed, with its text.
        FileNotFoundError: a source does not exist.
        ValueError: ``name`` is no name of a module, or no source was given.
        ImportError: what was built cannot be loaded.

    """
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    return build_and_load(
        name,
        [Path(os.path.abspath(path)) for path in paths],
        cflags=extra_cflags,
        cuda_cflags=extra_cuda_cflags,
        ldflags=extra_ldflags,
        includes=extra_include_paths,
        build_directory=build_directory,
        verbose=verbose,
        with_cuda=with_cuda,
        is_python_module=is_python_module,
        keep_intermediates=keep_intermediates,
    )


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[Path_] | None = None,
    build_directory: Path_ | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    keep_intermediates: bool = True,
    no_implicit_headers: bool = False,
) -> ModuleType | None:
    """Builds and loads sources given as text, see :func:`load`.

    Args:
        name: the name of the module.
        cpp_sources: texts of C++, which are joined; ``<lamella/lamella.h>`` and ``<lamella/python.h>`` are included
            before them.
        cuda_sources: texts for nvcc, likewise; functions of theirs that are to be called from Python are declared in
            ``cpp_sources``.
        functions: names of functions to bind, as a name, a list, or a dict of names and docstrings. None binds
            nothing: then a text has its own PYBIND11_MODULE.
        extra_cflags: more flags for C++.
        extra_cuda_cflags: more flags for nvcc.
        extra_ldflags: more flags for the linker.
        extra_include_paths: more folders with headers, searched first.
        build_directory: where the texts are written and built; by default a folder of this name in
            :func:`get_default_build_root`.
        verbose: print the commands.
        with_cuda: link with CUDA's runtime; by default where there are texts of CUDA.
        is_python_module: False for a library that registers operators and is no module.
        keep_intermediates: keep the objects, so that a change of one text compiles that one only.
        no_implicit_headers: the texts include what they need.

    Returns:
        The module; None where ``is_python_module`` is False.

    Raises:
        RuntimeError: a compiler failed, with its text.
        ValueError: ``name`` is no name of a module, or no source was given.
        ImportError: what was built cannot be loaded.

    """
    return inline_and_load(
        name,
        cpp_sources,
        cuda_sources,
        functions,
        headers=("", "") if no_implicit_headers else _INLINE_HEADERS,
        cflags=extra_cflags,
        cuda_cflags=extra_cuda_cflags,
        ldflags=extra_ldflags,
        includes=extra_include_paths,
        build_directory=build_directory,
        verbose=verbose,
        with_cuda=with_cuda,
        is_python_module=is_python_module,
        keep_intermediates=keep_intermediates,
    )


def inline_and_load(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None,
    functions: str | Sequence[str] | Mapping[str, str] | None,
    headers: tuple[str, str],
    build_directory: Path_ | None,
    **options: Any,
) -> ModuleType | None:
    """:func:`load_inline` with the lines that a dialect puts before texts of C++ and of CUDA."""
    _check_name(name)
    texts = {"main.cpp": headers[0] + _joined(cpp_sources) + _bindings(functions)}
    if cuda_sources:
        texts["cuda.cu"] = headers[1] + _joined(cuda_sources)
    folder = _build_folder(name, build_directory)
    # Each text has a folder of its own, so that processes that build different ones at once do not overwrite each
    # other's.
    sources = folder / "inline" / library.digest(*texts.values())
    for file_name, text in texts.items():
        _write_whole(sources / file_name, text)
    return build_and_load(name, [sources / file_name for file_name in texts], build_directory=folder, **options)


def build_and_load(
    name: str,
    sources: list[Path],
    cflags: Sequence[str] | None = None,
    cuda_cflags: Sequence[str] | None = None,
    ldflags: Sequence[str] | None = None,
    includes: Sequence[Path_] | None = None,
    dialect: Sequence[str] = (),
    build_directory: Path_ | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    keep_intermediates: bool = True,
) -> ModuleType | None:
    """:func:`load` with the folders of a dialect's headers."""
    _check_name(name)
    if with_cuda is None:
        with_cuda = any(source.suffix in toolchain.CUDA_SUFFIXES for source in sources)
    folder = _build_folder(name, build_directory)
    suffix = python_sysconfig.get_config_var("EXT_SUFFIX") if is_python_module else ".so"
    described = library.Library(
        file_name=name + suffix,
        sources=sources,
        include_dirs=[*map(os.path.abspath, includes or ()), *dialect, *toolchain.include_dirs(with_cuda)],
        definitions=[f"-DTORCH_EXTENSION_NAME={name}", f"-DLAMELLA_EXTENSION_NAME={name}"],
        cxx_flags=list(cflags or ()),
        nvcc_flags=list(cuda_cflags or ()),
        library_dirs=toolchain.library_dirs(with_cuda),
        link_flags=["-llamella", *(["-lcudart"] if with_cuda else []), *(ldflags or ())],
        folder=folder,
    )
    built = library.build(described, folder, verbose, keep_intermediates)
    return versions.load(name, built, is_python_module)


def _check_name(name: str) -> None:
    if not name.isidentifier():
        raise ValueError(f"[cpp_extension] '{name}' is no name of a module")


def _build_folder(name: str, build_directory: Path_ | None) -> Path:
    if build_directory is not None:
        return Path(os.path.abspath(build_directory))
    tag = f"py{sys.version_info.major}{sys.version_info.minor}"
    return get_default_build_root() / tag / name


def _joined(texts: str | Sequence[str]) -> str:
    return (texts if isinstance(texts, str) else "\n".join(texts)) + "\n"


def _bindings(functions: str | Sequence[str] | Mapping[str, str] | None) -> str:
    if functions is None:
        return ""
    if isinstance(functions, str):
        functions = [functions]
    documented = functions if isinstance(functions, Mapping) else dict.fromkeys(functions, "")
    lines = [f'  m.def("{name}", &{name}, {json.dumps(doc or name)});' for name, doc in documented.items()]
    return "\n".join(["PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) {", "  lamella::python::init();", *lines, "}\n"])


def _write_whole(path: Path, text: str) -> None:
    """Writes a file so that nobody sees a part of it; not where it is there already, for its name is its content's."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(scratch, path)

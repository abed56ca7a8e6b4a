"""setuptools' side: the extension classes and the command that builds them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from setuptools import Extension  # type: ignore[import-untyped]
from setuptools.command import bdist_egg  # type: ignore[import-untyped]
from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

from lamella.utils._extension import library, toolchain


def extension(
    name: str,
    sources: Sequence[str | os.PathLike[str]],
    *args: Any,
    with_cuda: bool,
    headers: Sequence[str],
    **kwargs: Any,
) -> Extension:
    """Returns a setuptools Extension that compiles against Lamella; ``headers`` are searched before Lamella's own."""
    include_dirs = list(kwargs.pop("include_dirs", None) or [])
    kwargs["include_dirs"] = [*include_dirs, *headers, *toolchain.include_dirs(with_cuda)]
    kwargs["library_dirs"] = [*(kwargs.pop("library_dirs", None) or []), *toolchain.library_dirs(with_cuda)]
    kwargs["libraries"] = [*(kwargs.pop("libraries", None) or []), "lamella", *(["cudart"] if with_cuda else [])]
    # setuptools' own check of extra_compile_args wants a list; a dict by language is stored separately.
    flags = kwargs.pop("extra_compile_args", None) or []
    kwargs["language"] = "c++"
    made = Extension(name, [os.fspath(source) for source in sources], *args, **kwargs)
    made.extra_compile_args = dict(flags) if isinstance(flags, dict) else list(flags)
    return made


def flags_of(flags: Sequence[str] | dict[str, Sequence[str]], language: str) -> list[str]:
    """Returns the compiler flags of one language, "cxx" or "nvcc", of those that an extension was given.

    A list is of both.

    Raises:
        ValueError: a key is no language.
    """
    if not isinstance(flags, dict):
        return list(flags)
    unknown = set(flags) - {"cxx", "nvcc"}
    if unknown:
        raise ValueError(f"[cpp_extension] extra_compile_args has '{unknown.pop()}': expected 'cxx' and 'nvcc'")
    return list(flags.get(language, []))


def rpaths(extension_name: str) -> list[str]:
    """Linker flags by which an installed extension finds ``liblamella.so`` in the package installed beside it.

    No folder of the machine that builds is written into the extension: import lamella first where it is elsewhere.
    """
    up = "/..".join(["$ORIGIN"] + [""] * extension_name.count("."))
    return [f"-Wl,-rpath,{up}/lamella", "-Wl,--enable-new-dtags"]


_STUB = """\
def __bootstrap__():
    import importlib.util, os, sys, tempfile

    import lamella  # which the extension is linked with

    path = os.path.join(os.path.dirname(__file__), {resource!r})
    with tempfile.TemporaryDirectory() as folder:
        if not os.path.exists(path):  # the egg is an archive
            data = __loader__.get_data(path)
            path = os.path.join(folder, {resource!r})
            with open(path, "wb") as file:
                file.write(data)
        spec = importlib.util.spec_from_file_location(__name__, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    sys.modules[__name__] = module


__bootstrap__()
"""


def write_stub(resource: str, pyfile: str) -> None:
    """Writes the module that loads an extension from an egg, which ``setup.py install`` makes.

    That of setuptools counts on an extension that puts itself in the place of the module which loads it, as extensions
    did before they were initialized in several phases; those of pybind11 3 do not.
    """
    Path(pyfile).write_text(_STUB.format(resource=resource), "utf-8")


class BuildExtension(build_ext):
    """The ``build_ext`` of projects whose extensions use Lamella.

    ``cmdclass={"build_ext": BuildExtension}``, or with options ``BuildExtension.with_options(use_ninja=False)``:

    Args:
        use_ninja: compile sources at the same time and only those that changed, which needs no ninja here; False
            compiles one after the other.
        no_python_abi_suffix: name the library ``name.so`` instead of ``name.cpython-311-x86_64-linux-gnu.so``.
    """

    options: ClassVar[dict[str, Any]] = {}

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Returns the command with other options; TypeError for an option it does not have."""
        unknown = set(options) - {"use_ninja", "no_python_abi_suffix"}
        if unknown:
            raise TypeError(f"[BuildExtension] has no option '{sorted(unknown)[0]}': use_ninja, no_python_abi_suffix")
        return type(cls.__name__, (cls,), {"options": {**cls.options, **options}})

    def finalize_options(self) -> None:
        """Setuptools' own, and the loading of extensions from eggs."""
        super().finalize_options()
        bdist_egg.write_stub = write_stub

    def build_extension(self, ext: Extension) -> None:
        """Compiles and links one extension; RuntimeError with the compiler's text where that fails."""
        self.check_sources(ext)
        made = library.build(
            self.described(ext),
            Path(self.build_temp).absolute() / "lamella" / ext.name,
            verbose=True,
            serial=not self.options.get("use_ninja", True),
        )
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        # A new file leaves the old one alone, which a process may have loaded, and is never seen half-written.
        scratch = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copy2(made, scratch)
        os.replace(scratch, target)

    def check_sources(self, ext: Extension) -> None:
        """Setuptools' own check, that there is a list of them."""
        if not ext.sources:
            raise ValueError(f"[cpp_extension] extension '{ext.name}' has no sources")

    def described(self, ext: Extension) -> library.Library:
        """Returns the library to build, from the extension and from the command line's options."""
        module = ext.name.rpartition(".")[2]
        definitions = [f"-DTORCH_EXTENSION_NAME={module}", f"-DLAMELLA_EXTENSION_NAME={module}"]
        for name, value in [*ext.define_macros, *(self.define or [])]:
            definitions.append(f"-D{name}" if value is None else f"-D{name}={value}")
        definitions += [f"-U{name}" for name in [*ext.undef_macros, *(self.undef or [])]]
        if self.debug:
            definitions += ["-O0", "-g"]
        sources = [Path(source) for source in ext.sources]
        link_flags = [*ext.extra_objects, *rpaths(ext.name)]
        link_flags += [f"-Wl,-rpath,{path}" for path in [*ext.runtime_library_dirs, *(self.rpath or [])]]
        link_flags += [f"-l{name}" for name in [*ext.libraries, *(self.libraries or [])]]
        link_flags += [*toolchain.flags_of_environment("LDFLAGS"), *ext.extra_link_args]
        return library.Library(
            file_name=os.path.basename(self.get_ext_filename(ext.name)),
            sources=sources,
            include_dirs=[*ext.include_dirs, *(self.include_dirs or [])],
            definitions=definitions,
            cxx_flags=[
                *toolchain.flags_of_environment("CPPFLAGS", "CFLAGS", "CXXFLAGS"),
                *flags_of(ext.extra_compile_args, "cxx"),
            ],
            nvcc_flags=flags_of(ext.extra_compile_args, "nvcc"),
            library_dirs=[*ext.library_dirs, *(self.library_dirs or [])],
            link_flags=link_flags,
        )

    def get_ext_filename(self, fullname: str) -> str:
        """Returns the file's name, without Python's ABI tag where that is asked for."""
        name: str = super().get_ext_filename(fullname)
        if not self.options.get("no_python_abi_suffix", False):
            return name
        stem, _, suffix = name.rpartition(".")
        ext = self.ext_map.get(fullname) if getattr(self, "ext_map", None) else None
        is_limited = ext is not None and getattr(ext, "py_limited_api", False)
        return name if is_limited else f"{stem.partition('.')[0]}.{suffix}"

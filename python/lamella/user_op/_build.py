"""Libraries of the C++ files in an operator's folder, built as :mod:`lamella.utils.cpp_extension` builds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamella.compat import HEADERS

__all__ = ["library"]


def library(name: str, sources: Sequence[Path]) -> str:
    """Returns the shared library of C++ sources that use Lamella; compiled where none of that content is kept.

    It is kept in the folder ``user_ops/<name>`` of :func:`lamella.utils.cpp_extension.get_default_build_root`. Several
    processes may ask at once: one compiles, and the others wait.

    Raises:
        RuntimeError: the compiler failed; what it said is in the message.
    """
    # Imported here, as lamella.sysconfig is a program too, and few programs that import lamella compile something.
    from lamella import sysconfig
    from lamella.utils import cpp_extension
    from lamella.utils._extension import library as builder

    described = builder.Library(
        file_name=f"{name}.so",
        sources=[source.absolute() for source in sources],
        include_dirs=[str(HEADERS), *sysconfig.get_include()],
        library_dirs=[sysconfig.get_lib()],
        link_flags=["-llamella"],
    )
    return str(builder.build(described, cpp_extension.get_default_build_root() / "user_ops" / name))

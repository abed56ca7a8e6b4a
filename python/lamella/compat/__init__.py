"""Runs programs written for other frameworks on Lamella.

``python -m lamella.compat script.py`` starts Python with a folder in front of its path in which ``import torch``,
``import paddle`` and ``import oneflow`` find fronts over Lamella. Nothing is installed under these names: the folder is
on the path of that process and of the processes that it starts, and of no other. To pip and to ``importlib.metadata``
these processes have the frameworks installed, in the versions that the fronts were written for, so that projects which
require them neither fetch nor install them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PATH = Path(__file__).parent / "path"
#: Folder of the headers of other frameworks, such as <torch/extension.h>.
HEADERS = Path(__file__).parent / "include"
#: Folder of the frameworks' own commands.
PROGRAMS = Path(__file__).parent / "bin"
#: pip's constraints, which keep it from installing the frameworks themselves beside the fronts.
CONSTRAINTS = Path(__file__).parent / "constraints.txt"

USAGE = """\
usage: python -m lamella.compat script.py [argument ...]
       python -m lamella.compat -m module [argument ...]
       python -m lamella.compat -c code [argument ...]
       python -m lamella.compat command [argument ...]     (such as make: the Python it starts finds the fronts)
       python -m lamella.compat torchrun --nproc-per-node 2 script.py [argument ...]

Runs a program with `import torch`, `import paddle` and `import oneflow` resolved to Lamella's fronts, in its process
and in those it starts."""


def environment(base: dict[str, str] | None = None) -> dict[str, str]:
    """Returns a copy of ``base`` (by default of this process's environment) in which Python finds the fronts."""
    env = dict(os.environ if base is None else base)
    first = [str(PATH)]
    package_home = Path(__file__).parents[2]
    if package_home.name not in ("site-packages", "dist-packages"):
        # A source tree may be found through the current folder only, and the program may run in another one.
        first.append(str(package_home))
    rest = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry and entry not in first]
    env["PYTHONPATH"] = os.pathsep.join(first + rest)
    # Turns off pip's isolated builds, whose environment lacks this path, so that pip would fetch the framework itself.
    # (For pip's variables of a "no" option, false turns the option on.)
    env.setdefault("PIP_NO_BUILD_ISOLATION", "false")
    # The file is named by its URL, as pip splits the variable at spaces.
    constraints = env.get("PIP_CONSTRAINT", "").split()
    if CONSTRAINTS.as_uri() not in constraints:
        env["PIP_CONSTRAINT"] = " ".join([*constraints, CONSTRAINTS.as_uri()])
    # Makefiles call `python`, which must be this interpreter, and scripts call `torchrun`.
    own = [str(PROGRAMS), os.path.dirname(sys.executable)]
    programs = [entry for entry in env.get("PATH", os.defpath).split(os.pathsep) if entry not in own]
    env["PATH"] = os.pathsep.join([*own, *programs])
    return env


def fronts() -> frozenset[str]:
    """Returns the projects, by their names in an index, that processes with the fronts have installed."""
    lines = CONSTRAINTS.read_text("utf-8").splitlines()
    return frozenset(line.partition("==")[0] for line in lines if not line.startswith("#"))


def command(arguments: list[str], interpreter_options: list[str]) -> list[str]:
    """Returns the command line that runs ``arguments``, which follow ``python -m lamella.compat``.

    Raises:
        FileNotFoundError: the first argument is neither a file nor a command.
    """
    import shutil

    first = arguments[0]
    is_program = os.path.isfile(first) and os.access(first, os.X_OK) and not first.endswith(".py")
    if first.startswith("-") or (os.path.exists(first) and not is_program):
        return [sys.executable, *interpreter_options, *arguments]
    found = shutil.which(first, path=os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise FileNotFoundError(f"there is no script or command '{first}'")
    return [found, *arguments[1:]]


def main() -> None:
    """Replaces this process by the program named on its command line."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        sys.exit(0 if arguments else 2)
    _warn_of_wheels(arguments)
    # Options before `-m lamella.compat` (-W error, -X dev, -u) are meant for the program, too.
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(arguments)]
    try:
        line = command(arguments, _without_module(options))
    except FileNotFoundError as error:
        sys.exit(f"lamella.compat: {error}")
    sys.stdout.flush()
    try:
        os.execve(line[0], line, environment())
    except OSError as error:  # a file that may be executed, and is no program
        sys.exit(f"lamella.compat: {line[0]!r} cannot be run: {error.strerror}")


def _warn_of_wheels(arguments: list[str]) -> None:
    """Says beforehand where pip will fail to build a project: here it builds with what is installed."""
    if "pip" not in map(os.path.basename, arguments[:2]) or not any(map(os.path.exists, arguments[2:])):
        return
    from lamella.utils._extension import wheels

    missing = wheels.what_is_missing()
    if missing:
        print(f"lamella.compat: {missing}", file=sys.stderr, flush=True)


def _without_module(options: list[str]) -> list[str]:
    """Drops ``-m lamella.compat``, in one word or two, perhaps behind other letters (``-um``), from the end."""
    module = __name__
    word = options[-2] if options[-1] == module else options[-1].removesuffix(module)
    kept = options[: -2 if options[-1] == module else -1]
    return kept if word == "-m" else [*kept, word.removesuffix("m")]

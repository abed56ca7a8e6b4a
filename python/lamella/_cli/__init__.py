"""The command ``lamella``: what this copy is, how fast it is, new operators, checks of layers, conversion of files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import lamella as lm
from lamella._console import ended


class UsageError(Exception):
    """A mistake on the command line, told in one sentence."""


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"a seed is an integer of at least 0, not {text!r}")
    return int(text)


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("a path has at least one letter, not ''")
    return Path(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lamella", description=__doc__.partition(": ")[2].capitalize())
    parser.add_argument("--version", action="version", version=f"lamella {lm.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    commands.add_parser("info", help="tells versions, libraries, devices and the compiler")

    bench = commands.add_parser("bench", help="times operators, layers and a training step on this machine")
    bench.add_argument("names", nargs="*", metavar="NAME", help="which ones; all where none is named")
    bench.add_argument("--list", action="store_true", help="lists the names")

    new_op = commands.add_parser("new-op", help="begins a project of an operator in C++, which builds and is tested")
    new_op.add_argument(
        "name", metavar="NAME", help="of the operator and its package: small letters, digits, underscores"
    )
    new_op.add_argument("--path", type=_path, default=None, metavar="FOLDER", help="where to; ./NAME by default")

    check = commands.add_parser(
        "check",
        help="checks a layer: gradients, second order, leaks, meta shapes and more",
        description="Checks a layer as lamella.autograd.check_layer does, with random tensors as its arguments.",
        epilog="lamella check layers.py:ScaledTanh '[4,3]' 0.5",
    )
    check.add_argument(
        "target", metavar="FILE.py:NAME", help="a PyLayer, a Module or a function; or package.module:NAME"
    )
    check.add_argument(
        "arguments",
        nargs="*",
        metavar="ARGUMENT",
        help="[4,3] is a random tensor of that shape, [4,3]:float32 one of that dtype (float64 by default; integers "
        "are 0 and 1); anything else is a value of Python. Where no dtype is named, a Module is checked in float64",
    )
    check.add_argument("--seed", type=_seed, default=0, help="of the random numbers, at least 0")

    convert = commands.add_parser("convert", help="converts a file of tensors: .safetensors, .npz, and from .pt, .pth")
    convert.add_argument("source", type=_path, metavar="FROM", help="the file to read")
    convert.add_argument("target", type=_path, metavar="TO", help="the file to write, .safetensors or .npz")
    convert.add_argument("--dtype", default=None, help="of the floating tensors, such as float16; unchanged by default")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    # Each command's module is loaded where it runs: `lamella info` does not wait for the others.
    if arguments.command == "info":
        from .info import info

        return info()
    if arguments.command == "bench":
        from .bench import bench

        return bench(arguments.names, arguments.list)
    if arguments.command == "new-op":
        from .new_op import new_op

        return new_op(arguments.name, arguments.path)
    if arguments.command == "check":
        from .check import check

        return check(arguments.target, arguments.arguments, arguments.seed)
    from .convert import convert

    return convert(arguments.source, arguments.target, arguments.dtype)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status: 0, 1 where a check failed, 2 for a mistake on the command line.

    It is 130 where the command was interrupted.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2

    def command() -> int:
        try:
            return _run(arguments)
        except UsageError as error:
            print(f"lamella {arguments.command}: {error}", file=sys.stderr)
            return 2

    return ended(f"lamella {arguments.command}", command)

"""``lamella check``."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import lamella as lm

from . import UsageError

_TENSOR = re.compile(r"\[\s*(?P<sizes>(\d+(\s*,\s*\d+)*)?)\s*\](:(?P<dtype>\w+))?")


def _module(place: str) -> Any:
    """Returns the module of a file, or of an importable name."""
    if not place.endswith(".py"):
        sys.path.insert(0, "")
        return importlib.import_module(place)
    path = Path(place)
    if not path.is_file():
        raise UsageError(f"{place!r} is a folder, not a file" if path.is_dir() else f"there is no file {place!r}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _layer(target: str) -> Any:
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"expected FILE.py:NAME or package.module:NAME, got {target!r}")
    try:
        module = _module(place)
    except UsageError:
        raise
    except ImportError as error:
        raise UsageError(f"{place!r} cannot be imported: {error}") from error
    # Whatever the user's file does: ending the program with status 0 would look as if the checks had passed.
    except (Exception, SystemExit) as error:
        raise UsageError(f"{place!r} cannot be imported: {type(error).__name__}: {error}") from error
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"there is no {name!r} in {place}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{name} is {found!r}: neither a layer nor a function")
    if isinstance(found, type) and issubclass(found, lm.nn.Module):
        try:
            return found()
        except TypeError as error:
            raise UsageError(f"{name} is made without arguments: {error}; name an object or a function") from error
        except (Exception, SystemExit) as error:
            raise UsageError(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    return found


def _argument(text: str, rng: np.random.Generator) -> Any:
    match = _TENSOR.fullmatch(text)
    if match is None:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError) as error:
            raise UsageError(f"{text!r} is neither a shape, such as [4,3], nor a value of Python") from error
    shape = [int(size) for size in match["sizes"].split(",")] if match["sizes"] else []
    dtype = getattr(lm, match["dtype"] or "float64", None)
    if not isinstance(dtype, lm.DType):
        raise UsageError(f"there is no dtype {match['dtype']!r}")
    if dtype.name.startswith(("float", "bfloat")):
        return lm.tensor(rng.normal(size=shape), dtype=dtype, stop_gradient=False)
    if dtype.name.startswith("complex"):
        parts = rng.normal(size=(2, *shape))
        return lm.tensor(parts[0] + 1j * parts[1], dtype=dtype, stop_gradient=False)
    return lm.tensor(rng.integers(0, 2, size=shape), dtype=dtype)


def check(target: str, arguments: list[str], seed: int) -> int:
    """Checks a layer at random arguments and prints the outcome of each check; returns 1 if one failed."""
    rng = np.random.default_rng(seed)
    layer = _layer(target)
    try:
        given = [_argument(text, rng) for text in arguments]
    except (MemoryError, OverflowError, ValueError) as error:  # numpy has one for each range of sizes
        raise UsageError(f"the arguments do not fit into memory: {' '.join(arguments)}") from error
    if not any(isinstance(x, lm.Tensor) and not x.stop_gradient for x in given):
        raise UsageError("give at least one floating tensor as an argument, such as [4,3]")
    # Differences want more digits than parameters have at first.
    if isinstance(layer, lm.nn.Module) and not any(
        match and match["dtype"] for match in map(_TENSOR.fullmatch, arguments)
    ):
        layer = layer.double()
    try:
        report = lm.autograd.check_layer(layer, *given, raise_exception=False)
    except SystemExit as error:
        raise UsageError(f"{target} ends the program: SystemExit: {error}") from error
    print(report)
    failed = len(report.failures)
    name = target.rpartition(":")[2]
    print(f"\n{name} passes" if report.ok else f"\n{name} fails {failed} of {len(report)} checks")
    return 0 if report.ok else 1

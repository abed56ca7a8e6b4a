"""Models in ONNX's format."""

from __future__ import annotations

import inspect
from typing import Any

import lamella as lm
from lamella.compat.front import close_module


def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> None:
    """Writes a model, called with ``args``, to a file in ONNX's format; see :func:`lamella.onnx.export`."""
    given = args if isinstance(args, tuple) else (args,)
    known = inspect.signature(lm.onnx.export).parameters
    lm.onnx.export(model, given, f, **{name: value for name, value in options.items() if name in known})


def is_in_onnx_export() -> bool:
    """False: what is exported runs as it is."""
    return False


__getattr__ = close_module(__name__)

"""Models in ONNX's format."""

from __future__ import annotations

import inspect
from typing import Any

import lamella as lm
from lamella.compat.front import add_paths, close_module


def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> None:
    """Writes a model, called with ``args``, to a file in ONNX's format; see :func:`lamella.onnx.export`."""
    given = args if isinstance(args, tuple) else (args,)
    known = inspect.signature(lm.onnx.export).parameters
    lm.onnx.export(model, given, f, **{name: value for name, value in options.items() if name in known})


def is_in_onnx_export() -> bool:
    """False: a model that is exported is recorded while it runs as it is."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Does nothing: what operators are in a file, converters of :mod:`lamella.onnx` say."""


unregister_custom_op_symbolic = register_custom_op_symbolic


def parse_args(*kinds: str) -> Any:
    """Returns a decorator that returns its function, which nothing calls."""
    return lambda function: function


__getattr__ = close_module(__name__)
for _name in ("symbolic_opset9", "symbolic_opset11"):
    add_paths("torch", {f"{__name__}.{_name}": {}})
add_paths("torch", {f"{__name__}.symbolic_helper": {__name__: "parse_args"}})
add_paths("torch", {f"{__name__}.operators": {"torch._plain": "shape_as_tensor"}})

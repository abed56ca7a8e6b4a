"""The package onnx, or an error that says how to install it."""

from __future__ import annotations

try:
    import onnx  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:
    raise ImportError("lamella.onnx needs the package onnx: install it with `pip install onnx`") from error

__all__ = ["onnx"]

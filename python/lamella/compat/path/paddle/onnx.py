"""Files of ONNX."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.compat.front import close_module


def export(layer: Any, path: str, input_spec: Any = None, opset_version: int | None = None, **configs: Any) -> None:
    """Writes a layer as ``path`` with the ending ".onnx", for inputs like zeros of ``input_spec``.

    Sizes that are None or -1 are known when the model runs.

    Raises:
        ValueError: there is no ``input_spec``.
    """
    if not input_spec:
        raise ValueError("[export] input_spec: give the shapes and dtypes of the arguments")
    inputs, free = [], {}
    for place, spec in enumerate(input_spec):
        sizes = list(spec.shape)
        free[f"x{place}"] = {axis: f"x{place}_{axis}" for axis, size in enumerate(sizes) if size in (None, -1)}
        inputs.append(lm.zeros([2 if size in (None, -1) else int(size) for size in sizes], dtype=spec.dtype))
    lm.onnx.export(layer, tuple(inputs), f"{path}.onnx", input_names=list(free), dynamic_axes=free)


__getattr__ = close_module(__name__)

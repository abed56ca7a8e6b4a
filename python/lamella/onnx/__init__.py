"""Export to ONNX: models that run where there is no Python, in onnxruntime and other engines.

:func:`export` records a module or a function once, and writes what it computes as an ONNX model::

    lm.onnx.export(model, (x,), "model.onnx", dynamic_axes={"x": {0: "batch"}})

Each operator has a converter, which writes it with the operators of ONNX; :func:`register_converter` adds those of
custom operators and layers, and :func:`REG_OP` declares the nodes that they become. Exporting needs the package
``onnx``: ``pip install onnx``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamella import _lazy

from ._registry import register_converter
from .prototypes import REG_OP, Prototype, builders, read_prototypes

if TYPE_CHECKING:
    from ._builder import Value as Value
    from ._builder import cast as cast
    from ._builder import constant as constant
    from ._builder import dtype_promote as dtype_promote
    from ._builder import op as op
    from ._builder import ops as ops
    from ._export import export as export
    from ._export import supported_operators as supported_operators

__getattr__, _loaded_later = _lazy.loader(
    __name__,
    {
        "_builder": ["Value", "cast", "constant", "dtype_promote", "op", "ops"],
        "_export": ["export", "supported_operators"],
    },
)

__all__ = [
    "REG_OP",
    "Prototype",
    "Value",
    "builders",
    "cast",
    "constant",
    "dtype_promote",
    "export",
    "op",
    "ops",
    "read_prototypes",
    "register_converter",
    "supported_operators",
]


def __dir__() -> list[str]:
    return __all__

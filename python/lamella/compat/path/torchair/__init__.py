"""Names that converters for Ascend's graph mode are registered by.

They are kept as converters of :func:`lamella.onnx.export`, which writes models that Ascend's tools read.
"""

from lamella.compat.front import close

__getattr__ = close("torchair", {"torchair.get_npu_backend": "graph mode is not supported yet"})

from . import ge_concrete_graph  # noqa: F401

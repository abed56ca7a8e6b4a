"""Names that converters for Ascend's graph mode are registered by. They are kept; no graph is captured yet."""

from lamella.compat.front import close

__getattr__ = close("torchair", {"torchair.get_npu_backend": "graph mode is not supported yet"})

from . import ge_concrete_graph  # noqa: F401

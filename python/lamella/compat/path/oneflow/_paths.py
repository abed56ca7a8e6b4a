"""Paths of modules under which OneFlow has the names of this front, and the modules that define them here.

Older versions keep what is behind the package's names in ``oneflow.python``, later ones beside it.
"""

from __future__ import annotations

from lamella.compat.front import Paths

_MODULES = {
    "framework.config_util": {"oneflow.config": "load_library gpu_device_num"},
    "framework.dtype": {"oneflow": "double float float16 float32 float64 int8 int32 int64 uint8"},
    "framework.function_util": {"oneflow": "FunctionConfig function_config global_function"},
    "framework.placement_util": {"oneflow.scope": "placement"},
    "framework.session_util": {"oneflow": "clear_default_session"},
    "framework.sysconfig": {"oneflow.sysconfig": "get_compile_flags get_include get_lib get_link_flags"},
    "framework.tensor": {"oneflow": "Tensor tensor"},
    "ops.user_op_builder": {"oneflow": "user_op_builder"},
}

PATHS: Paths = {
    "oneflow.python": {"oneflow": "user_op_builder"},
    **{f"{above}.{part}": {} for above in ("oneflow", "oneflow.python") for part in ("framework", "ops")},
    **{f"{above}.{path}": homes for above in ("oneflow", "oneflow.python") for path, homes in _MODULES.items()},
    "oneflow.nn.graph": {"oneflow.nn": "Graph"},
    "oneflow.nn.optimizer": {"oneflow.optim": "Adam AdamW LAMB Optimizer SGD"},
    "oneflow.nn.optimizer.lr_scheduler": {"oneflow.optim.lr_scheduler": "*"},
}

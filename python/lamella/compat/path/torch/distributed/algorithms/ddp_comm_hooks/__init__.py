"""Hooks of ``DistributedDataParallel``, which take the mean of gradients over processes."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

from lamella.compat.front import add_paths, close_module

from . import _power_sgd
from . import default_hooks as default


class DDPCommHookType(Enum):
    """Names of the hooks."""

    ALLREDUCE = partial(default.allreduce_hook)
    FP16_COMPRESS = partial(default.fp16_compress_hook)
    BF16_COMPRESS = partial(default.bf16_compress_hook)
    POWER_SGD = partial(_power_sgd.powerSGD_hook)
    BATCHED_POWER_SGD = partial(_power_sgd.batched_powerSGD_hook)
    NOOP = partial(default.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Gives a model one of the hooks, and the hook its state."""
    model.register_comm_hook(state, comm_hook_type.value.func)


__getattr__ = close_module(__name__)
add_paths(
    "torch",
    {f"{__name__}.powerSGD_hook": {_power_sgd.__name__: "PowerSGDState powerSGD_hook batched_powerSGD_hook"}},
)

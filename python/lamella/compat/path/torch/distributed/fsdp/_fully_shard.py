"""PyTorch's second way to cut a model over processes, for programs that choose between it and the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lamella.distributed as native

from ..._stand_ins import Uninhabited


@dataclass
class MixedPrecisionPolicy:
    """Dtypes in which a model computes and reduces."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters wait in the CPU's memory."""

    pin_memory: bool = True


class FSDPModule(metaclass=Uninhabited):
    """The type of modules that :func:`fully_shard` has cut; no module is one."""


def fully_shard(module: Any, *, mesh: Any = None, **options: Any) -> Any:
    """Returns a module that one process trains as it is.

    Args:
        module: the module, or a list of modules.
        mesh: the processes; all of them by default.
        options: others of PyTorch's.

    Raises:
        NotImplementedError: there are several processes: wrap the model by ``FullyShardedDataParallel``.
    """
    count = mesh.size() if mesh is not None else native.get_world_size() if native.is_initialized() else 1
    if count > 1:
        raise NotImplementedError(
            f"[fully_shard] parameters are cut over {count} processes by FullyShardedDataParallel(module) here"
        )
    return module

"""Several processes that work together: groups, collective operations, and training on them.

Each process runs the same program on its own part of the data. ``python -m lamella.distributed.launch -n 2 train.py``
starts two on one machine; ``mpirun``, ``srun`` and everything that sets the variables of ``torchrun`` does as well::

    import lamella as lm
    import lamella.distributed as dist

    dist.init_process_group()
    model = dist.DistributedDataParallel(model)
    total = dist.all_reduce(lm.tensor([1.0]))

Every process of a group calls the same operations in the same order. They are differentiable: the gradient of each is
the transposed operation, for a loss that is the sum of the processes' losses.
"""

from __future__ import annotations

from lamella import _lazy

from .._C import _DistributedError as DistributedError
from .._C import _ProcessGroup as ProcessGroup
from .._C import _Work as Work
from ..data.distributed import DistributedSampler
from ._collectives import (
    all_gather,
    all_reduce,
    all_reduce_,
    all_to_all,
    barrier,
    broadcast,
    broadcast_,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
from ._groups import (
    destroy_process_group,
    get_group,
    get_local_rank,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)
from ._messages import recv, send
from ._objects import all_gather_object, broadcast_object
from ._random import seed
from ._scaler import ShardedGradScaler
from .data_parallel import DistributedDataParallel

# isort: split

# Global tensors.
from .. import sbp
from . import _optimizers as _optimizers
from . import hooks
from ._costs import Link
from .checkpoints import gather_checkpoint, load_checkpoint, save_checkpoint
from .fully_shard import fully_shard, no_gradient_sync
from .global_tensor import GlobalParameter, GlobalTensor
from .making import distribute, to_global
from .mesh import placement
from .parallelize import parallelize
from .pipeline import Pipeline
from .plan import Device, Plan, plan
from .redistribute import redistribution_table, set_links
from .rules import Call, Spec, equation, register_sbp, ruled
from .sharded import FullyShardedDataParallel
from .states import load_state, read_state, save_state

__all__ = [
    "Call",
    "Device",
    "DistributedDataParallel",
    "DistributedError",
    "DistributedSampler",
    "FullyShardedDataParallel",
    "GlobalParameter",
    "GlobalTensor",
    "Link",
    "Pipeline",
    "Plan",
    "ProcessGroup",
    "ShardedGradScaler",
    "Spec",
    "Work",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "all_reduce_",
    "all_to_all",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_object",
    "destroy_process_group",
    "distribute",
    "equation",
    "fully_shard",
    "gather",
    "gather_checkpoint",
    "get_group",
    "get_local_rank",
    "get_rank",
    "get_world_size",
    "hooks",
    "init_process_group",
    "is_available",
    "is_initialized",
    "load_checkpoint",
    "load_state",
    "new_group",
    "no_gradient_sync",
    "parallelize",
    "placement",
    "plan",
    "read_state",
    "recv",
    "redistribution_table",
    "reduce",
    "reduce_scatter",
    "register_sbp",
    "ruled",
    "save_checkpoint",
    "save_state",
    "sbp",
    "scatter",
    "seed",
    "send",
    "set_links",
    "to_global",
]

__getattr__, _ = _lazy.loader(__name__, {})

"""Models of which each process keeps a part: those of :mod:`lamella.distributed`, by PyTorch's options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import lamella.distributed as native
from lamella.compat.front import add_paths, close_module
from lamella.distributed import _sharded_state
from lamella.nn import Module

from ._fully_shard import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard  # noqa: F401


class ShardingStrategy(Enum):
    """Names of the parts of a training state that are cut over the processes."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()


#: Stages: where PyTorch cuts nothing, the optimizer's state is cut here, which changes no result.
_STAGES = {ShardingStrategy.FULL_SHARD: 3, ShardingStrategy.SHARD_GRAD_OP: 2, ShardingStrategy.NO_SHARD: 1}


class BackwardPrefetch(Enum):
    """When parameters are fetched in backward: accepted, nothing changes."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Kinds of states; only whole ones are read and written."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """Options of states."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of whole states: ``rank0_only`` gives other processes empty ones."""

    rank0_only: bool = False


@dataclass
class FullOptimStateDictConfig(FullStateDictConfig):
    """Options of whole states of optimizers."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of states of which each process has its part."""


@dataclass
class ShardedOptimStateDictConfig(ShardedStateDictConfig):
    """Options of such states of optimizers."""


@dataclass
class CPUOffload:
    """Where parameters are kept."""

    offload_params: bool = False


@dataclass
class MixedPrecision:
    """Dtypes of parameters, gradients and buffers while a model runs."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


class FullyShardedDataParallel(native.FullyShardedDataParallel):
    """See :class:`lamella.distributed.FullyShardedDataParallel`.

    Args:
        module: the model.
        process_group: the processes; None is the default group.
        sharding_strategy: FULL_SHARD (the default), SHARD_GRAD_OP or NO_SHARD.
        cpu_offload: None.
        auto_wrap_policy: says which modules are units, as those of ``torch.distributed.fsdp.wrap``; None makes the
            whole model one unit.
        backward_prefetch: accepted; nothing changes.
        mixed_precision: None or float32: autocast computes in other dtypes.
        options: others of PyTorch's, which choose how a result is computed.

    Raises:
        NotImplementedError: a setting is not there.
        ValueError: no parameter wants a gradient, or the models of the processes differ.
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Callable[..., Any] | None = None,
        backward_prefetch: Any = None,
        mixed_precision: MixedPrecision | None = None,
        **options: Any,
    ) -> None:
        if cpu_offload is True or getattr(cpu_offload, "offload_params", False):
            raise NotImplementedError("[FullyShardedDataParallel] cpu_offload: parameters stay where they are")
        dtypes = {str(getattr(mixed_precision, name, None)) for name in ("param_dtype", "reduce_dtype", "buffer_dtype")}
        if any("float32" not in name and name != "None" for name in dtypes):
            raise NotImplementedError("[FullyShardedDataParallel] mixed_precision: run the model under torch.autocast")
        if options.get("ignored_modules") or options.get("ignored_states"):
            raise NotImplementedError("[FullyShardedDataParallel] ignored_modules: all parameters are cut")

        def is_unit(part: Module) -> bool:
            if auto_wrap_policy is None:
                return False
            count = sum(len(p.detach().reshape([-1])) for p in part.parameters())
            return bool(auto_wrap_policy(module=part, recurse=False, nonwrapped_numel=count))

        super().__init__(
            module,
            stage=_STAGES[sharding_strategy or ShardingStrategy.FULL_SHARD],
            group=process_group if process_group is not None or native.is_initialized() else "self",
            units=is_unit,
        )
        self._config: Any = FullStateDictConfig()

    def state_dict(self, *args: Any, prefix: str = "", keep_vars: bool = False, **options: Any) -> dict[str, Any]:
        """Returns the whole parameters and buffers; with ``rank0_only`` on process 0 alone."""
        state = {prefix + name: x for name, x in super().state_dict(keep_vars=keep_vars).items()}
        return {} if getattr(self._config, "rank0_only", False) and self.group.rank else state

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """Says within a block what states are like.

        Raises:
            NotImplementedError: they are not to be whole.
        """
        owners = FullyShardedDataParallel.fsdp_modules(module)
        before = [owner._config for owner in owners]
        FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, state_dict_config)
        try:
            yield
        finally:
            for owner, config in zip(owners, before, strict=True):
                owner._config = config

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> None:
        """Says what states are like from now on; see :meth:`state_dict_type`."""
        if state_dict_type is not StateDictType.FULL_STATE_DICT:
            raise NotImplementedError(
                "[state_dict_type] states are whole: lamella.distributed.save_checkpoint writes parts"
            )
        for owner in FullyShardedDataParallel.fsdp_modules(module):
            owner._config = state_dict_config or FullStateDictConfig()

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Returns the sharded models in a module."""
        return [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]

    @staticmethod
    @contextmanager
    def summon_full_params(  # type: ignore[override]
        module: FullyShardedDataParallel,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Has the modules' whole parameters in their places within a block."""
        with module._summoned(writeback):
            yield

    @staticmethod
    def optim_state_dict(
        model: FullyShardedDataParallel, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """Returns the whole state of an optimizer by the names of the parameters."""
        state = model.optimizer_state_dict(optim)
        return {} if getattr(model._config, "rank0_only", False) and model.group.rank else state

    @staticmethod
    def optim_state_dict_to_load(
        model: FullyShardedDataParallel,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """Returns what the optimizer's ``load_state_dict`` takes, of what :meth:`optim_state_dict` gave."""
        return _sharded_state.for_optimizer(optim, optim_state_dict, model.module, model._exchange.flats)


__getattr__ = close_module(__name__)
_API = " ".join(
    name
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") == __name__ and name[0].isupper()
)
add_paths(
    "torch",
    {
        f"{__name__}.api": {__name__: _API},
        f"{__name__}.fully_sharded_data_parallel": {__name__: _API},
        f"{__name__}.sharded_grad_scaler": {"lamella.distributed": "ShardedGradScaler"},
    },
)

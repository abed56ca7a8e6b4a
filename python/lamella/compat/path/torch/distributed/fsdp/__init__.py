"""Models of which each process keeps a part: those of :mod:`lamella.distributed`, by PyTorch's options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import lamella.distributed as native
from lamella import _tree
from lamella.compat.front import add_paths, close_module
from lamella.distributed import _sharded_state
from lamella.nn import Module


class ShardingStrategy(Enum):
    """Names of the parts of a training state that are cut over the processes."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


#: Stages: where PyTorch cuts nothing, the optimizer's state is cut here, which changes no result.
_STAGES = {
    ShardingStrategy.FULL_SHARD: 3,
    ShardingStrategy.SHARD_GRAD_OP: 2,
    ShardingStrategy.NO_SHARD: 1,
    ShardingStrategy.HYBRID_SHARD: 3,  # of a mesh of two axes, or two groups
    ShardingStrategy._HYBRID_SHARD_ZERO2: 2,
}


class BackwardPrefetch(Enum):
    """When parameters are fetched in backward: accepted, nothing changes."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Kinds of states: whole tensors, or each process's parts of them."""

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
class ShardedStateDictConfig(StateDictConfig):
    """Options of states in parts."""


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of states in parts."""


@dataclass
class OptimStateDictConfig(StateDictConfig):
    """Options of states of optimizers."""


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of states of optimizers in parts."""


@dataclass
class FullOptimStateDictConfig(FullStateDictConfig):
    """Options of whole states of optimizers."""


@dataclass
class StateDictSettings:
    """Kind and options of states."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: Any = None
    optim_state_dict_config: Any = None


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
        process_group: the processes; None is the default group. Of two, the first keeps the parts, and the second has
            those that keep the same part.
        sharding_strategy: FULL_SHARD (the default), SHARD_GRAD_OP or NO_SHARD.
        cpu_offload: for a model that is in the CPU's memory, where its shards then are, too.
        auto_wrap_policy: says which modules are units, as those of ``torch.distributed.fsdp.wrap``; None makes the
            whole model one unit.
        backward_prefetch: accepted; nothing changes.
        mixed_precision: dtypes in which parameters are gathered and gradients sent, and that of buffers.
        ignored_modules: modules that are left as they are.
        ignored_states: modules or parameters that are left as they are.
        use_orig_params: True has ``named_parameters`` give a row of each parameter under its own name; False gives the
            shards of units.
        param_init_fn: called with each module before the model is cut.
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
        ignored_modules: Any = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
        **options: Any,
    ) -> None:
        is_elsewhere = any(not str(p.device).startswith("cpu") for p in module.parameters())
        if is_elsewhere and (cpu_offload is True or getattr(cpu_offload, "offload_params", False)):
            raise NotImplementedError("[FullyShardedDataParallel] cpu_offload: parameters stay on their device")
        replicas = None
        if isinstance(process_group, tuple):
            process_group, replicas = process_group
        elif device_mesh is not None and process_group is None:
            process_group = device_mesh.get_group(device_mesh.ndim - 1)
            replicas = device_mesh.get_group(0) if device_mesh.ndim > 1 else None
        dtypes = mixed_precision or MixedPrecision()
        if param_init_fn is not None:
            for part in module.modules():
                param_init_fn(part)

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
            dtype=dtypes.param_dtype,
            reduce_dtype=dtypes.reduce_dtype,
            ignored=[*(ignored_modules or ()), *(ignored_states or ())],
            replicas=replicas,
            named=use_orig_params,
        )
        if dtypes.buffer_dtype is not None:
            for part in module.modules():
                for name, x in part._buffers.items():
                    if x is not None and "float" in x.dtype.name:
                        part._buffers[name] = x.astype(dtypes.buffer_dtype)
        self._settings = StateDictSettings(state_dict_config=FullStateDictConfig())

    def named_parameters(self, *args: Any, **options: Any) -> Iterator[tuple[str, Any]]:
        """Yields the parameters that optimizers move, by names that know nothing of this wrapper."""
        for name, p in super().named_parameters(*args, **options):
            yield name.removeprefix("module."), p

    @property
    def _is_in_parts(self) -> bool:
        return self._settings.state_dict_type is not StateDictType.FULL_STATE_DICT

    def _offered(self, state: Any, config: Any) -> Any:
        """Returns a state as its options ask for it."""
        if getattr(config, "rank0_only", False) and self.group.rank:
            return {}
        if not getattr(config, "offload_to_cpu", False):
            return state
        tensors, spec = _tree.flatten(state)
        return _tree.rebuild(spec, [x.cpu() for x in tensors])

    def state_dict(self, *args: Any, prefix: str = "", keep_vars: bool = False, **options: Any) -> dict[str, Any]:
        """Returns the parameters and buffers: whole ones, with ``rank0_only`` on process 0 alone, or parts."""
        found = self.sharded_state_dict() if self._is_in_parts else super().state_dict(keep_vars=keep_vars)
        state = {prefix + name: x for name, x in found.items()}
        return dict(self._offered(state, self._settings.state_dict_config))

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """Says within a block what states are like."""
        owners = FullyShardedDataParallel.fsdp_modules(module)
        before = [owner._settings for owner in owners]
        FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for owner, settings in zip(owners, before, strict=True):
                owner._settings = settings

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Says what states are like from now on; returns what they were like."""
        owners = FullyShardedDataParallel.fsdp_modules(module)
        before = owners[0]._settings if owners else StateDictSettings()
        for owner in owners:
            owner._settings = StateDictSettings(
                state_dict_type, state_dict_config or StateDictConfig(), optim_state_dict_config
            )
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Returns what states are like."""
        owners = FullyShardedDataParallel.fsdp_modules(module)
        return owners[0]._settings if owners else StateDictSettings()

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Returns the sharded models in a module."""
        return [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]

    @staticmethod
    @contextmanager
    def summon_full_params(  # type: ignore[override]
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Has the modules' whole parameters in their places within a block."""
        with ExitStack() as stack:
            for owner in FullyShardedDataParallel.fsdp_modules(module):
                stack.enter_context(owner._summoned(writeback, with_grads))
            yield

    @staticmethod
    def optim_state_dict(
        model: FullyShardedDataParallel, optim: Any, optim_state_dict: Any = None, group: Any = None
    ) -> dict[str, Any]:
        """Returns the state of an optimizer by the names of the parameters: whole, or this process's parts."""
        settings = model._settings
        state = model.optimizer_state_dict(optim, sharded=model._is_in_parts)
        config = settings.optim_state_dict_config or settings.state_dict_config
        return dict(model._offered(state, config))

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
        state = _sharded_state.whole(optim_state_dict, model.group)
        found = _sharded_state.for_optimizer(optim, state, model.module, model._exchange.flats)
        if load_directly:
            optim.load_state_dict(found)
        return found


from ._fully_shard import (  # noqa: E402, F401 (needs the names above)
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)

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

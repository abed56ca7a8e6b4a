"""Models whose parameters are cut in place over the processes: :func:`lamella.distributed.fully_shard`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import lamella.distributed as native
from lamella.distributed._units import Unit
from lamella.distributed.fully_shard import unit_of
from lamella.nn import Module

from ..device_mesh import DeviceMesh
from ..tensor import DTensor  # noqa: F401 (parameters have its methods)

M = TypeVar("M", bound=Module)


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of parameters, gradients and outputs while a module runs."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Leaves parameters on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Keeps parameters in the CPU's memory, where those of a model on the CPU are."""

    pin_memory: bool = True


class UnshardHandle:
    """Waits for parameters that are on their way."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def wait(self) -> None:
        """Waits until they are there."""
        for flat in self._unit.flats:
            flat.gathered()


class FSDPModule:
    """A module that :func:`fully_shard` was called for, which has these methods."""

    _unit: Unit

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the module's parameters; with ``async_op`` it only starts to."""
        for flat in self._unit.flats:
            flat.prefetch()
        handle = UnshardHandle(self._unit)
        if async_op:
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Drops the gathered parameters."""
        for flat in self._unit.flats:
            flat.release()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Says whether backward passes communicate: not while gradients of several are added up."""
        self._unit.exchange.syncs = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted; nothing changes: what a pass has begun ends with it."""

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Accepted; nothing changes: gradients are reduced over one axis."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Says whether parameters are dropped between forward and backward."""
        for unit in self._units() if recurse else [self._unit]:
            unit.keeps = not reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Accepted; parameters are dropped with the end of a pass."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Accepted; the order of the last pass says what is fetched next."""

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Accepted; the order of the last pass says what is fetched next."""

    def _units(self) -> list[Unit]:
        found = (unit_of(part) for part in self.modules())  # type: ignore[attr-defined]
        return [unit for unit in found if unit is not None]


#: The class of modules that are cut, by that of plain ones.
_KINDS: dict[type, type] = {}


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Iterable[Any] | None = None,
) -> Any:
    """Cuts the parameters of a module, or of some, in place; see :func:`lamella.distributed.fully_shard`.

    Args:
        module: the module, or a list of modules, each of which is gathered by itself.
        mesh: the processes, along one axis; all of them by default.
        reshard_after_forward: False keeps the whole until backward.
        shard_placement_fn: None: parameters are cut along axis 0.
        mp_policy: dtypes.
        offload_policy: for a model that is in the CPU's memory.
        ignored_params: parameters that are left as they are.

    Raises:
        NotImplementedError: a setting is not there.
        ValueError: the mesh has several axes, or a parameter has none.
    """
    if shard_placement_fn is not None:
        raise NotImplementedError("[fully_shard] shard_placement_fn: parameters are cut along axis 0")
    if isinstance(module, list | tuple):
        for part in module:
            fully_shard(
                part,
                mesh=mesh,
                reshard_after_forward=reshard_after_forward,
                mp_policy=mp_policy,
                offload_policy=offload_policy,
                ignored_params=ignored_params,
            )
        return module
    is_elsewhere = any(not str(p.device).startswith("cpu") for p in module.parameters())
    if is_elsewhere and isinstance(offload_policy, CPUOffloadPolicy):
        raise NotImplementedError("[fully_shard] offload_policy: parameters stay on their device")
    dtypes = mp_policy or MixedPrecisionPolicy()
    native.fully_shard(
        module,
        placement=None if mesh is None else mesh.placement,
        reshard_after_forward=reshard_after_forward is not False,
        dtype=dtypes.param_dtype,
        reduce_dtype=dtypes.reduce_dtype,
        output_dtype=dtypes.output_dtype,
        ignored=ignored_params or (),
    )
    kind = type(module)
    if kind not in _KINDS:
        _KINDS[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"_unit": property(unit_of)})
    module.__class__ = _KINDS[kind]
    return module


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Has a method of a module that is cut gather its parameters, as its ``forward`` does."""
    unit = unit_of(module)
    if unit is None:
        return
    method: Callable[..., Any] = getattr(module, method_name)
    module.__dict__[method_name] = unit.wrapped(method)

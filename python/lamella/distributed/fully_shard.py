"""Models whose parameters are cut over processes where they are, row by row, without a wrapper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module, Parameter
from . import _carrier
from ._bundle import Bundle
from ._models import broadcast_tensors, check_equal, check_module
from ._nested import left_out
from ._objects import all_gather_object
from ._units import Exchange, Rerun, Unit, floating
from .global_tensor import GlobalTensor
from .mesh import placement as Placement  # noqa: N812

__all__ = ["fully_shard", "no_gradient_sync"]

M = TypeVar("M", bound=Module)


def fully_shard(
    module: M,
    *,
    placement: Placement | None = None,
    reshard_after_forward: bool = True,
    dtype: Any = None,
    reduce_dtype: Any = None,
    output_dtype: Any = None,
    ignored: Iterable[Module | Tensor] = (),
) -> M:
    """Has each process keep some rows of each parameter of a module, and gathers the whole while the module runs.

    What is computed is what :class:`FullyShardedDataParallel` computes with ``stage=3``, and the module stays what it
    is: its parameters become global tensors that are split along axis 0, under their own names. So optimizers, norms,
    :func:`save_checkpoint` and ``state_dict()`` work as for any model of global tensors. Call it for parts of a
    model first, each of which is gathered by itself, and for the model at the end. Where :func:`parallelize` has split
    layers over one axis of a mesh, the placement is of another axis: each process then has a part of its part::

        for block in model.blocks:
            dist.fully_shard(block)
        dist.fully_shard(model)
        optimizer = lm.optim.AdamW(model.parameters())

    Args:
        module: The module. Its parameters take the values of the first process.
        placement: The processes, along one axis; all of them by default. Of several axes, each process keeps a part
            along the last, and has other samples than those along the others, which keep the same part.
        reshard_after_forward: False to keep the whole until backward; the outermost module always does.
        dtype: The dtype in which the module computes, to which floating inputs are brought.
        reduce_dtype: The dtype in which gradients are sent; by default that in which they were computed.
        output_dtype: The dtype to which floating outputs are brought.
        ignored: Modules and parameters that are left as they are.

    Returns:
        The module itself. Its optimizer is made afterwards.

    Raises:
        TypeError: An argument is of another type.
        ValueError: The module has been given before, a parameter has no axes or is a global tensor over the same
            processes, or the modules of the processes differ.
        RuntimeError: This process is not in the placement.
    """
    check_module(module, "fully_shard")
    if unit_of(module) is not None:
        raise ValueError("[fully_shard] the module is cut already")
    device = next((p.device for p in module.parameters()), "cpu")
    mesh = Placement.all(device.partition(":")[0]) if placement is None else placement
    mesh.coordinate()
    dtypes = [None if one is None else floating(one, "fully_shard") for one in (dtype, reduce_dtype, output_dtype)]
    inner = [unit for part in module.modules() if (unit := unit_of(part)) is not None]
    kept = left_out(ignored) | {id(p) for unit in inner for p in unit_parameters(unit)}
    found: dict[int, tuple[Parameter, list[tuple[Module, str]]]] = {}
    for path, part in module.named_modules():
        for name, p in part._parameters.items():
            if p is None or id(p) in kept:
                continue
            full = f"{path}.{name}" if path else name
            if isinstance(p, GlobalTensor) and not _lies_across(p.placement, mesh):
                raise ValueError(
                    f"[fully_shard] '{full}' is a global tensor over {p.placement!r}: give placement= those that have "
                    "the same part of it"
                )
            if not p.ndim:
                raise ValueError(f"[fully_shard] '{full}' has no axis to cut: give it one, or name it in ignored")
            found.setdefault(id(p), (p, []))[1].append((part, name))
    groups = [mesh.group(axis) for axis in range(mesh.ndim)]
    for one in groups:
        if one.size > 1:
            check_equal(module, one, "fully_shard")
            broadcast_tensors([p for p, _ in found.values()], 0, one)
    group = groups[-1]
    kinds: dict[Any, list[Any]] = {}
    for p, places in found.values():
        kinds.setdefault((p.dtype.name, p.device, bool(p.stop_gradient)), []).append((p, (), tuple(places)))
    lines = list(dict.fromkeys(p.placement for p, _ in found.values() if isinstance(p, GlobalTensor)))
    grid = _grid(mesh, lines[0], group) if lines else mesh
    flats = [Bundle(listed, None, group, grid) for listed in kinds.values()]
    exchange = Exchange(3)
    exchange.begins_with_root = True
    made = Unit(module, list(flats), exchange, is_root=True)
    made.keeps = not reshard_after_forward
    made.input_dtype, made.output_dtype = dtypes[0], dtypes[2]
    for flat in flats:
        flat.compute_dtype, flat.reduce_dtype = dtypes[:2]
        flat.replicas = tuple(one.name for one in groups[:-1] if one.size > 1)
        flat.settle_in_place()
    for unit in inner:
        unit.move(exchange)
    return module


def _lies_across(line: Placement, mesh: Placement) -> bool:
    """True for two placements of one axis that have only this process in common."""
    return line.ndim == mesh.ndim == 1 and len({*line.ranks} & {*mesh.ranks}) == 1


def _grid(mesh: Placement, line: Placement, group: ProcessGroup) -> Placement:
    """Returns the array of processes, of which one axis are those of a line, the other those of the mesh."""
    told = all_gather_object(list(line.ranks), group)
    grid = Placement(mesh.type, [list(column) for column in zip(*told, strict=True)])
    _carrier.current().adopt(grid, 0, line.group(0))
    _carrier.current().adopt(grid, 1, group)
    return grid


def unit_of(module: Module) -> Unit | None:
    """Returns what :func:`fully_shard` has made of a module; None for any other."""
    runs = module.__dict__.get("forward")
    if isinstance(runs, Rerun):
        runs = runs.inner
    owner = getattr(runs, "__self__", None)
    return owner if isinstance(owner, Unit) and owner.exchange.begins_with_root else None


def unit_parameters(unit: Unit) -> list[Any]:
    """Returns the global parameters of a unit."""
    return [member.tensor for flat in unit.flats for member in flat.members()]


@contextmanager
def no_gradient_sync(module: Module) -> Iterator[None]:
    """Adds gradients up without communication, in backward passes within this context, each process by itself.

    Gradients are whole meanwhile. The next pass outside takes the mean of all that was added up.

    Args:
        module: The outermost one that :func:`fully_shard` was called for.

    Raises:
        ValueError: It was not called for the module.
    """
    unit = unit_of(module)
    if unit is None:
        raise ValueError("[no_gradient_sync] the module is not cut: call fully_shard first")
    before, unit.exchange.syncs = unit.exchange.syncs, False
    try:
        yield
    finally:
        unit.exchange.syncs = before

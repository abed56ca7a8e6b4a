"""States of models and optimizers by the names of parameters, whatever their parameters lie on.

A model's names are those that it has alone, without what wraps it (:class:`DistributedDataParallel` and its like): a
state fits the model in any layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import _C
from .._C import Tensor
from ..nn import Module
from ..optim import Optimizer
from . import _sharded_state
from ._flat import Member
from ._parts import Box, Part, global_part
from .data_parallel import DistributedDataParallel
from .global_tensor import GlobalTensor
from .pipeline import Pipeline
from .sharded import FullyShardedDataParallel


def bare(module: Module) -> Module:
    """Returns the module whose names count; of sharded models the wrapper, which knows them."""
    while isinstance(module, Pipeline | DistributedDataParallel):
        module = module.stage if isinstance(module, Pipeline) else module.module
    return module


def part_of(x: Any) -> Part:
    """Returns what this process holds of a tensor."""
    if isinstance(x, Part):
        return x
    if isinstance(x, GlobalTensor):
        return global_part(x)
    shape = tuple(x.shape)
    return Part(x.detach(), Box(shape, shape, (0,) * len(shape), shape))


def of_model(module: Module) -> tuple[dict[str, Part], dict[str, Any]]:
    """Returns this process's parts of a model's parameters and buffers, and what its state holds beside tensors."""
    own = bare(module)
    state = own.sharded_state_dict() if isinstance(own, FullyShardedDataParallel) else own.state_dict()
    parts = {name: part_of(x) for name, x in state.items() if isinstance(x, Part | Tensor)}
    return parts, {name: x for name, x in state.items() if name not in parts}


def load_model(module: Module, read: Callable[[str, Box], Tensor], extras: Mapping[str, Any]) -> None:
    """Overwrites this process's parts of a model.

    Args:
        module: The model.
        read: Returns the elements of a tensor that are in a box.
        extras: What the state holds beside tensors.
    """
    parts, _ = of_model(module)
    with _C.no_grad():
        for name, part in parts.items():
            own_values = part.values
            own_values.copy_(read(name, part.box).astype(own_values.dtype).to(own_values.device))
    own = bare(module)
    inner = own.module if isinstance(own, FullyShardedDataParallel) else own
    for name, holder in inner._extras():
        if name in extras:
            holder.set_extra_state(extras[name])


def owner_of(optimizer: Any, models: Mapping[str, Module]) -> Module | None:
    """Returns the model that has an optimizer's parameters; None if none of them does, or for another object."""
    if not isinstance(optimizer, Optimizer):
        return None
    wanted = {id(p) for group in optimizer.param_groups for p in group["params"]}
    return next((m for m in models.values() if wanted <= {id(p) for p in m.parameters()}), None)


def of_optimizer(optimizer: Optimizer, module: Module) -> tuple[dict[str, Part], dict[str, Any]]:
    """Returns this process's parts of what an optimizer remembers of a model, and its numbers and groups.

    The parts are called ``NAME.KEY``: the parameter's name, and that of the tensor of state.
    """
    own = bare(module)
    if isinstance(own, FullyShardedDataParallel):
        named = own.optimizer_state_dict(optimizer, sharded=True)
    else:
        named = _sharded_state.of_optimizer(optimizer, own, [])
    parts = {
        f"{name}.{key}": part_of(x)
        for name, values in named["state"].items()
        for key, x in values.items()
        if isinstance(x, Part | Tensor)
    }
    numbers = {
        name: {key: x for key, x in values.items() if f"{name}.{key}" not in parts}
        for name, values in named["state"].items()
    }
    return parts, {"state": numbers, "param_groups": named["param_groups"]}


def load_optimizer(
    optimizer: Optimizer,
    module: Module,
    keys: Mapping[str, list[str]],
    read: Callable[[str, Box], Tensor],
    saved: Mapping[str, Any],
) -> None:
    """Takes over an optimizer's state.

    Args:
        optimizer: The optimizer.
        module: The model that has its parameters.
        keys: By parameter, the names of the tensors that are remembered.
        read: Returns the elements of a tensor that are in a box.
        saved: The numbers and groups, of all processes together, which :func:`check_groups` has looked at.
    """
    names, flats = _names_and_flats(module)
    state: dict[int, dict[str, Any]] = {}
    groups: list[dict[str, Any]] = []
    position = 0
    for group, theirs in zip(optimizer.param_groups, saved["param_groups"], strict=True):
        groups.append({**theirs, "params": list(range(position, position + len(group["params"])))})
        for p in group["params"]:
            listed = names[id(p)]
            values: dict[str, Any] = dict(saved["state"].get(listed[0], {}))
            for key in keys.get(listed[0], []):
                if id(p) in flats:
                    values[key] = _sharded_state.filled(
                        flats[id(p)],
                        lambda name, box, key=key: read(f"{name}.{key}", box),  # type: ignore[misc]
                    )
                else:
                    values[key] = _like(p, read, f"{listed[0]}.{key}")
            if values:
                state[position] = values
            position += 1
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _like(p: Tensor, read: Callable[[str, Box], Tensor], name: str) -> Tensor:
    """Returns a tensor of state that lies as its parameter does."""
    if not isinstance(p, GlobalTensor):
        return read(name, part_of(p).box)
    return GlobalTensor._of(read(name, global_part(p).box), p.shape, p.placement, p.sbp)


def _names_and_flats(module: Module) -> tuple[dict[int, list[str]], dict[int, Member]]:
    """Returns the names of what an optimizer's tensors stand for, and the flat tensors of those that are shards."""
    own = bare(module)
    if not isinstance(own, FullyShardedDataParallel):
        return _sharded_state.names_of(own, []), {}
    flats = own._exchange.flats
    return _sharded_state.names_of(own.module, flats), _sharded_state.members_of(flats)


def check_groups(optimizer: Optimizer, module: Module, saved: list[dict[str, Any]]) -> None:
    """ValueError where groups of a state lack parameters of the optimizer's."""
    names, _ = _names_and_flats(module)
    kind = type(optimizer).__name__
    if len(saved) != len(optimizer.param_groups):
        raise ValueError(
            f"[load_checkpoint] the state of {kind} has {len(saved)} groups, the optimizer "
            f"{len(optimizer.param_groups)}"
        )
    for number, (group, theirs) in enumerate(zip(optimizer.param_groups, saved, strict=True)):
        lacking = sorted({name for p in group["params"] for name in names[id(p)]} - set(theirs["params"]))
        if lacking:
            raise ValueError(f"[load_checkpoint] group {number} of {kind} has no '{lacking[0]}' in the state")


def merged(saved: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the numbers and groups of all processes' optimizers as those of one."""
    groups: list[dict[str, Any]] = []
    for number, group in enumerate(saved[0]["param_groups"]):
        listed = [name for one in saved for name in one["param_groups"][number]["params"]]
        groups.append({**group, "params": list(dict.fromkeys(listed))})
    return {"state": {name: values for one in saved for name, values in one["state"].items()}, "param_groups": groups}

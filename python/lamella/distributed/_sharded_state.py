"""States of a model that is cut over processes, and of its optimizer, by the names of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module
from ._flat import Flat, Slot
from ._objects import all_gather_object
from ._parts import Box, Part, assemble, flat_part


def _own(flat: Flat, values: Tensor) -> Iterator[tuple[Slot, Part]]:
    """Yields this process's parts of the parameters of a flat tensor; values is one like the shard."""
    for slot in flat.slots:
        first = min(max(slot.start - flat.start, 0), flat.part)
        last = min(max(slot.start + slot.size - flat.start, 0), flat.part)
        begin = flat.start + first - slot.start if last > first else 0
        yield slot, flat_part(values[first:last], slot.shape, begin)


def of_model(module: Module, flats: Sequence[Flat], orders: Sequence[tuple[Module, list[str]]]) -> dict[str, Any]:
    """Returns the parts of parameters, and all buffers, in the order of the whole model's state."""
    if not flats:
        return module.state_dict()
    parts = {}
    for flat in flats:
        for slot, part in _own(flat, flat.shard.detach()):
            parts.update(dict.fromkeys(slot.names, part))
    ordered = {id(owner): names for owner, names in orders}
    rest = module.state_dict()
    state: dict[str, Any] = {}
    for path, owner in module.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        for name in ordered.get(id(owner), []):
            if prefix + name in parts:
                state[prefix + name] = parts[prefix + name]
        for name in [*owner._buffers, "_extra_state"]:
            if prefix + name in rest:
                state[prefix + name] = rest[prefix + name]
    return state


def of_optimizer(optimizer: Any, module: Module, flats: Sequence[Flat]) -> dict[str, Any]:
    """Returns an optimizer's state with this process's parts of what it remembers of each parameter."""
    names = names_of(module, flats)
    by_id = {id(flat.shard): flat for flat in flats}
    state: dict[str, dict[str, Any]] = {}
    for key, values in optimizer.state.items():
        if key not in by_id:
            state[names[key][0]] = dict(values)
            continue
        for name in names[key]:
            state[name] = {k: x for k, x in values.items() if not isinstance(x, Tensor)}
        for k, x in values.items():
            if isinstance(x, Tensor):
                for slot, part in _own(by_id[key], x):
                    state[slot.names[0]][k] = part
    groups = [
        {**group, "params": [name for p in group["params"] for name in names[id(p)]]}
        for group in optimizer.param_groups
    ]
    return {"state": state, "param_groups": groups}


def for_optimizer(optimizer: Any, state: Mapping[str, Any], module: Module, flats: Sequence[Flat]) -> dict[str, Any]:
    """Returns what an optimizer's ``load_state_dict`` takes, of a state of whole tensors by name."""
    names = names_of(module, flats)
    by_id = {id(flat.shard): flat for flat in flats}
    given = list(state["param_groups"])
    ours = [sorted(name for p in group["params"] for name in names[id(p)]) for group in optimizer.param_groups]
    if [sorted(group["params"]) for group in given] != ours:
        raise ValueError(
            "[load_optimizer_state_dict] the groups of the state have other parameters than the optimizer's"
        )
    groups: list[dict[str, Any]] = []
    found: dict[int, dict[str, Any]] = {}
    position = 0
    for group, theirs in zip(optimizer.param_groups, given, strict=True):
        groups.append({**theirs, "params": list(range(position, position + len(group["params"])))})
        for p in group["params"]:
            remembered = [state["state"].get(name, {}) for name in names[id(p)]]
            if id(p) in by_id:
                found[position] = _flattened(by_id[id(p)], remembered)
            elif remembered[0]:
                found[position] = dict(remembered[0])
            if not found.get(position, True):
                del found[position]
            position += 1
    return {"state": found, "param_groups": groups}


def _flattened(flat: Flat, remembered: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns what is remembered of a shard, from what is remembered of its parameters."""
    first = remembered[0]
    if any(set(values) != set(first) for values in remembered):
        raise ValueError("[load_optimizer_state_dict] of some parameters that lie in one shard the state knows more")
    found: dict[str, Any] = {}
    for key, value in first.items():
        if not isinstance(value, Tensor):
            found[key] = value
            continue
        dtype, device = flat.shard.dtype, value.device
        row = _C.concat(
            [
                *(values[key].detach().astype(dtype).reshape([-1]) for values in remembered),
                _C.zeros([flat.padding], dtype=dtype, device=device),
            ]
        )
        found[key] = row[flat.start : flat.start + flat.part].clone()
    return found


def names_of(module: Module, flats: Sequence[Flat]) -> dict[int, list[str]]:
    """Returns the names of the parameters that each tensor of an optimizer stands for."""
    if flats:
        return {id(flat.shard): [slot.names[0] for slot in flat.slots] for flat in flats}
    return {id(p): [name] for name, p in module.named_parameters()}


def filled(flat: Flat, read: Callable[[str, Box], Tensor]) -> Tensor:
    """Returns a tensor like a shard, of the elements of each parameter that ``read`` returns for a box."""
    found = _C.zeros([flat.part], dtype=flat.shard.dtype, device=flat.shard.device)
    with _C.no_grad():
        for slot, part in _own(flat, found):
            if part.values.size:
                part.values.copy_(read(slot.names[0], part.box).astype(found.dtype).to(found.device))
    return found


def whole(state: Any, group: ProcessGroup) -> Any:
    """Returns a state in which each part has become the whole tensor, on every process of the group."""
    if isinstance(state, Part):
        box = state.box
        told = all_gather_object([list(box.starts), list(box.sizes)], group)
        boxes = [Box(box.shape, box.space, tuple(starts), tuple(sizes)) for starts, sizes in told]
        sizes = [_count(one) for one in boxes]
        row = _C.distributed_all_gather(state.values.detach().reshape([-1]), sizes=sizes, group=group.name)
        values = [piece.reshape(one.sizes) for one, piece in zip(boxes, row.split(sizes), strict=True)]
        full = Box(box.shape, box.shape, (0,) * len(box.shape), box.shape)
        return assemble(list(zip(boxes, values, strict=True)), full, "a state")
    if isinstance(state, Mapping):
        return {key: whole(value, group) for key, value in state.items()}
    if isinstance(state, list):
        return [whole(value, group) for value in state]
    return state


def _count(box: Box) -> int:
    count = 1
    for size in box.sizes:
        count *= size
    return count

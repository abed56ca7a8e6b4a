"""States of a model that is cut over processes, and of its optimizer, by the names of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .._C import _ProcessGroup as ProcessGroup
from ..nn import Module
from ._flat import Flat, Member, Slot
from ._objects import all_gather_object
from ._parts import Box, Part, assemble, flat_part


def _own(member: Member, values: Tensor) -> Iterator[tuple[Slot, Part]]:
    """Yields this process's parts of the parameters in a tensor that an optimizer moves; values is one like it."""
    for slot, first, last, begin in member.spans:
        if slot.place is not None:
            raise RuntimeError(
                f"[sharded_state_dict] '{slot.names[0]}' is a global tensor of which each process keeps a part of its "
                "part: state_dict() has it"
            )
        yield slot, flat_part(values[first:last], slot.shape, begin)


def members_of(flats: Sequence[Flat]) -> dict[int, Member]:
    """Returns the tensors that optimizers move, by their ids."""
    return {id(member.tensor): member for flat in flats for member in flat.members()}


def of_model(module: Module, flats: Sequence[Flat], orders: Sequence[tuple[Module, list[str]]]) -> dict[str, Any]:
    """Returns the parts of parameters, and all buffers, in the order of the whole model's state."""
    if not flats:
        return module.state_dict()
    parts = {}
    for member in members_of(flats).values():
        for slot, part in _own(member, member.tensor.detach()):
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
    by_id = members_of(flats)
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
    by_id = members_of(flats)
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


def _flattened(member: Member, remembered: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns what is remembered of a shard, from what is remembered of its parameters."""
    first = remembered[0]
    if any(set(values) != set(first) for values in remembered):
        raise ValueError("[load_optimizer_state_dict] of some parameters that lie in one shard the state knows more")
    found: dict[str, Any] = {}
    for key, value in first.items():
        if not isinstance(value, Tensor):
            found[key] = value
            continue
        made = _C.zeros([member.tensor.size], dtype=member.tensor.dtype, device=value.device)
        for (_, start, last, begin), values in zip(member.spans, remembered, strict=True):
            row = values[key].detach().reshape([-1])
            made[start:last] = row[begin : begin + last - start].astype(made.dtype)
        found[key] = made
    return found


def names_of(module: Module, flats: Sequence[Flat]) -> dict[int, list[str]]:
    """Returns the names of the parameters that each tensor of an optimizer stands for."""
    if flats:
        return {key: [span.slot.names[0] for span in member.spans] for key, member in members_of(flats).items()}
    return {id(p): [name] for name, p in module.named_parameters()}


def filled(member: Member, read: Callable[[str, Box], Tensor]) -> Tensor:
    """Returns a tensor like a shard, of the elements of each parameter that ``read`` returns for a box."""
    found = _C.zeros([member.tensor.size], dtype=member.tensor.dtype, device=member.tensor.device)
    with _C.no_grad():
        for slot, part in _own(member, found):
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

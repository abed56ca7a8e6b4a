"""States of models and optimizers by the names of the plain model, whatever wraps it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import lamella as lm
import lamella.distributed as native
from lamella import Tensor, _tree
from lamella.compat.front import close_module
from lamella.distributed import GlobalTensor, _named_state, _sharded_state
from lamella.nn import Module


@dataclass
class StateDictOptions:
    """Options of states.

    Attributes:
        full_state_dict: True for whole tensors, False for what each process keeps.
        cpu_offload: True for tensors in the CPU's memory; with whole tensors, on process 0 alone.
        ignore_frozen_params: True leaves out parameters that want no gradient.
        keep_submodule_prefixes: accepted; nothing changes.
        strict: False lets entries be missing or unexpected.
        broadcast_from_rank0: True where process 0 alone has the whole state that is set.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False


def _whole(state: Any, options: StateDictOptions) -> Any:
    """Returns a state as the options ask for it."""
    if options.full_state_dict:
        state = _gathered(state)
        if options.cpu_offload and native.is_initialized() and native.get_rank():
            return {}
    if not options.cpu_offload:
        return state
    tensors, spec = _tree.flatten(state)
    return _tree.rebuild(spec, [x.cpu() for x in tensors])


def _gathered(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _gathered(value) for key, value in state.items()}
    if isinstance(state, list):
        return [_gathered(value) for value in state]
    if isinstance(state, GlobalTensor):
        return state.detach().whole()
    return _sharded_state.whole(state, native.get_group()) if native.is_initialized() else state


def _told(state: Any, options: StateDictOptions) -> Any:
    """Returns process 0's state, on every process."""
    if not options.broadcast_from_rank0 or not native.is_initialized() or native.get_world_size() == 1:
        return state
    from .. import broadcast_object_list

    told = [state if native.get_rank() == 0 else None]
    broadcast_object_list(told, src=0)
    return told[0]


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Returns the state of a model."""
    chosen = options or StateDictOptions()
    own = _named_state.bare(model)
    is_cut = isinstance(own, native.FullyShardedDataParallel)
    state = own.sharded_state_dict() if is_cut else own.state_dict()
    if chosen.ignore_frozen_params:
        frozen = {name for name, p in own.named_parameters() if p.stop_gradient}
        state = {name: x for name, x in state.items() if name not in frozen}
    return dict(_whole(state, chosen))


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Takes over the state of a model. Returns the missing and the unexpected names."""
    chosen = options or StateDictOptions()
    state = _told(model_state_dict, chosen)
    return _named_state.bare(model).load_state_dict(state, strict=chosen.strict)


def _begun(optimizer: Any) -> None:
    """Has an optimizer remember something of each parameter, by a step that changes nothing."""
    if optimizer.state:
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    moved = [p for group in optimizer.param_groups for p in group["params"] if not p.stop_gradient]
    gradients = [p.grad for p in moved]
    with lm.no_grad():
        for p in moved:
            p.grad = lm.zeros_like(p)
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0
        optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    for p, gradient in zip(moved, gradients, strict=True):
        p.grad = gradient


def _optimizers(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _named(model: Module, optimizer: Any) -> dict[str, Any]:
    own = _named_state.bare(model)
    if isinstance(own, native.FullyShardedDataParallel):
        return own.optimizer_state_dict(optimizer, sharded=True)
    return _sharded_state.of_optimizer(optimizer, own, [])


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Returns the state of one optimizer or several, by the names of the model's parameters."""
    state: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        _begun(optimizer)
        named = _named(model, optimizer)
        state["state"].update(named["state"])
        state["param_groups"] += named["param_groups"]
    return dict(_whole(state, options or StateDictOptions()))


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Takes over the state of one optimizer or several."""
    state = _told(optim_state_dict, options or StateDictOptions())
    own = _named_state.bare(model)
    for optimizer in _optimizers(optimizers):
        names = {name for group in _named(model, optimizer)["param_groups"] for name in group["params"]}
        groups = [group for group in state["param_groups"] if names >= set(group["params"])]
        theirs: dict[str, Any] = {
            "state": {k: x for k, x in state["state"].items() if k in names},
            "param_groups": groups,
        }
        if isinstance(own, native.FullyShardedDataParallel):
            own.load_optimizer_state_dict(optimizer, theirs)
        else:
            parameters = dict(own.named_parameters())
            laid = {name: _laid(values, parameters[name]) for name, values in theirs["state"].items()}
            given = {**theirs, "state": laid}
            optimizer.load_state_dict(_sharded_state.for_optimizer(optimizer, given, own, []))


def _laid(values: dict[str, Any], p: Any) -> dict[str, Any]:
    """Returns what is remembered of a parameter, in tensors that lie as it does."""
    if not isinstance(p, GlobalTensor):
        return values
    return {
        key: native.distribute(x, p.placement, p.sbp)
        if isinstance(x, Tensor) and not isinstance(x, GlobalTensor) and tuple(x.shape) == tuple(p.shape)
        else x
        for key, x in values.items()
    }


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the states of a model and of its optimizers."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Takes over the states of a model and of its optimizers. Returns the missing and the unexpected names."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


__getattr__ = close_module(__name__)

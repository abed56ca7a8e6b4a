"""Options of PyTorch's optimizers beside Lamella's: those of a group that no optimizer knows, gradients of zeros."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import lamella as lm
from lamella.optim import LBFGS, SGD, Adafactor, Optimizer
from lamella.optim._pytorch import OPTIONS, converted
from lamella.optim.optimizer import check_number

from .._asking import Asking, Disabled
from ._groups import KERNELS, Group, take_last
from ._rates import awaited
from ._remembered import in_their_form, take_numbers, without_numbers

_native_add: Any = Optimizer.add_param_group
_native_load: Any = Optimizer.load_state_dict
_native_state_shape: Any = Optimizer.state_shape


def _state_shape(self: Optimizer, key: str, parameter: lm.Tensor) -> tuple[int, ...] | None:
    """Returns the shape of what is remembered; None for optimizers of programs, which may remember anything."""
    own = type(self).__module__.startswith(("lamella.", "torch."))
    shape: tuple[int, ...] | None = _native_state_shape(self, key, parameter) if own else None
    return shape


def _add_param_group(self: Optimizer, param_group: Mapping[str, Any]) -> None:
    """Adds a group; options that the optimizer does not know, such as a name, are kept with it."""
    group: dict[str, Any] = Group(param_group)
    if "params" in group and not isinstance(group["params"], lm.Tensor):
        group["params"] = list(group["params"])
        if group["params"] and all(isinstance(each, tuple) for each in group["params"]):  # named_parameters()
            names, tensors = zip(*group["params"], strict=True)
            group["params"], group["param_names"] = list(tensors), list(names)
    unknown = {name: group.pop(name) for name in set(group) - set(self.defaults) - {"params"}}
    order = list(group)
    given = group.get("params")
    if repeated := isinstance(given, list) and len(set(map(id, given))) < len(given):
        warnings.warn(
            f"[{type(self).__name__}] a parameter group has a tensor several times: each step moves it as often",
            stacklevel=3,
        )
        group["params"] = list({id(each): each for each in given}.values())
    _native_add(self, group)
    added = take_last(self, order)
    added.update(unknown)
    if repeated:
        added["params"] = given
        self.__dict__[_REPEATS] = True


def _load_state_dict(self: Optimizer, state_dict: Mapping[str, Any]) -> None:
    """Takes over a state; options of groups that the optimizer does not know, such as a name, become the state's."""
    if not {"state", "param_groups"} <= set(state_dict):
        _native_load(self, state_dict)  # says what is wrong
        return
    known = {*self.defaults, "params", "initial_lr"}
    state = converted(state_dict, [{name: group[name] for name in known & set(group)} for group in self.param_groups])
    groups = [dict(group) for group in state["param_groups"]]
    unknown = [{name: group.pop(name) for name in set(group) - known} for group in groups]
    own = [{name: group.pop(name) for name in set(group) - known} for group in self.param_groups]
    for group, options, before, saved in zip(groups, unknown, own, state_dict["param_groups"], strict=False):
        more = set(saved) - set(OPTIONS) - (known - set(KERNELS))
        options.update((name, saved[name]) for name in more if name in self.defaults or name not in KERNELS)
        if "param_names" in before:  # of a state without names
            options.setdefault("param_names", before["param_names"])
        for name in self.defaults:  # states of before there was an option
            group.setdefault(name, self.defaults[name])
    try:
        _native_load(self, {"state": without_numbers(self, state["state"]), "param_groups": groups})
        take_numbers(self, state_dict["state"])
    except Exception:
        unknown = own
        raise
    finally:
        for group, options in zip(self.param_groups, unknown, strict=True):
            group.update(options)


def _zero_grad(self: Optimizer, set_to_none: bool = True) -> None:
    """Drops the gradients of all tensors, or makes them zeros."""
    with lm.no_grad():
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.zero_()


def _one_by_one(native: Callable[..., Any]) -> Callable[..., None]:
    """Returns an update of a group that moves a tensor which it holds several times as often, one after the other."""

    def update_group(
        self: Optimizer, parameters: list[Any], gradients: list[Any], states: list[Any], group: Any
    ) -> None:
        left = list(range(len(parameters)))
        while left:
            first = {id(parameters[i]): i for i in reversed(left)}.values()
            now = sorted(first)
            left = [i for i in left if i not in set(now)]
            native(self, *([each[i] for i in now] for each in (parameters, gradients, states)), group)

    return update_group


def _with_repeated(native: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the ``step`` of all optimizers, which takes groups that hold a tensor several times."""

    @functools.wraps(native)
    def step(self: Optimizer, closure: Callable[[], Any] | None = None) -> Any:
        awaited.discard(self)
        if _REPEATS not in self.__dict__:
            return native(self, closure)
        own: Any = type(self).update_group
        self.__dict__["update_group"] = functools.partial(_one_by_one(own), self)
        try:
            return native(self, closure)
        finally:
            del self.__dict__["update_group"]

    return step


class _Hooked:
    """The ``step`` of an optimizer with hooks around it."""

    def __init__(self, owner: Optimizer) -> None:
        self.owner = owner
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
        self.count = itertools.count()

    def __call__(self, *args: Any, **named: Any) -> Any:
        given: tuple[Any, ...] = (self.owner, *args)  # hooks see the optimizer among the arguments, too
        for hook in list(self.before.values()):
            changed = hook(self.owner, given, named)
            given, named = (given, named) if changed is None else changed
        made = type(self.owner).step(*given, **named)
        for hook in list(self.after.values()):
            hook(self.owner, given, named)
        return made


class _Handle:
    """Takes a hook away."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """Takes the hook away; doing so again changes nothing."""
        self._hooks.pop(self._key, None)


def _register(place: str) -> Callable[[Optimizer, Callable[..., Any]], _Handle]:
    def register(self: Optimizer, hook: Callable[..., Any]) -> _Handle:
        around = self.__dict__.get("step")
        if not isinstance(around, _Hooked):
            around = self.__dict__["step"] = _Hooked(self)
        key = next(around.count)
        hooks: dict[int, Callable[..., Any]] = getattr(around, place)
        hooks[key] = hook
        return _Handle(hooks, key)

    return register


def _register_for_state(event: str) -> Callable[..., _Handle]:
    def register(self: Optimizer, hook: Callable[..., Any], prepend: bool = False) -> _Handle:
        hooks = self.__dict__.setdefault(_HOOKS_OF_STATES, {}).setdefault(event, {})
        before = dict(hooks)
        key = next(_keys)
        if prepend:
            hooks.clear()
        hooks[key] = hook
        if prepend:
            hooks.update(before)
        return _Handle(hooks, key)

    register.__doc__ = f"Has a function called at {event.replace('_', ' ')}, see PyTorch's optimizers."
    return register


def _hooks_of(self: Optimizer, event: str) -> list[Callable[..., Any]]:
    return list(self.__dict__.get(_HOOKS_OF_STATES, {}).get(event, {}).values())


def _state_with_hooks(self: Optimizer) -> Any:
    """Returns the state as plain data, after hooks and before others."""
    for hook in _hooks_of(self, "state_dict_pre"):
        hook(self)
    state = _native_state(self)
    state["state"] = {key: in_their_form(self, each) for key, each in state["state"].items()}
    for group in state["param_groups"]:
        for theirs, ours in OPTIONS.items():
            if ours in group:
                group[theirs] = group.pop(ours)
    for hook in _hooks_of(self, "state_dict_post"):
        changed = hook(self, state)
        state = state if changed is None else changed
    return state


def _load_with_hooks(self: Optimizer, state_dict: Any) -> None:
    """Takes over a state, after hooks, which may change a copy of it, and before others."""
    hooks = _hooks_of(self, "load_state_dict_pre")
    state = dict(state_dict) if hooks else state_dict
    for hook in hooks:
        changed = hook(self, state)
        state = state if changed is None else changed
    _load_state_dict(self, state)
    for hook in _hooks_of(self, "load_state_dict_post"):
        hook(self)


def _text(self: Optimizer) -> str:
    """Returns the options of all groups, a line each, by PyTorch's names and in the order of these."""
    theirs = {ours: name for name, ours in OPTIONS.items()}
    groups = []
    for place, group in enumerate(self.param_groups):
        named = {theirs.get(name, name): value for name, value in group.items() if name != "params"}
        lines = [f"Parameter Group {place}", *(f"    {name}: {named[name]}" for name in sorted(named))]
        groups.append("\n".join(lines) + "\n")
    return f"{type(self).__name__} (\n" + "\n".join(groups) + ")"


#: Attribute of an optimizer of which a group holds a tensor several times.
_REPEATS = "_repeats"
#: Attribute of an optimizer with its hooks around states.
_HOOKS_OF_STATES = "_hooks_of_states"
_keys = itertools.count()
_native_state: Any = Optimizer.state_dict

optimizer: Any = Optimizer
optimizer.register_step_pre_hook = _register("before")
optimizer.register_step_post_hook = _register("after")
optimizer.state_shape = _state_shape
optimizer.add_param_group = _add_param_group
for _event in ("state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"):
    setattr(optimizer, f"register_{_event}_hook", _register_for_state(_event))
optimizer.load_state_dict = _load_with_hooks
optimizer.state_dict = _state_with_hooks
optimizer.zero_grad = _zero_grad
optimizer.step = _with_repeated(Optimizer.step)
optimizer.__repr__ = _text


class _State(dict[Any, Any]):
    """State of an optimizer, by tensor as in PyTorch, or by the ``id`` of one as natively.

    A tensor that was not seen before has an empty dict.
    """

    @staticmethod
    def _key(key: Any) -> Any:
        return id(key) if isinstance(key, lm.Tensor) else key

    def __getitem__(self, key: Any) -> Any:
        found = self._key(key)
        if found not in self and isinstance(key, lm.Tensor):
            self[found] = {}
        return super().__getitem__(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(self._key(key), value)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(self._key(key))

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(self._key(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns what is remembered of a tensor."""
        return super().get(self._key(key), default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Returns what is remembered of a tensor, which becomes ``default`` where there is nothing."""
        return super().setdefault(self._key(key), default)

    def pop(self, key: Any, *default: Any) -> Any:
        """Forgets a tensor, and returns what was remembered of it."""
        return super().pop(self._key(key), *default)


def _get_state(self: Optimizer) -> Any:
    return self.__dict__["state"]


def _set_state(self: Optimizer, value: Any) -> None:
    self.__dict__["state"] = value if isinstance(value, _State) else _State(value)


def _refusing_small_thresholds(check: Callable[..., None]) -> Callable[..., None]:
    """Returns the check of Adafactor's options that refuses thresholds below 1, as PyTorch does."""

    def with_threshold(self: Any, group: Any) -> None:
        check(self, group)
        check_number("Adafactor", "d", group["d"], low=1.0)

    return with_threshold


#: By which programs gather and write what the one group of this optimizer moves.
_lbfgs: Any = LBFGS
_lbfgs._params = property(lambda self: self.param_groups[0]["params"], doc="The tensors that steps move.")

_adafactor: Any = Adafactor
_adafactor.check = _refusing_small_thresholds(Adafactor.check)

# Classes that wrap an optimizer call it where they leave out the constructor: hooks are looked up by each step.
optimizer._patch_step_function = lambda self: None
optimizer.state = property(_get_state, _set_state)


def _by_their_own_addition(native: Callable[..., None]) -> Callable[..., None]:
    """Returns an update that adds by the method of a parameter's class where this has its own, as on a manifold."""

    @functools.wraps(native)
    def update_group(self: Optimizer, parameters: list[Any], *given: Any) -> None:
        own = [p for p in parameters if isinstance(p, Asking) and type(p).add_ is not lm.Tensor.add_]
        with Disabled():
            before = [p.clone() for p in own]
            native(self, parameters, *given)
            steps = [p - kept for p, kept in zip(own, before, strict=True)]
            for p, kept in zip(own, before, strict=True):
                p.copy_(kept)
        for p, step in zip(own, steps, strict=True):
            p.add_(step)

    return update_group


_sgd: Any = SGD
_sgd.update_group = _by_their_own_addition(SGD.update_group)

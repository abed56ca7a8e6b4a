"""States of modules with classes that save or load their part in a way of their own.

Such a class overrides ``state_dict``, ``_save_to_state_dict`` or ``_load_from_state_dict``. Modules of which no part
does are saved and loaded by Lamella, which checks everything before it copies anything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import lamella as lm
from lamella.nn import Module
from lamella.nn._state import _EXTRA, StateDictError

_EXTRA_STATE_KEY_SUFFIX = _EXTRA
_IncompatibleKeys = lm.nn.IncompatibleKeys
_native_load: Any = Module.load_state_dict


def _overridden(module: Module, *names: str) -> bool:
    """True if the class of a part of a module has a method of its own."""
    return any(getattr(type(part), name) is not getattr(Module, name) for part in module.modules() for name in names)


def state_dict(self: Module, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
    """Returns parameters and persistent buffers by name, each behind ``prefix``.

    Its ``_metadata`` has the version of each module, which those that load in a way of their own ask for.
    """
    if args and isinstance(args[0], str):  # Lamella's own code gives a path alone, without the dot behind it
        prefix, args = f"{args[0]}." if args[0] else "", args[1:]
    if args:
        given: list[Any] = [*args, *(destination, prefix, keep_vars)[len(args) :]]
        destination, prefix, keep_vars = given
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    versions: Any = getattr(destination, "_metadata", {})
    if _overridden(self, "_save_to_state_dict", "state_dict"):
        versions[prefix[:-1]] = {"version": self._version}
        return _saved(self, destination, prefix, keep_vars)
    for path, module in self.named_modules(prefix=prefix[:-1], remove_duplicate=False):
        versions[path] = {"version": module._version}
    self._save(destination, prefix, keep_vars)
    return destination


def _saved(self: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Writes the state of a module, of which a part saves in a way of its own."""
    for hook in self._hooks_of("state_dict_pre"):
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in self._modules.items():
        if child is None:
            continue
        if type(child)._save is not Module._save:  # of several processes
            child._save(destination, f"{prefix}{name}.", keep_vars)
        else:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in self._hooks_of("state_dict"):
        hook(self, destination, prefix, {})
    return destination


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the names of a state, which is changed in place, and off those of its metadata."""
    for name in [each for each in state_dict if each.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    versions: dict[str, Any] = getattr(state_dict, "_metadata", None) or {}
    for path in [each for each in versions if f"{each}.".startswith(prefix)]:
        versions[path[len(prefix) :]] = versions.pop(path)


def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    """Writes the module's own parameters and buffers, without those of its parts."""
    for name, place in self._places():
        destination[prefix + name] = place.tensor if keep_vars else place.tensor.detach()
    if self._has_extra_state():
        destination[prefix + _EXTRA] = self.get_extra_state()


def load_state_dict(self: Module, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
    """Copies a state into the module; see :meth:`lamella.nn.Module.load_state_dict`.

    Raises:
        RuntimeError: names every entry that does not fit.
        TypeError: ``state_dict`` is not a mapping.
    """
    if not isinstance(state_dict, Mapping) or not _overridden(self, "_load_from_state_dict"):
        return _native_load(self, state_dict, strict, assign)
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    metadata: Any = getattr(state_dict, "_metadata", None) or {}
    keys = lm.nn.IncompatibleKeys(missing, unexpected)

    def load(module: Any, state: dict[str, Any], prefix: str) -> None:
        told = {**metadata.get(prefix[:-1], {}), **({"assign_to_params_buffers": True} if assign else {})}
        module._load_from_state_dict(state, prefix, told, True, missing, unexpected, errors)
        for path, child in module._parts(prefix):
            load(child, {name: value for name, value in state.items() if name.startswith(path)}, path)
        for hook in module._hooks_of("load_state_dict_post"):
            hook(module, keys)

    load(self, dict(state_dict), "")
    if strict:
        errors[:0] = [f"{kind}: {', '.join(names)}" for kind, names in keys._asdict().items() if names]
    if errors:
        listed = "\n  ".join(errors)
        raise StateDictError(f"[load_state_dict] the state does not fit {type(self).__name__}:\n  {listed}")
    return keys


def _load_from_state_dict(
    self: Any,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: Mapping[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Copies the module's own part of a state, and says what does not fit."""
    self._before_own_load(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    own = dict(self._places())
    for name, place in own.items():
        value = state_dict.get(prefix + name)
        if value is None:
            if strict:
                missing_keys.append(prefix + name)
        elif tuple(value.shape) != tuple(place.tensor.shape):
            error_msgs.append(
                f"{prefix}{name}: shape {list(value.shape)} in the state, {list(place.tensor.shape)} in the module"
            )
        elif local_metadata.get("assign_to_params_buffers"):
            kept = place.tensor
            place.table[place.key] = type(kept)(value, kept.requires_grad) if name in self._parameters else value
        else:
            with lm.no_grad():
                place.tensor.copy_(value)
    if self._has_extra_state():
        if prefix + _EXTRA in state_dict:
            self.set_extra_state(state_dict[prefix + _EXTRA])
        elif strict:
            missing_keys.append(prefix + _EXTRA)
    if strict:
        for name in state_dict:
            head, dot, _ = name.removeprefix(prefix).partition(".")
            if name.startswith(prefix) and (head not in self._modules if dot else head not in own and head != _EXTRA):
                unexpected_keys.append(name)


_native_before_own_load: Any = Module._before_own_load


def _before_own_load(self: Any, state: dict[str, Any], prefix: str, *told: Any) -> None:
    """Takes the numbers of old states, which have an axis of one element."""
    _native_before_own_load(self, state, prefix, *told)
    for name, place in self._places():
        value = state.get(prefix + name)
        if isinstance(value, lm.Tensor) and place.tensor.ndim == 0 and tuple(value.shape) == (1,):
            state[prefix + name] = value[0]


def _register_pre_hook(self: Module, hook: Callable[..., Any], with_module: bool = False) -> Any:
    """Has a hook called before a state is loaded, with the module in front of the other arguments or without it."""
    return self.register_load_state_dict_pre_hook(hook if with_module else lambda module, *arguments: hook(*arguments))


def _register_hook(self: Module, hook: Callable[..., Any]) -> Any:
    """Has a hook called when a state was read, which may return another one."""

    def call(module: Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
        made = hook(module, state, prefix, metadata)
        if made is not None and made is not state:
            kept = dict(made)
            state.clear()
            state.update(kept)

    return self.register_state_dict_post_hook(call)


#: Methods of modules.
METHODS: dict[str, Any] = {
    "_version": 1,
    "_non_persistent_buffers_set": property(lambda self: self._transient, doc="Buffers that states do not have."),
    "state_dict": state_dict,
    "load_state_dict": load_state_dict,
    "_before_own_load": _before_own_load,
    "_save_to_state_dict": _save_to_state_dict,
    "_load_from_state_dict": _load_from_state_dict,
    "_register_load_state_dict_pre_hook": _register_pre_hook,
    "_register_state_dict_hook": _register_hook,
}

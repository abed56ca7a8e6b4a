"""Methods by which programs written for PyTorch take part when states of modules are read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamella.nn import Module

_modules: Any = Module
_native_save: Any = Module._save
_native_before_load: Any = Module._before_load


def _load_from_state_dict(
    self: Module,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Does nothing: a module's entries are loaded together with all others.

    A class that has a method of this name is asked before: it may change ``state_dict``, a copy of the caller's.
    """


def _save_to_state_dict(self: Module, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Does nothing: the module's entries are in ``destination`` already.

    A class that has a method of this name may change them.
    """


def _before_load(self: Any, state: dict[str, Any], prefix: str, strict: bool, *lists: list[str]) -> None:
    if type(self)._load_from_state_dict is not _load_from_state_dict:
        self._load_from_state_dict(state, prefix, {}, strict, *lists)
    _native_before_load(self, state, prefix, strict, *lists)


def _save(self: Any, state: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    _native_save(self, state, prefix, keep_vars)
    if type(self)._save_to_state_dict is not _save_to_state_dict:
        self._save_to_state_dict(state, prefix, keep_vars)


def _register_load_state_dict_pre_hook(self: Any, hook: Callable[..., Any], with_module: bool = False) -> Any:
    """Has a hook called before a state is loaded; unlike those of the public method, without the module."""
    if with_module:
        return self.register_load_state_dict_pre_hook(hook)
    return self.register_load_state_dict_pre_hook(lambda module, *args: hook(*args))


# Names of buffers that states do not have.
_modules._non_persistent_buffers_set = property(lambda self: self._transient)
_modules._load_from_state_dict = _load_from_state_dict
_modules._save_to_state_dict = _save_to_state_dict
_modules._before_load = _before_load
_modules._save = _save
_modules._register_load_state_dict_pre_hook = _register_load_state_dict_pre_hook
_modules._register_state_dict_hook = Module.register_state_dict_post_hook

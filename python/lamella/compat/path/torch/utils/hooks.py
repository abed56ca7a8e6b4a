"""Handles of hooks, and marks of hooks that do not go into files."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Any

from lamella import _C, Tensor
from lamella.compat.front import close_module
from lamella.nn import _hooks

_ids = count()


class _HandleType(type):
    def __instancecheck__(cls, value: object) -> bool:
        kinds = (_hooks.ModuleHookHandle, _hooks.HookOfAllHandle, _C.HookHandle)
        return type.__instancecheck__(cls, value) or isinstance(value, kinds)


class RemovableHandle(metaclass=_HandleType):
    """Takes a hook out of a dictionary of hooks; the handles that modules and tensors give are instances, too.

    Args:
        hooks_dict: the dictionary.
        extra_dict: other dictionaries, or one, out of which the hook is taken, too.
    """

    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self._dicts = [hooks_dict, *(each for each in extra if each is not None)]

    def remove(self) -> None:
        """Takes the hook away; doing so again changes nothing."""
        for each in self._dicts:
            each.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


# The key of a hook in the dictionaries of its module.
_of_modules: Any = _hooks.ModuleHookHandle
_of_modules.id = property(lambda self: self._key)


def unserializable_hook(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a hook that is lost in a file, which a warning says when its tensor is saved."""
    function.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return function


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warns where a tensor has hooks that are lost in a file."""
    hooks: dict[int, Any] = getattr(tensor, "_backward_hooks", None) or OrderedDict()
    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized", stacklevel=2)


__getattr__ = close_module(__name__)

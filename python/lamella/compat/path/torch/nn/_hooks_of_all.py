"""Hooks of all modules of a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamella.nn._hooks import hook_all_modules

Hook = Callable[..., Any]


def register_module_forward_pre_hook(hook: Hook) -> Any:
    """Has ``hook(module, args)`` called before the forward of every module, see :meth:`register_forward_pre_hook`.

    Returns:
        A handle, whose ``remove()`` takes the hook away.
    """
    return hook_all_modules("forward_pre", hook)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> Any:
    """Has ``hook(module, args, result)`` called after the forward of every module, see :meth:`register_forward_hook`.

    Returns:
        A handle, whose ``remove()`` takes the hook away.
    """
    return hook_all_modules("forward", hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: Hook) -> Any:
    """Has ``hook(module, grad_output)`` called when the gradients of the results of any module are complete.

    Returns:
        A handle, whose ``remove()`` takes the hook away.
    """
    return hook_all_modules("backward_pre", hook)


def register_module_full_backward_hook(hook: Hook) -> Any:
    """Has ``hook(module, grad_input, grad_output)`` called when the gradients of the inputs of any module are complete.

    Returns:
        A handle, whose ``remove()`` takes the hook away.
    """
    return hook_all_modules("backward", hook)


#: The name of older programs, whose hooks of modules of one operator do the same.
register_module_backward_hook = register_module_full_backward_hook

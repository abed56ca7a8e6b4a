"""Modules that keep nothing for backward but their inputs, and run again there."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.distributed._units import Rerun
from lamella.nn import Module


class CheckpointImpl(Enum):
    """Ways to run again; both do the same."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **options: Any,
) -> Module:
    """Has a module run again in backward, and returns it: the module itself, whose names stay as they are.

    Args:
        module: the module.
        checkpoint_impl: accepted; nothing changes.
        checkpoint_fn: called with the module's function, its arguments and the options; by default
            ``torch.utils.checkpoint.checkpoint``.
        options: those of the function.
    """
    if not isinstance(module.__dict__.get("forward"), Rerun):
        options.setdefault("use_reentrant", False)
        run = partial(checkpoint_fn or lm.checkpoint, **options)
        module.__dict__["forward"] = Rerun(module, module.__dict__.get("forward"), run)
    return module


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Has modules of a model run again in backward.

    Args:
        model: the model.
        checkpoint_wrapper_fn: :func:`checkpoint_wrapper`, with options.
        check_fn: says of each module whether it does.
        auto_wrap_policy: says so in the place of ``check_fn``, as those of ``torch.distributed.fsdp.wrap``.
    """
    for part in list(model.modules()):
        if part is model:
            continue
        if auto_wrap_policy is None:
            is_chosen = check_fn(part)
        else:
            count = sum(len(p.detach().reshape([-1])) for p in part.parameters())
            is_chosen = auto_wrap_policy(module=part, recurse=False, nonwrapped_numel=count)
        if is_chosen:
            checkpoint_wrapper_fn(part)


__getattr__ = close_module(__name__)

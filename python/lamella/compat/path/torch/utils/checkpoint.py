"""Memory for time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.autograd import CheckpointPolicy  # noqa: F401
from lamella.compat.front import close_module

from .. import random
from ._pytree import tree_leaves


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Calls ``function`` without keeping what backward needs; ``use_reentrant`` is False where it is not given."""
    if kwargs.get("context_fn") is not None and isinstance(selective := kwargs["context_fn"]()[0], _Selective):
        kwargs = {**kwargs, "context_fn": None, "policy": selective.policy}
    return lm.checkpoint(function, *args, use_reentrant=bool(use_reentrant), **kwargs)


class _Selective(contextlib.nullcontext[None]):
    """A block that :func:`checkpoint` knows, with what says which results are kept."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy


class SelectiveCheckpointContext:
    """The first argument of a policy.

    Attributes:
        is_recompute: False: which results are kept is decided in the first call.
    """

    is_recompute = False


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[_Selective, _Selective]:
    """Returns what a ``context_fn`` of :func:`checkpoint` returns to keep the results of some operators.

    Args:
        policy_fn_or_list: operators whose results are kept, by name, or a function of a context, an operator's name and
            the tensors that it is called with, which returns a :class:`CheckpointPolicy`.
        allow_cache_entry_mutation: accepted; results that were written to are an error in backward.
    """
    given = policy_fn_or_list
    if callable(given):
        context = SelectiveCheckpointContext()
        found = _Selective(lambda op, *tensors: given(context, op, *tensors))
    else:
        found = _Selective([str(op) for op in given])
    return found, found


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Calls functions one after the other, in checkpoints."""
    return lm.autograd.checkpoint_sequential(functions, segments, input, use_reentrant=bool(use_reentrant), **kwargs)


def get_device_states(*args: Any) -> tuple[list[int], list[lm.Tensor]]:
    """Returns the GPUs on which arguments lie, and the states of their generators."""
    tensors = [each for each in tree_leaves(args) if isinstance(each, lm.Tensor) and each.device.startswith("cuda")]
    found = sorted({int(each.device.partition(":")[2] or 0) for each in tensors})
    return found, [random.get_rng_state() for _ in found]


def set_device_states(devices: list[int], states: list[lm.Tensor], *, device_type: str | None = None) -> None:
    """Puts the generators of GPUs into states that :func:`get_device_states` returned."""
    for state in states:
        random.set_rng_state(state)


__getattr__ = close_module(__name__)

"""Memory for time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.autograd import CheckpointPolicy  # noqa: F401
from lamella.compat.front import close_module

from .. import _ops, random
from .._warnings import warn
from ._pytree import tree_leaves

CheckpointError = RuntimeError


class _Settings(threading.local):
    """Defaults of a thread's checkpoints."""

    early_stop = True


_settings = _Settings()


class set_checkpoint_early_stop(contextlib.ContextDecorator):  # noqa: N801 (PyTorch's name)
    """A block in which checkpoints leave their second call early, or do not.

    Args:
        enable: leave it once everything is there that backward wants.
    """

    def __init__(self, enable: bool) -> None:
        self.enable = enable
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(_settings.early_stop)
        _settings.early_stop = self.enable

    def __exit__(self, *error: object) -> None:
        _settings.early_stop = self.before.pop()


def set_checkpoint_debug_enabled(enabled: bool | None) -> contextlib.nullcontext[None]:
    """Returns a block that changes nothing: errors of checkpoints name the operator that differs in any case."""
    return contextlib.nullcontext()


def noop_context_fn() -> tuple[contextlib.nullcontext[None], contextlib.nullcontext[None]]:
    """Returns the two blocks around a checkpoint's calls that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns arguments with leaves in the place of tensors, which want a gradient where these do."""
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, lm.Tensor) else each for each in inputs
    )


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    early_stop: bool | None = None,
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls ``function`` without keeping what backward needs: :func:`lamella.checkpoint`.

    Args:
        function: what to call.
        *args: its arguments.
        use_reentrant: False where it is not given, which a warning says.
        early_stop: as :class:`set_checkpoint_early_stop` says where it is not given.
        debug: accepted: errors name the operator that differs in any case.
        **kwargs: options of the native function, and arguments of this one.
    """
    if use_reentrant is None:
        warn("[checkpoint] use_reentrant is not given, and is False here: write use_reentrant=False")
    kwargs["early_stop"] = _settings.early_stop if early_stop is None else early_stop
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
        policy_fn_or_list: operators whose results are kept, as ``torch.ops.aten.mm.default``, or by Lamella's names; or
            a function of a context, such an operator and the tensors that it is called with, which returns a
            :class:`CheckpointPolicy`.
        allow_cache_entry_mutation: accepted; results that were written to are an error in backward.
    """
    given = policy_fn_or_list
    if callable(given):
        context = SelectiveCheckpointContext()
        found = _Selective(lambda op, *tensors: given(context, _ops.overload_of(op, tensors), *tensors))
    else:
        kept = set(given)
        found = _Selective(lambda op, *tensors: op in kept or _ops.overload_of(op, tensors) in kept)
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

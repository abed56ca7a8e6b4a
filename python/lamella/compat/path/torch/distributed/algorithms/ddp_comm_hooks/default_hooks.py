"""Hooks of ``DistributedDataParallel`` that send gradients as they are, or in 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module
from lamella.distributed import hooks

from ....futures import Future
from ..._data_parallel import GradBucket, Hook, as_future, native_hook


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Takes the mean of the gradients."""
    return as_future(hooks.mean(bucket.native_of(process_group)))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Takes the mean of the gradients, which are sent as float16."""
    return as_future(hooks.compressed(lm.float16)(bucket.native_of(process_group)))


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Takes the mean of the gradients, which are sent as bfloat16."""
    return as_future(hooks.compressed(lm.bfloat16)(bucket.native_of(process_group)))


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Leaves each process its own gradients."""
    made: Future[Tensor] = Future()
    made.set_result(bucket.buffer())
    return made


def fp16_compress_wrapper(hook: Hook) -> Callable[[Any, GradBucket], Future[Tensor]]:
    """Returns a hook that has another one send float16."""
    return _compressing(hook, lm.float16)


def bf16_compress_wrapper(hook: Hook) -> Callable[[Any, GradBucket], Future[Tensor]]:
    """Returns a hook that has another one send bfloat16."""
    return _compressing(hook, lm.bfloat16)


def _compressing(hook: Hook, dtype: Any) -> Callable[[Any, GradBucket], Future[Tensor]]:
    def run(state: Any, bucket: GradBucket) -> Future[Tensor]:
        return as_future(hooks.compressed(dtype, native_hook(hook, state))(bucket.native_of(None)))

    return run


__getattr__ = close_module(__name__)

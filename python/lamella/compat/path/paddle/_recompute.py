"""Calls that keep nothing for backward, and are made again there: ``paddle.distributed.fleet.utils.recompute``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lamella as lm


def recompute(
    function: Callable[..., Any],
    *args: Any,
    preserve_rng_state: bool = True,
    use_reentrant: bool = True,
    offload_indices: Any = None,
    **kwargs: Any,
) -> Any:
    """Returns ``function(*args, **kwargs)``; backward calls it again for the values that it needs.

    Args:
        function: a layer or a function.
        *args: its arguments.
        preserve_rng_state: False draws other random numbers in the second call.
        use_reentrant: not used: gradients of any order are computed in either way.
        offload_indices: not used: there is one memory.
        **kwargs: more of its arguments.
    """

    def call(*given: Any) -> Any:
        return function(*given, **kwargs)

    return lm.checkpoint(call, *args, preserve_rng_state=preserve_rng_state)


def recompute_sequential(ctx: Mapping[str, Any], functions: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls functions of one argument one after the other, in parts that are recomputed but for the last.

    Args:
        ctx: ``segments``, the number of parts, and ``preserve_rng_state``; 1 and True by default.
        functions: a ``Sequential``, or a list of functions.
        *args: the argument of the first function.
        **kwargs: none; Paddle passes them on to functions that take none.

    Raises:
        TypeError: there is not one argument.
    """
    if len(args) != 1 or kwargs:
        raise TypeError(f"[recompute_sequential] functions take one argument, got {len(args) + len(kwargs)}")
    steps = list(functions.children()) if isinstance(functions, lm.nn.Module) else list(functions)
    preserved = bool(ctx.get("preserve_rng_state", True))
    return lm.autograd.checkpoint_sequential(steps, int(ctx.get("segments", 1)), args[0], preserve_rng_state=preserved)

"""Finding NaN and infinities, where they come from, and how many there are; counts of operators by precision."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat.front import close_module

from ._operator_stats import (  # noqa: F401
    collect_operator_stats,
    disable_operator_stats_collection,
    enable_operator_stats_collection,
)

_NAMES = {lm.float16: "fp16", lm.bfloat16: "bf16", lm.float32: "fp32", lm.float64: "fp64"}


class DebugMode(Enum):
    """Says what a check does with what it finds."""

    CHECK_NAN_INF_AND_ABORT = 0
    CHECK_NAN_INF = 1
    CHECK_ALL_FOR_OVERFLOW = 2
    CHECK_ALL = 3


def check_numerics(
    tensor: Tensor, op_type: str, var_name: str, debug_mode: DebugMode = DebugMode.CHECK_NAN_INF_AND_ABORT
) -> tuple[Tensor, Tensor]:
    """Counts the NaN, infinities and zeros of a tensor, and prints them where there are any of the first two.

    Args:
        tensor: floating-point numbers.
        op_type: the operator to name.
        var_name: the tensor's name.
        debug_mode: ``CHECK_NAN_INF_AND_ABORT`` raises; ``CHECK_ALL`` prints what it counts in any case.

    Returns:
        The numbers of NaN, of infinities and of zeros, then the largest element, the least and the mean.

    Raises:
        RuntimeError: there is a NaN or an infinity, and the mode says so.
        TypeError: the tensor has another dtype.
    """
    if tensor.dtype not in _NAMES:
        raise TypeError(f"[check_numerics] tensor is of floating-point numbers, not {tensor.dtype.name}")
    with lm.no_grad():
        values = tensor.detach().astype("float64" if tensor.dtype == lm.float64 else "float32")
        found = [lm.isnan(values), lm.isinf(values), values == 0]
        counts = lm.stack([lm.sum(each, dtype=lm.int64) for each in found])
        if values.size == 0:
            numbers = lm.zeros((3,), dtype=values.dtype)
        else:
            high, low = (lm.where(found[0], lm.full_like(values, end), values) for end in (-float("inf"), float("inf")))
            numbers = lm.stack([lm.max(high), lm.min(low), lm.mean(values)])
    nans, infinite, zeros = (int(each) for each in counts.tolist())
    bad = nans + infinite > 0
    place = "cpu" if str(tensor.device) == "cpu" else str(tensor.device).replace("cuda", "gpu")
    where = f"[device={place}, op={op_type}, tensor={var_name}, dtype={_NAMES[tensor.dtype]}]"
    if bad or debug_mode is DebugMode.CHECK_ALL:
        most, least, mean = numbers.tolist()
        of_bad = f"num_nan={nans}, num_inf={infinite}, " if bad else ""
        print(
            f"[PRECISION]{' [ERROR]' if bad else ''} in {where}, numel={tensor.size}, {of_bad}num_zero={zeros}, "
            f"max={most:e}, min={least:e}, mean={mean:e}"
        )
    if bad and debug_mode is DebugMode.CHECK_NAN_INF_AND_ABORT:
        raise RuntimeError(
            f"[check_numerics] there are NaN or infinities (num_nan={nans}, num_inf={infinite}, num_zero={zeros}) in "
            f"{where}"
        )
    return counts, numbers


def check_layer_numerics(function: Callable[..., Any]) -> Callable[..., Any]:
    """Has a layer's ``forward`` print the NaN and infinities of the first tensor it takes, and of the first it gives.

    Raises:
        RuntimeError: ``forward`` is called without a tensor.
    """

    @functools.wraps(function)
    def forward(self: Any, *args: Any, **named: Any) -> Any:
        if not args or not isinstance(args[0], Tensor):
            raise RuntimeError("[check_layer_numerics] forward has no tensor as its first argument to check")
        kind = type(self).__name__
        check_numerics(args[0], kind, "input", DebugMode.CHECK_NAN_INF)
        made = function(self, *args, **named)
        first = made[0] if isinstance(made, (list, tuple)) else made
        if isinstance(first, Tensor):
            check_numerics(first, kind, "output", DebugMode.CHECK_NAN_INF)
        return made

    return forward


class TensorCheckerConfig:
    """Settings of :func:`enable_tensor_checker`.

    Args:
        enable: False checks nothing.
        debug_mode: must be ``CHECK_NAN_INF_AND_ABORT``: an exception tells where the first NaN comes from.
        output_dir: must be None.
        checked_op_list: must be None: all operators are checked.
        skipped_op_list: must be None.
        debug_step: the steps to check, from the first of two numbers to before the second; all by default.
        stack_height_limit: not used.

    Raises:
        NotImplementedError: a setting that must be what it is by default is something else.
    """

    def __init__(
        self,
        enable: bool,
        debug_mode: DebugMode = DebugMode.CHECK_NAN_INF_AND_ABORT,
        output_dir: str | None = None,
        checked_op_list: Sequence[str] | None = None,
        skipped_op_list: Sequence[str] | None = None,
        debug_step: Sequence[int] | None = None,
        stack_height_limit: int = 1,
    ) -> None:
        others = {"output_dir": output_dir, "checked_op_list": checked_op_list, "skipped_op_list": skipped_op_list}
        for word, value in others.items():
            if value is not None:
                raise NotImplementedError(f"[TensorCheckerConfig] Lamella's paddle front takes no {word}")
        if debug_mode is not DebugMode.CHECK_NAN_INF_AND_ABORT:
            raise NotImplementedError(
                f"[TensorCheckerConfig] Lamella's paddle front checks with CHECK_NAN_INF_AND_ABORT, not {debug_mode}"
            )
        if debug_step is not None and not (len(debug_step) == 2 and 0 <= debug_step[0] < debug_step[1]):
            raise ValueError(f"[TensorCheckerConfig] debug_step is two numbers, the lesser one first, not {debug_step}")
        self.enable, self.debug_mode, self.debug_step = enable, debug_mode, debug_step
        self.stack_height_limit = stack_height_limit
        #: Number of times that the checks were asked for.
        self.current_step_id = 0

    def update_and_check_step_id(self) -> bool:
        """Counts a step; True if it is one to check."""
        step, self.current_step_id = self.current_step_id, self.current_step_id + 1
        return self.enable and (self.debug_step is None or self.debug_step[0] <= step < self.debug_step[1])


#: The checks that :func:`enable_tensor_checker` began.
_begun: list[lm.autograd.set_detect_anomaly] = []


def enable_tensor_checker(checker_config: TensorCheckerConfig) -> None:
    """Raises at the first NaN or infinity of a recorded operation's result, or of a gradient, from here on.

    In a program that gives steps to check, each call counts as one.
    """
    if checker_config.update_and_check_step_id():
        _begun.append(lm.autograd.set_detect_anomaly(True, check_inf=True, check_forward=True))


def disable_tensor_checker() -> None:
    """Ends the checks that :func:`enable_tensor_checker` began."""
    while _begun:
        _begun.pop().__exit__(None, None, None)


__getattr__ = close_module(__name__)

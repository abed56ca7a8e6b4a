"""Optimizers around others: steps back to slow weights, and means of weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import lamella as lm
from lamella.compat.front import close_module
from lamella.optim.optimizer import check_numbers
from lamella.static.program import paused

from ..optimizer._base import Optimizer, given
from ..optimizer._states import AVERAGED


class LookAhead(Optimizer):
    """Lets another optimizer make ``k`` steps, and goes a part of the way from the weights before to those after.

    Zhang et al. 2019, "Lookahead optimizer: k steps forward, 1 step back". The weights before are those behind the
    first step.

    Args:
        inner_optimizer: makes the steps.
        alpha: the part of the way, from 0 to 1.
        k: number of steps, above 0.
        name: not used.
    """

    def __init__(self, inner_optimizer: Any, alpha: float = 0.5, k: int = 5, name: str | None = None) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            raise TypeError(f"[LookAhead] inner_optimizer is an optimizer, not {type(inner_optimizer).__name__}")
        if not 0 <= alpha <= 1:
            raise ValueError(f"[LookAhead] alpha is from 0 to 1, not {alpha}")
        if not isinstance(k, int) or k <= 0:
            raise ValueError(f"[LookAhead] k is an integer above 0, not {k!r}")
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        super().__init__([{"params": each["params"]} for each in inner_optimizer.param_groups], {"lr": alpha})
        self._set(alpha, None)

    def take(self, parameters: Iterable[Any]) -> None:
        """Gives the other optimizer the parameters of a static program, in whose groups they are here, too."""
        self.inner_optimizer.take(parameters)
        self._regroup([{"params": group["params"]} for group in self.inner_optimizer.param_groups])

    def step(self, closure: Any = None) -> Any:
        """Makes a step of the other optimizer, and each ``k`` steps one back."""
        for own, inner in zip(self.param_groups, self.inner_optimizer.param_groups, strict=True):
            # A program gives the outer optimizer the parameters of the scope that it runs in.
            inner["params"] = own["params"]
        found = self.inner_optimizer.step(closure)
        steps = self.state["steps"] = self.state.get("steps", 0) + 1
        with lm.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._follow(parameter, self.state.setdefault(id(parameter), {}), steps)
        return found

    def _follow(self, parameter: lm.Tensor, state: dict[str, Any], steps: int) -> None:
        """Takes one parameter a step back where it is time for that."""
        if not state or steps == 1:
            state["slow"] = parameter.detach().clone()
        if steps % self.k == 0:
            state["slow"].mul_(1 - self.alpha).add_(parameter * self.alpha)
            parameter.copy_(state["slow"])


class ModelAverage(Optimizer):
    """Remembers sums of parameters after steps of an optimizer; :meth:`apply` puts their means in place.

    A window of sums ends after ``min_average_window`` steps or more, of ``average_window_rate`` times all steps or
    ``max_average_window``; the mean is that of the window before and of what came since.

    Args:
        average_window_rate: the length of a window in proportion to the number of steps.
        parameters: the parameters.
        min_average_window: the shortest window.
        max_average_window: the longest window.
        name: not used.
    """

    def __init__(
        self,
        average_window_rate: float,
        parameters: Iterable[Any] | None = None,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        self.average_window = average_window_rate
        self.min_average_window, self.max_average_window = min_average_window, max_average_window
        super().__init__(given("ModelAverage", parameters), {"lr": 0.0})
        self._set(0.0, None)

    def check(self, group: Any) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        check_numbers("ModelAverage", group, "lr")

    def state_shape(self, key: str, parameter: lm.Tensor) -> tuple[int, ...] | None:
        """Returns the shape of what is remembered: sums in that of the parameter, and counts."""
        return (1,) if key in AVERAGED else tuple(parameter.shape)

    def _fitted(self, value: Any, parameter: lm.Tensor, key: str) -> Any:
        """Returns a copy of one remembered value; counts stay integers."""
        made = super()._fitted(value, parameter, key)
        return made.astype("int64") if key in AVERAGED else made

    def _remembered(self, parameter: lm.Tensor) -> dict[str, Any]:
        state = self.state.setdefault(id(parameter), {})
        if not state:
            state |= {word: lm.zeros_like(parameter.detach()) for word in ("sum_1", "sum_2", "sum_3", "restore")}
            state |= {word: lm.zeros((1,), dtype="int64") for word in AVERAGED}
        return state

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: Any) -> None:
        """Adds one parameter to its sum; nothing moves."""
        state = self._remembered(parameter)
        state["sum_1"].add_(parameter)
        count, updates = state["num_accumulates"].add_(1).item(), state["num_updates"].add_(1).item()
        if updates % _LONG_SUM == 0:
            state["sum_2"].add_(state["sum_1"])
            state["sum_1"].zero_()
        longest = min(self.max_average_window, int(updates * self.average_window))
        if count >= max(self.min_average_window, longest):
            state["sum_3"].copy_(state["sum_1"] + state["sum_2"])
            state["sum_1"].zero_()
            state["sum_2"].zero_()
            state["old_num_accumulates"].copy_(state["num_accumulates"])
            state["num_accumulates"].zero_()

    @contextlib.contextmanager
    def apply(self, executor: Any = None, need_restore: bool = True) -> Iterator[None]:
        """Puts means in the place of parameters in a ``with`` block, and those back behind it if ``need_restore``."""
        with paused(), lm.no_grad():
            for parameter, state in self._pairs():
                state["restore"].copy_(parameter)
                count = state["num_accumulates"] + state["old_num_accumulates"]
                total = state["sum_1"] + state["sum_2"] + state["sum_3"]
                parameter.copy_(total / count.astype(total.dtype))
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor: Any = None) -> None:
        """Puts the parameters of before :meth:`apply` back in their place."""
        with paused(), lm.no_grad():
            for parameter, state in self._pairs():
                parameter.copy_(state["restore"])

    def _pairs(self) -> list[tuple[lm.Tensor, dict[str, Any]]]:
        """Returns the parameters that have been added to a sum, with what is remembered of them."""
        members = [parameter for group in self.param_groups for parameter in group["params"]]
        return [(parameter, self.state[id(parameter)]) for parameter in members if self.state.get(id(parameter))]


#: Number of steps after which a sum is added to another, so that small terms are not lost beside it.
_LONG_SUM = 16384

__getattr__ = close_module(__name__)

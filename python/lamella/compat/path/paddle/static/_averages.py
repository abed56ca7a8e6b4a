"""Moving averages of a program's parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella.static import create_global_var, default_main_program, global_scope, unique_name
from lamella.static.program import need_recording, paused

from .._attributes import attribute


class ExponentialMovingAverage:
    """Averages of the parameters of the program that is recorded, in which older values count less and less.

    ``average = decay * average + (1 - decay) * parameter`` in each run of the program, from 0 on; what :meth:`apply`
    puts in place is ``average / (1 - decay ** steps)``. The start-up program sets the averages to 0, so make the object
    first.

    Args:
        decay: the share of the average before.
        thres_steps: a variable with the number of steps ``t``: the share is ``(t + 1) / (t + 10)`` while that is less.
        name: what the names of the averages begin with.
    """

    def __init__(self, decay: float = 0.999, thres_steps: Any = None, name: str | None = None) -> None:
        need_recording("ExponentialMovingAverage")
        self._decay, self._thres_steps = decay, thres_steps
        self._parameters = [
            each
            for each in default_main_program().all_parameters()
            if not each.stop_gradient and attribute(_bearer(each), "do_model_average", True) is not False
        ]
        prefix = name or ""
        self._averages = [_kept(each.shape, 0.0, each.dtype, f"{prefix}{each.name}_ema") for each in self._parameters]
        self._steps = _kept([1], 0, "int64", f"{prefix}ema_steps")
        self._share = _kept([1], decay, "float32", f"{prefix}ema_decay")
        self._before: list[lm.Tensor] = []

    def update(self) -> None:
        """Adds a step of the averages to the program: behind that of the optimizer."""
        beside = [] if self._thres_steps is None else [self._thres_steps]
        inputs = [self._steps, self._share, *self._averages, *self._parameters, *beside]
        program = need_recording("ExponentialMovingAverage.update")
        program.add_function("exponential_moving_average", _Step(len(self._averages), self._decay), inputs, [])

    @contextlib.contextmanager
    def apply(self, executor: Any, need_restore: bool = True) -> Iterator[None]:
        """Puts averages in the place of parameters in a ``with`` block, and these back behind it: ``need_restore``."""
        steps, share = (_value(each).item() for each in (self._steps, self._share))
        parameters = [_value(each) for each in self._parameters]
        with paused(), lm.no_grad():
            self._before = [each.detach().clone() for each in parameters]
            for parameter, average in zip(parameters, map(_value, self._averages), strict=True):
                parameter.copy_(average / (1.0 - share**steps) if steps else average)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor: Any) -> None:
        """Puts the parameters of before :meth:`apply` back in their place."""
        with paused(), lm.no_grad():
            for parameter, before in zip(map(_value, self._parameters), self._before, strict=bool(self._before)):
                parameter.copy_(before)


class _Step:
    """Moves the averages in a run: the node of :meth:`ExponentialMovingAverage.update`."""

    def __init__(self, count: int, decay: float) -> None:
        self.count, self.decay = count, decay

    def __call__(self, steps: lm.Tensor, share: lm.Tensor, *tensors: lm.Tensor) -> None:
        averages, parameters = tensors[: self.count], tensors[self.count : 2 * self.count]
        with lm.no_grad():
            for passed in tensors[2 * self.count :]:
                share.fill_(min(self.decay, (passed.item() + 1.0) / (passed.item() + 10.0)))
            steps.add_(1)
            kept = share.item()
            for average, parameter in zip(averages, parameters, strict=True):
                average.mul_(kept).add_(parameter.detach() * (1.0 - kept))

    def inference(self) -> Callable[..., None]:
        """Returns the node's function in copies of the program for tests: nothing moves."""
        return lambda *tensors: None


def _kept(shape: Any, value: float, dtype: Any, name: str) -> Any:
    """Returns a variable whose value a scope keeps, with a name of its own."""
    return create_global_var(list(shape), value, dtype, persistable=True, name=unique_name.generate(name))


def _bearer(parameter: Any) -> Any:
    """Returns what a parameter's attributes were given to: the tensor of a module, or the variable."""
    return default_main_program().graph.captured.get(parameter.name, parameter)


def _value(variable: Any) -> lm.Tensor:
    """Returns the tensor of a variable in the global scope.

    Raises:
        RuntimeError: it has none.
    """
    found = global_scope().find_var(variable.name)
    if found is None or found.value is None:
        raise RuntimeError(
            f"[ExponentialMovingAverage] '{variable.name}' has no value in this scope: run the start-up program"
        )
    return found.value

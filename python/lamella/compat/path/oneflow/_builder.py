"""Uses of operators, on the device of the placement that they stand in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self, TypeVar

import lamella as lm
from lamella.graph import Symbol
from lamella.user_op import UserOp, UserOpBuilder, op_info

from . import _own_operators, _record, scope

_own_operators.install()

_F = TypeVar("_F", bound=Callable[..., Any])


def placed(x: lm.Tensor) -> lm.Tensor:
    """Returns a tensor on the device of the innermost ``scope.placement``, or in a job on the job's."""
    record = _record.current()
    if not isinstance(x, Symbol):
        device = scope.current_device()
        return x if device is None else x.to_device(device)
    if record is None or not record.is_mixed:
        # All of the job is on one device, where it is fed.
        return x
    return x.to_device(scope.current_device() or record.device or "cpu")


def operator(function: _F) -> _F:
    """Makes a function of tensors, or of lists of them, run on the device of the placement that it stands in."""

    def moved(value: Any) -> Any:
        if isinstance(value, lm.Tensor):
            return placed(value)
        return [moved(each) for each in value] if isinstance(value, (list, tuple)) and _has_tensor(value) else value

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return function(*map(moved, args), **{key: moved(value) for key, value in kwargs.items()})

    return run  # type: ignore[return-value]


def _has_tensor(values: Any) -> bool:
    return any(isinstance(each, lm.Tensor) for each in values)


class _OwnUse(UserOp):
    """Use of an operator of OneFlow's, which is made of Lamella's: in a job, those are its nodes."""

    def InferAndTryRun(self) -> Self:  # noqa: N802 (the dialect's name)
        """Computes the outputs."""
        op, _, inputs, outputs, attrs = self._use
        self._results = [x for _, tensors in _own_operators.run(op, inputs, outputs, attrs) for x in tensors]
        return self


def _is_defined(op: str) -> bool:
    try:
        op_info(op)
    except ValueError:
        return False
    return True


class _PlacedBuilder(UserOpBuilder):
    """Moves inputs to the device of the innermost ``scope.placement``, and gives uses in jobs names of their own."""

    def Build(self) -> UserOp:  # noqa: N802 (the dialect's name)
        """Returns the use that was described."""
        for name, tensors in self._inputs.items():
            self._inputs[name] = [placed(x) for x in tensors]
        record = _record.current()
        if record is not None:
            self._name = record.use_name(self._name)
        if self._op in _own_operators.OPERATORS and not _is_defined(self._op):
            return _OwnUse(self._op, self._name, self._inputs, self._outputs, self._attrs)
        return super().Build()


def user_op_builder(name: str) -> UserOpBuilder:
    """Starts the description of a use of an operator; see :func:`lamella.user_op.user_op_builder`.

    In a job, each use keeps a kernel's state of its own, for as long as the job lives.
    """
    return _PlacedBuilder(name)

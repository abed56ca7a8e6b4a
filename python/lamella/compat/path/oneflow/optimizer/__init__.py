"""Optimizers of jobs of the type "train", and their learning rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import static
from lamella.compat.front import close_module
from lamella.graph import Symbol

from .. import _record
from ._schedules import (
    CosineScheduler,
    ExponentialScheduler,
    InverseTimeScheduler,
    LrScheduler,
    NaturalExpScheduler,
    PiecewiseConstantScheduler,
    PiecewiseScalingScheduler,
    PolynomialScheduler,
    warmup,
)
from ._steps import SGD as _SGD
from ._steps import Adam as _Adam
from ._steps import RMSProp as _RMSProp
from ._steps import Step

__all__ = [
    "SGD",
    "SGDW",
    "Adam",
    "AdamW",
    "CosineScheduler",
    "ExponentialScheduler",
    "InverseTimeScheduler",
    "LrScheduler",
    "NaturalExpScheduler",
    "PiecewiseConstantScheduler",
    "PiecewiseScalingScheduler",
    "PolynomialScheduler",
    "RMSProp",
    "grad_clipping",
    "warmup",
]

__getattr__ = close_module(__name__)


class grad_clipping:  # noqa: N801 (the dialect's name)
    """Ways to bound gradients."""

    class by_global_norm:  # noqa: N801
        """Scales all gradients so that the root of the sum of their squares is at most ``clip_norm``."""

        def __init__(self, clip_norm: float) -> None:
            if clip_norm <= 0:
                raise ValueError(f"[by_global_norm] clip_norm is above 0, got {clip_norm}")
            self.clip_norm = float(clip_norm)

        def clipped(self, gradients: list[lm.Tensor]) -> list[lm.Tensor]:
            """Returns the gradients, scaled."""
            total: Any = sum(lm.sum(g * g) for g in gradients)
            factor = lm.minimum(self.clip_norm / lm.sqrt(total), lm.ones_like(total))
            return [g * factor for g in gradients]


class Optimizer:
    """Adds to a job of the type "train" the gradients of a loss and a step along them, by :meth:`minimize`."""

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        grad_clipping: Any = None,
        loss_scale_factor: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        name = type(self).__name__
        if not isinstance(lr_scheduler, LrScheduler):
            raise TypeError(
                f"[{name}] lr_scheduler: expected a schedule such as PiecewiseConstantScheduler([], [0.1]), got "
                f"{type(lr_scheduler).__name__}"
            )
        if grad_clipping is not None and not hasattr(grad_clipping, "clipped"):
            raise TypeError(f"[{name}] grad_clipping: expected by_global_norm, got {type(grad_clipping).__name__}")
        if train_step_lbn is not None:
            raise NotImplementedError(f"[{name}] train_step_lbn: each job counts its own steps")
        if loss_scale_policy is not None and not isinstance(loss_scale_policy, (int, float)):
            raise NotImplementedError(f"[{name}] loss_scale_policy: losses are not scaled dynamically")
        self._schedule = lr_scheduler
        self._clipping = grad_clipping
        self._variables = None if variables is None else list(variables)

    def _made(self, params: list[Any]) -> Step:
        """Returns the optimizer that makes the steps."""
        raise NotImplementedError

    def minimize(self, loss: Any) -> None:
        """Adds the gradients of a loss, and a step along them, to the job that is recorded.

        A loss of several elements counts as their mean. The step comes after everything that the job computes.

        Args:
            loss: a value of the job.

        Raises:
            RuntimeError: no job is recorded, or it is not of the type "train".
            TypeError: the loss is no value of the job.
            ValueError: the loss depends on no variable that is trained.
        """
        op = f"{type(self).__name__}.minimize"
        record = _record.needed(op)
        if not record.trains:
            raise RuntimeError(
                f"[{op}] the job '{record.job}' is of the type 'predict': say @flow.global_function(type=\"train\")"
            )
        if not isinstance(loss, Symbol):
            raise TypeError(f"[{op}] the loss of the job '{record.job}' is {type(loss).__name__}, not a value of it")
        wanted: list[Any] = record.main.all_parameters() if self._variables is None else self._variables
        trained = [p for p in (record.main.find(op, each) for each in wanted) if not p.stop_gradient]
        found = static.gradients(loss, trained) if trained else []
        pairs = [(p, g) for p, g in zip(trained, found, strict=True) if g is not None]
        if not pairs:
            raise ValueError(f"[{op}] the loss '{loss.name}' of the job '{record.job}' depends on no variable to train")
        parameters: list[Any] = [p for p, _ in pairs]
        with lm.no_grad():
            gradients = _of_the_mean(loss, [g for _, g in pairs])
            for k, parameter in enumerate(parameters):
                regularizer = record.regularizers.get(parameter.name)
                if regularizer is not None:
                    gradients[k] = regularizer.added(parameter, gradients[k])
            if self._clipping is not None:
                gradients = self._clipping.clipped(gradients)
        step = self._made([{"params": parameters}]).scheduled(self._schedule)
        record.minimize(step, loss, list(zip(parameters, gradients, strict=True)))


def _of_the_mean(loss: Symbol, gradients: list[Any]) -> list[Any]:
    """Returns the gradients of the mean of a loss's elements, given those of their sum."""
    count: Any = loss.size
    if count == -1:
        count = lm.sum(lm.ones_like(loss))
    return gradients if loss.size == 1 else [g / count for g in gradients]


class SGD(Optimizer):
    """Gradient descent: ``v = momentum * v - lr * g``, ``p = p + v``."""

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        grad_clipping: Any = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        super().__init__(lr_scheduler, grad_clipping, loss_scale_factor, train_step_lbn, loss_scale_policy, variables)
        self._momentum = momentum

    def _made(self, params: list[Any]) -> Step:
        return _SGD(params, self._momentum, 0.0)


class SGDW(Optimizer):
    """Gradient descent with ``lr * weight_decay * p`` subtracted from each parameter."""

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        weight_decay: float | None = None,
        weight_decay_includes: Any = None,
        weight_decay_excludes: Any = None,
        grad_clipping: Any = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        super().__init__(lr_scheduler, grad_clipping, loss_scale_factor, train_step_lbn, loss_scale_policy, variables)
        self._momentum = momentum
        self._decay = _Decay("SGDW", weight_decay, weight_decay_includes, weight_decay_excludes)

    def _made(self, params: list[Any]) -> Step:
        return _SGD(self._decay.groups(params), self._momentum, 0.0)


class Adam(Optimizer):
    """Adam; see :class:`lamella.optim.Adam`. ``do_bias_correction=False`` leaves the running means as they are."""

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        grad_clipping: Any = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        super().__init__(lr_scheduler, grad_clipping, loss_scale_factor, train_step_lbn, loss_scale_policy, variables)
        self._options = ((beta1, beta2), epsilon, 0.0, do_bias_correction)

    def _made(self, params: list[Any]) -> Step:
        return _Adam(params, *self._options)


class AdamW(Optimizer):
    """Adam with ``lr * weight_decay * p`` subtracted from each parameter."""

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        weight_decay: float | None = None,
        weight_decay_includes: Any = None,
        weight_decay_excludes: Any = None,
        grad_clipping: Any = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        super().__init__(lr_scheduler, grad_clipping, loss_scale_factor, train_step_lbn, loss_scale_policy, variables)
        self._options = ((beta1, beta2), epsilon, 0.0, do_bias_correction)
        self._decay = _Decay("AdamW", weight_decay, weight_decay_includes, weight_decay_excludes)

    def _made(self, params: list[Any]) -> Step:
        return _Adam(self._decay.groups(params), *self._options)


class RMSProp(Optimizer):
    """Steps divided by the root of a running mean of the gradient's square."""

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        decay_rate: float = 0.99,
        epsilon: float = 1e-8,
        centered: bool = False,
        loss_scale_factor: float | None = None,
        grad_clipping: Any = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Sequence[str] | None = None,
    ) -> None:
        super().__init__(lr_scheduler, grad_clipping, loss_scale_factor, train_step_lbn, loss_scale_policy, variables)
        self._options = (decay_rate, epsilon, centered)

    def _made(self, params: list[Any]) -> Step:
        return _RMSProp(params, *self._options)


class _Decay:
    """A decay of weights, and of which variables: those whose names contain one of some texts, or none of them."""

    def __init__(self, op: str, decay: float | None, includes: Any, excludes: Any) -> None:
        if includes is not None and excludes is not None:
            raise ValueError(f"[{op}] weight_decay_includes and weight_decay_excludes: only one of them may be given")
        self._decay = decay or 0.0
        self._includes = [includes] if isinstance(includes, str) else includes
        self._excludes = [excludes] if isinstance(excludes, str) else excludes

    def groups(self, params: list[Any]) -> list[Any]:
        """Returns the parameters in groups with and without the decay."""
        with_decay: list[Any] = []
        without: list[Any] = []
        for parameter in params[0]["params"]:
            wanted = self._includes is None or any(text in parameter.name for text in self._includes)
            wanted = wanted and not any(text in parameter.name for text in self._excludes or [])
            (with_decay if wanted else without).append(parameter)
        groups = [{"params": with_decay, "weight_decay": self._decay}, {"params": without, "weight_decay": 0.0}]
        return [group for group in groups if group["params"]]

"""Optimizers with OneFlow's parameters, defaults and formulas."""

# The names below are the front's surface: F401 does not see that.
# ruff: noqa: F401

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import optim

from . import lr_scheduler

_Group = dict[str, Any]


class Clipping(optim.Optimizer):
    """Base of optimizers whose groups may have options for the norm of their gradients."""

    def clip_grad(self, error_if_nonfinite: bool = False) -> None:
        """Scales the gradients of each group with ``clip_grad_max_norm``, by its norm of ``clip_grad_norm_type``."""
        for group in self.param_groups:
            if "clip_grad_max_norm" in group:
                lm.nn.utils.clip_grad_norm_(
                    group["params"],
                    float(group["clip_grad_max_norm"]),
                    float(group.get("clip_grad_norm_type", 2.0)),
                    error_if_nonfinite,
                )


class SGD(Clipping, optim.SGD):
    """Steps along the gradient, with a momentum."""

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        contiguous_params: bool = False,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, maximize=maximize)


class Adam(Clipping, optim.Adam):
    """Adam, with or without the correction of the running means' bias."""

    _decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        do_bias_correction: bool = True,
        contiguous_params: bool = False,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, decoupled=self._decoupled)
        for group in self.param_groups:
            group.setdefault("do_bias_correction", do_bias_correction)

    def numbers(self, counts: dict[str, float], group: _Group) -> tuple[float, ...]:
        """Returns the numbers of Adam's formula."""
        if group.get("do_bias_correction", True):
            return super().numbers(counts, group)
        beta1, beta2 = group["betas"]
        return (group["lr"], beta1, 1.0 - beta1, beta2, 1.0 - beta2, 1.0, group["eps"], float(group["amsgrad"]))


class AdamW(Adam):
    """Adam whose decay is of the weights themselves, 0 unless it is given."""

    _decoupled = True


class Adagrad(Clipping, optim.Adagrad):
    """Steps divided by the root of the sum of all squared gradients."""

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(params, lr, lr_decay, weight_decay, initial_accumulator_value, eps)


class Adadelta(Clipping, optim.Adadelta):
    """Steps in proportion to the root of the running mean of squared steps."""

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        maximize: bool = False,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(params, lr, rho, eps, weight_decay, maximize=maximize)


class LBFGS(Clipping, optim.LBFGS):
    """L-BFGS, with a first length of 0.001 unless one is given."""

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(params, lr, max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn)


class RMSprop(Clipping):
    """Steps divided by the root of a running mean of the squared gradient, to which ``eps`` is added in the root.

    With gradient ``g`` and parameter ``p``::

        g = g + weight_decay * p
        r = alpha * r + (1 - alpha) * g * g
        m = alpha * m + (1 - alpha) * g                (centered)
        v = momentum * v + lr * g / sqrt(r - m * m + eps)
        p = p - v
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        contiguous_params: bool = False,
    ) -> None:
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "momentum": momentum, "centered": centered})

    def check(self, group: _Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        optim.optimizer.check_numbers("RMSprop", group, "lr", "eps", "weight_decay", "momentum")
        optim.optimizer.check_number("RMSprop", "alpha", group["alpha"], below=math.nextafter(1.0, 2.0))

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: _Group) -> None:
        """Moves one tensor by the formula above."""
        alpha = group["alpha"]
        if group["weight_decay"]:
            gradient = gradient + parameter * group["weight_decay"]
        square = _mean(state, "square_avg", gradient * gradient, alpha)
        if group["centered"]:
            mean = _mean(state, "grad_avg", gradient, alpha)
            square = square - mean * mean
        change = gradient * group["lr"] / lm.sqrt(square + group["eps"])
        if group["momentum"]:
            held = state.setdefault("momentum_buffer", lm.zeros_like(parameter.detach()))
            change = held.mul_(group["momentum"]).add_(change)
        parameter.sub_(change)


class LAMB(Clipping):
    """Adam whose steps have, for each tensor, a length in proportion to the tensor's norm.

    With the running means ``m`` and ``v`` of the gradient and its square, parameter ``p`` and step ``t`` from 1::

        d = m / (1 - beta1 ** t) / (sqrt(v / (1 - beta2 ** t)) + eps)
        c = norm(p) / norm(d)                          (c = 1 where a norm is 0)
        p = p - lr * c * (d + weight_decay * p)

    Without ``adam_w_mode``, ``weight_decay * p`` is added to the gradient instead.
    """

    needs_whole = True

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        adam_w_mode: bool = True,
        do_bias_correction: bool = True,
        amsgrad: bool = False,
        contiguous_params: bool = False,
    ) -> None:
        if amsgrad:
            raise NotImplementedError("[LAMB] amsgrad: the running mean is taken")
        defaults: _Group = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "adam_w_mode": adam_w_mode, "do_bias_correction": do_bias_correction})

    def check(self, group: _Group) -> None:
        """Raises ``TypeError`` or ``ValueError`` on options that make no sense."""
        optim.optimizer.check_numbers("LAMB", group, "lr", "eps", "weight_decay")
        optim.optimizer.check_betas("LAMB", group["betas"])

    def update(self, parameter: lm.Tensor, gradient: lm.Tensor, state: dict[str, Any], group: _Group) -> None:
        """Moves one tensor by the formula above."""
        (beta1, beta2), decay = group["betas"], group["weight_decay"]
        made = state["step"] = state.get("step", 0) + 1
        if decay and not group["adam_w_mode"]:
            gradient = gradient + parameter * decay
        mean = _mean(state, "exp_avg", gradient, beta1)
        square = _mean(state, "exp_avg_sq", gradient * gradient, beta2)
        if group["do_bias_correction"]:
            mean, square = mean / (1.0 - beta1**made), square / (1.0 - beta2**made)
        change = mean / (lm.sqrt(square) + group["eps"])
        size, length = (lm.sqrt(lm.sum(each * each)) for each in (parameter, change))
        factor = lm.where((size > 0) & (length > 0), size / length, lm.ones_like(size))
        if decay and group["adam_w_mode"]:
            change = change + parameter * decay
        parameter.sub_(change * factor * group["lr"])


def _mean(state: dict[str, Any], key: str, value: lm.Tensor, remains: float) -> lm.Tensor:
    """Moves a running mean that is remembered of a parameter, and returns it."""
    if key not in state:
        state[key] = lm.zeros_like(value)
    mean: lm.Tensor = state[key]
    return mean.mul_(remains).add_(value * (1.0 - remains))

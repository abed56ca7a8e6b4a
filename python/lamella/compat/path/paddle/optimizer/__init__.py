"""Paddle's optimizers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

from . import lr  # noqa: F401
from ._base import Optimizer, decay, given, rate
from ._steps import Adadelta, Adagrad, Adamax, Lamb, NAdam, RAdam, RMSProp, Rprop  # noqa: F401


class SGD(Optimizer, lm.optim.SGD):
    """Gradient descent without momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(given("SGD", parameters), rate(learning_rate), weight_decay=decay(weight_decay))
        self._set(learning_rate, grad_clip)


class Momentum(Optimizer, lm.optim.SGD):
    """Gradient descent with momentum."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        if rescale_grad != 1.0:
            raise NotImplementedError("[Momentum] Lamella's paddle front takes no rescale_grad: scale the loss")
        super().__init__(
            given("Momentum", parameters),
            rate(learning_rate),
            momentum,
            nesterov=use_nesterov,
            weight_decay=decay(weight_decay),
        )
        self._set(learning_rate, grad_clip)


class Adam(Optimizer, lm.optim.Adam):
    """Adam."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            given("Adam", parameters), rate(learning_rate), (beta1, beta2), epsilon, weight_decay=decay(weight_decay)
        )
        self._set(learning_rate, grad_clip)


class AdamW(Optimizer, lm.optim.Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = 0.01,
        lr_ratio: Any = None,
        apply_decay_param_fun: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        if lr_ratio is not None or apply_decay_param_fun is not None:
            raise NotImplementedError("[AdamW] Lamella's paddle front takes no lr_ratio and no apply_decay_param_fun")
        super().__init__(
            given("AdamW", parameters),
            rate(learning_rate),
            (beta1, beta2),
            epsilon,
            decay(weight_decay),
            decoupled=True,
        )
        self._set(learning_rate, grad_clip)


__getattr__ = close_module(__name__)

"""Paddle's optimizers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lamella as lm
from lamella.compat.front import close_module

from .._attributes import attribute
from . import lr  # noqa: F401
from ._base import Optimizer, apart, decay, decoupled, given, number, rate
from ._steps import ASGD, Adadelta, Adagrad, Adamax, Lamb, NAdam, RAdam, RMSProp, Rprop  # noqa: F401


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
        self._set(learning_rate, grad_clip, weight_decay, multi_precision)


class Momentum(Optimizer, lm.optim.SGD):
    """Gradient descent with momentum. ``rescale_grad`` changes nothing, as in Paddle."""

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
        super().__init__(
            given("Momentum", parameters),
            rate(learning_rate),
            momentum,
            nesterov=use_nesterov,
            weight_decay=decay(weight_decay),
        )
        self._set(learning_rate, grad_clip, weight_decay, multi_precision)


class Adam(Optimizer, lm.optim.Adam):
    """Adam."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        options = rate(learning_rate), (number(beta1), number(beta2)), number(epsilon), decay(weight_decay), amsgrad
        super().__init__(given("Adam", parameters), *options)
        self._lazy = lazy_mode
        self._set(learning_rate, grad_clip, weight_decay, multi_precision)

    def _step(self, closure: Any) -> Any:
        """Makes a step; of tables whose gradients are ``sparse``, in ``lazy_mode``, of the rows that were looked up."""
        tables = [p for group in self.param_groups for p in group["params"]] if self._lazy else []
        kept = [(p, *self._rest(p)) for p in tables if p.grad is not None and attribute(p, "sparse_gradient", False)]
        found = super()._step(closure)
        with lm.no_grad():
            for parameter, still, before in kept:
                for key, value in self._moved(parameter).items():
                    value.copy_(lm.where(still, before.get(key, lm.zeros_like(value)), value))
        return found

    def _rest(self, table: Any) -> tuple[lm.Tensor, dict[str, lm.Tensor]]:
        """Returns where the gradient of a table has rows of zeros, and copies of what a step moves."""
        still = lm.logical_not(lm.any(table.grad != 0, axis=tuple(range(1, table.ndim)), keepdims=True))
        return still, {key: value.detach().clone() for key, value in self._moved(table).items()}

    def _moved(self, table: Any) -> dict[str, lm.Tensor]:
        """Returns a table, under "", and what is remembered of each of its elements."""
        state = self.state.get(id(table), {}).items()
        same = {key: v for key, v in state if isinstance(v, lm.Tensor) and tuple(v.shape) == tuple(table.shape)}
        return {"": table, **same}


class AdamW(Optimizer, lm.optim.Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-08,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = 0.01,
        lr_ratio: Any = None,
        apply_decay_param_fun: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        self._ratio, self._decays = lr_ratio, apply_decay_param_fun
        options = rate(learning_rate), (number(beta1), number(beta2)), number(epsilon), decoupled(weight_decay), amsgrad
        super().__init__(self._grouped(parameters), *options, decoupled=True)
        self._set(learning_rate, grad_clip, weight_decay, multi_precision)

    def _grouped(self, parameters: Any) -> Iterable[Any]:
        listed = given("AdamW", parameters)
        return listed if self._ratio is None and self._decays is None else apart(listed, self._own)

    def _own(self, parameter: Any) -> dict[str, Any]:
        """Returns the options of a parameter that differ from its group's."""
        ratio = {} if self._ratio is None else {"_ratio": float(self._ratio(parameter))}
        return ratio if self._decays is None or self._decays(parameter.name) else ratio | {"weight_decay": 0.0}


class LBFGS(Optimizer, lm.optim.LBFGS):
    """Quasi-Newton steps; ``step(closure)`` computes the loss again and again, see :class:`lamella.optim.LBFGS`."""

    def __init__(
        self,
        learning_rate: Any = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-07,
        tolerance_change: float = 1e-09,
        history_size: int = 100,
        line_search_fn: str | None = None,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        if decay(weight_decay) or grad_clip is not None:
            raise NotImplementedError("[LBFGS] weight_decay and grad_clip: add penalties to the loss")
        options = max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn
        super().__init__(given("LBFGS", parameters), rate(learning_rate), *options)
        self._set(learning_rate, None)


__getattr__ = close_module(__name__)

"""Attributes that parameters are made with, and parameters that are made by themselves."""

from __future__ import annotations

import copy
import weakref
from typing import Any

from lamella import static
from lamella.nn import Parameter


class ParamAttr(static.ParamAttr):
    """Name of a parameter, its starting values, whether it is trained, and by which penalty.

    Args:
        name: the parameter's name; a new one by default.
        initializer: overwrites a tensor with starting values.
        learning_rate: a factor of the optimizer's.
        regularizer: ``L1Decay`` or ``L2Decay``, in the place of the optimizer's ``weight_decay``.
        trainable: False for a parameter that keeps its values.
        do_model_average: False for a parameter that ``ExponentialMovingAverage`` leaves out.
        need_clip: False for a parameter whose gradient ``grad_clip`` leaves as it is.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        super().__init__(name, initializer, 1.0, None, trainable, do_model_average, need_clip)
        if regularizer is not None and not callable(regularizer):
            raise TypeError(f"[ParamAttr] regularizer is L1Decay or L2Decay, not {type(regularizer).__name__}")
        self.regularizer = regularizer
        self.learning_rate, self.need_clip = float(learning_rate), need_clip
        self.do_model_average = do_model_average

    def mark(self, parameter: Any) -> None:
        """Gives a parameter what optimizers read of it, where it differs from what is usual."""
        found: dict[str, Any] = {}
        if self.regularizer is not None:
            found["regularizer"] = self.regularizer
        if self.learning_rate != 1.0:
            found["optimize_attr"] = {"learning_rate": self.learning_rate}
        if not self.need_clip:
            found["need_clip"] = False
        if not self.do_model_average:
            found["do_model_average"] = False
        if found:
            give(parameter, **found)


class _OptimizeAttr:
    """The factor of the learning rate of parameters that were given none: a dict of their own, to write into."""

    def __get__(self, parameter: Any, kind: type) -> Any:
        if parameter is None:
            return self
        made: dict[str, float] = {"learning_rate": 1.0}
        parameter.__dict__["optimize_attr"] = made
        return made


for _name, _usual in {
    "optimize_attr": _OptimizeAttr(),
    "regularizer": None,
    "need_clip": True,
    "do_model_average": True,
    "is_distributed": False,
}.items():
    setattr(Parameter, _name, _usual)


def give(parameter: Any, **found: Any) -> None:
    """Gives a parameter what optimizers read of it; tensors that have no attributes are remembered for it."""
    if hasattr(parameter, "__dict__"):
        parameter.__dict__.update(found)
    else:
        key = id(parameter)
        before = _of_plain[key][1] if key in _of_plain else {}
        _of_plain[key] = weakref.ref(parameter, lambda _: _of_plain.pop(key, None)), {**before, **found}


#: What optimizers read of tensors that have no attributes, those of programs, by their ids.
_of_plain: dict[int, tuple[weakref.ref[Any], dict[str, Any]]] = {}


def attribute(parameter: Any, name: str, usual: Any = None) -> Any:
    """Returns what :func:`give` gave a parameter, or its user."""
    if id(parameter) in _of_plain:
        return _of_plain[id(parameter)][1].get(name, usual)
    return getattr(parameter, name, usual)


def create_parameter(
    shape: Any,
    dtype: Any = "float32",
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Any:
    """Returns a new parameter: of the program that is recorded, or by itself.

    See :func:`lamella.static.create_parameter`.
    """
    if not static.in_dynamic_mode():
        return static.create_parameter(shape, dtype, name, attr, is_bias, default_initializer)
    from .nn import Layer

    if name is not None:
        attr = copy.copy(ParamAttr.of("create_parameter", attr))
        attr.name = name
    return Layer("parameter").create_parameter(shape, attr, dtype, is_bias, default_initializer)

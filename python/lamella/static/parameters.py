"""Variables whose values lie in a scope: parameters, and others that a program keeps from run to run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella.graph import Symbol
from lamella.nn import init

from . import unique_name
from .program import Mark, Program, default_startup_program, need_recording
from .spec import checked_dtype, checked_shape

#: Overwrites a tensor with starting values, as the functions of :mod:`lamella.nn.init` do.
Initializer = Callable[[lm.Tensor], Any]


class ParamAttr:
    """Name of a parameter, its starting values, and whether it is trained.

    Args:
        name: the parameter's name; a new one by default.
        initializer: overwrites a tensor with starting values, as :func:`lamella.nn.init.normal_`.
        learning_rate: must be 1: groups of an optimizer set rates of their own.
        regularizer: must be None: optimizers take ``weight_decay``.
        trainable: False for a parameter that keeps its values.
        do_model_average: not used.
        need_clip: not used.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Initializer | None = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"[ParamAttr] name is a str, not {type(name).__name__}")
        if name == "":
            raise ValueError("[ParamAttr] name is empty: leave it out for a new one")
        if initializer is not None and not callable(initializer):
            raise TypeError(f"[ParamAttr] initializer is a function of a tensor, not {type(initializer).__name__}")
        if learning_rate != 1.0:
            raise NotImplementedError("[ParamAttr] learning_rate: put the parameter into a group of the optimizer")
        if regularizer is not None:
            raise NotImplementedError("[ParamAttr] regularizer: give the optimizer a weight_decay")
        self.name = name
        self.initializer = initializer
        self.trainable = trainable

    def mark(self, parameter: lm.Tensor) -> None:
        """Gives the tensor of a parameter what optimizers read of it: nothing more than it has."""

    @staticmethod
    def of(op: str, attr: Any) -> ParamAttr:
        """Returns the attributes that a ParamAttr, a name, an initializer, True or None stand for.

        Raises:
            TypeError: ``attr`` is none of these.
        """
        if attr is None or attr is True:
            return ParamAttr()
        if isinstance(attr, ParamAttr):
            return attr
        if isinstance(attr, str):
            return ParamAttr(name=attr)
        if callable(attr):
            return ParamAttr(initializer=attr)
        raise TypeError(f"[{op}] an attr is a ParamAttr, a name, an initializer or False, not {type(attr).__name__}")


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Returns inputs and outputs of a unit of a weight: ``(in, out)``, or of a kernel ``(out, in, ...)``."""
    if len(shape) < 2:
        return (shape[0] if shape else 1,) * 2
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def xavier_uniform(tensor: lm.Tensor) -> lm.Tensor:
    """Uniform in ``±sqrt(6 / (fan_in + fan_out))`` for a weight of shape ``(in, out)`` (Glorot and Bengio, 2010)."""
    bound = math.sqrt(6.0 / max(sum(fans(tuple(tensor.shape))), 1))
    return init.uniform_(tensor, -bound, bound)


def create_parameter(
    shape: Any,
    dtype: Any = "float32",
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Symbol:
    """Returns a new parameter of the program that is recorded; the start-up program gives it its starting values.

    Args:
        shape: its sizes.
        dtype: its dtype.
        name: its name; that of ``attr`` by default, or a new one.
        attr: a :class:`ParamAttr`, a name, or an initializer.
        is_bias: True starts with zeros, where no initializer is given; Xavier-uniform otherwise.
        default_initializer: used where ``attr`` has none.

    Raises:
        RuntimeError: no program is recorded.
        ValueError: a parameter of that name looks different, or a size is not known.
    """
    program = need_recording("create_parameter")
    options = ParamAttr.of("create_parameter", attr)
    if name is None:
        name = options.name or f"{unique_name.generate('create_parameter')}.{'b' if is_bias else 'w'}_0"
    kind, sizes = checked_dtype("create_parameter", dtype, name), checked_shape("create_parameter", shape, name)
    fill = options.initializer or default_initializer or (init.zeros_ if is_bias else xavier_uniform)
    return _create(program, name, kind, sizes, fill, options.trainable, is_parameter=True, mark=options.mark)


def create_global_var(
    shape: Any, value: float, dtype: Any, persistable: bool = False, force_cpu: bool = False, name: str | None = None
) -> Symbol:
    """Returns a variable that starts with ``value`` everywhere, and that no gradient changes.

    Args:
        shape: its sizes.
        value: what the start-up program sets its elements to.
        dtype: its dtype.
        persistable: not used: the value is always kept.
        force_cpu: not used.
        name: its name; a new one by default.
    """
    program = need_recording("create_global_var")
    name = name or unique_name.generate("global_var")
    kind, sizes = checked_dtype("create_global_var", dtype, name), checked_shape("create_global_var", shape, name)

    def fill(tensor: lm.Tensor) -> None:
        init.constant_(tensor, value)

    return _create(program, name, kind, sizes, fill, False, is_parameter=False)


def layer_parameter(
    op: str, layer: str, suffix: str, shape: tuple[int, ...], dtype: Any, attr: Any, fill: Initializer
) -> Symbol:
    """Returns a parameter of a layer that is called ``layer``: ``fc_0.w_0``."""
    options = ParamAttr.of(op, attr)
    name = options.name or f"{layer}.{suffix}"
    fill, program = options.initializer or fill, need_recording(op)
    return _create(program, name, dtype, shape, fill, options.trainable, is_parameter=True, mark=options.mark)


def layer_statistic(op: str, name: str, shape: tuple[int, ...], dtype: Any, fill: Initializer) -> Symbol:
    """Returns a variable of a layer that is kept and not trained: a running mean."""
    return _create(need_recording(op), name, dtype, shape, fill, False, is_parameter=False)


def _create(
    program: Program,
    name: str,
    dtype: Any,
    shape: tuple[int, ...],
    fill: Initializer,
    trainable: bool,
    *,
    is_parameter: bool,
    mark: Mark | None = None,
) -> Symbol:
    is_new = name not in program.held
    symbol = program.hold(name, dtype, shape, trainable=trainable, is_parameter=is_parameter, mark=mark)
    startup = default_startup_program()
    if is_new and name not in startup.initialized:
        startup.add_initializer(name, dtype, shape, fill, trainable)
    return symbol

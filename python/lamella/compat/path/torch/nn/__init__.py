"""Layers, losses and their starting values."""

from __future__ import annotations

from typing import Any as _Any

import lamella as _lm
from lamella.compat.front import show_all as _show_all
from lamella.compat.tables import torch_nn as _tables

from .. import _words
from . import _arguments, _attention, _layers, _module, _states, attention, functional, grad, init, parallel, utils  # noqa: F401
from ._attention import (  # noqa: F401
    MultiheadAttention,
    Transformer,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from ._module import Module, Parameter, UninitializedBuffer, UninitializedParameter  # noqa: F401
from .parallel import DataParallel  # noqa: F401

#: Modules of PyTorch whose layers may write over their input.
_IN_PLACE = ("activation", "dropout")

_NAMES = _words.Names(
    __name__,
    [
        *(("lamella.nn", _tables.LAYERS[each], _words.LAYERS_IN_PLACE) for each in _IN_PLACE),
        *(("lamella.nn", text, _words.LAYERS) for each, text in _tables.LAYERS.items() if each not in _IN_PLACE),
        ("lamella.nn", "Buffer(data, *, persistent=True)", _words.LAYERS),
    ],
)
__getattr__ = _words.serve(_NAMES)
_NAMES.stand_for_all()
_arguments.rename(_NAMES.native(_name) for _name in _NAMES)
_show_all(__name__, lambda: _NAMES)


class _InCeilMode:
    """Pools of p-norms whose last windows count as whole ones in ``ceil_mode``."""

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns the norms of windows."""
        layer: _Any = self
        made: _lm.Tensor = layer._pool(input, layer.norm_type, layer.kernel_size, layer.stride, layer.ceil_mode)
        return made


class LPPool1d(_InCeilMode, _NAMES.make("LPPool1d")):  # type: ignore[misc]
    """See :class:`lamella.nn.LPPool1d`."""

    _pool = staticmethod(functional.lp_pool1d)


class LPPool2d(_InCeilMode, _NAMES.make("LPPool2d")):  # type: ignore[misc]
    """See :class:`lamella.nn.LPPool2d`."""

    _pool = staticmethod(functional.lp_pool2d)


class LPPool3d(_InCeilMode, _NAMES.make("LPPool3d")):  # type: ignore[misc]
    """See :class:`lamella.nn.LPPool3d`."""

    _pool = staticmethod(functional.lp_pool3d)


class Dropout2d(_NAMES.make("Dropout2d")):  # type: ignore[misc]
    """Drops whole channels in training; see :func:`torch.nn.functional.dropout2d`."""

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns ``input`` with channels dropped, or in evaluation mode ``input`` itself."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class _WithAxis:
    """Softmaxes along an axis that need not be named, see :func:`torch.nn.functional.softmax`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(-1 if dim is None else dim)  # type: ignore[call-arg]
        self.dim = dim

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns a tensor of the shape of ``input``."""
        name = type(self)._function  # type: ignore[attr-defined]
        made: _lm.Tensor = getattr(functional, name)(input, functional.axis_of(name, input, self.dim))
        return made


class Softmax(_WithAxis, _NAMES.make("Softmax")):  # type: ignore[misc]
    """See :class:`lamella.nn.Softmax`."""

    _function = "softmax"


class LogSoftmax(_WithAxis, _NAMES.make("LogSoftmax")):  # type: ignore[misc]
    """See :class:`lamella.nn.LogSoftmax`."""

    _function = "log_softmax"


class Softmin(_WithAxis, _NAMES.make("Softmin")):  # type: ignore[misc]
    """See :class:`lamella.nn.Softmin`."""

    _function = "softmin"


class Threshold(_NAMES.make("Threshold")):  # type: ignore[misc]
    """See :class:`lamella.nn.Threshold`."""

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns a tensor of the shape of ``input``."""
        return functional.threshold(input, self.threshold, self.value, self.inplace)


class _Broadcasting:
    """Losses that broadcast an input and a target of different shapes, and warn."""

    def forward(self, input: _lm.Tensor, target: _lm.Tensor) -> _lm.Tensor:
        """Returns the loss."""
        made: _lm.Tensor = super().forward(*functional.of_one_shape(input, target))  # type: ignore[misc]
        return made


class MSELoss(_Broadcasting, _NAMES.make("MSELoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.MSELoss`."""


class L1Loss(_Broadcasting, _NAMES.make("L1Loss")):  # type: ignore[misc]
    """See :class:`lamella.nn.L1Loss`."""


class SmoothL1Loss(_Broadcasting, _NAMES.make("SmoothL1Loss")):  # type: ignore[misc]
    """See :class:`lamella.nn.SmoothL1Loss`."""


class HuberLoss(_Broadcasting, _NAMES.make("HuberLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.HuberLoss`."""

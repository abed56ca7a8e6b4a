"""Layers, losses and their starting values."""

from __future__ import annotations

import lamella as _lm
from lamella.compat.tables import torch_nn as _tables

from .. import _words
from . import _attention, _module, functional, init, parallel, utils  # noqa: F401
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


class Dropout2d(_NAMES.make("Dropout2d")):  # type: ignore[misc]
    """Drops whole channels in training; see :func:`torch.nn.functional.dropout2d`."""

    def forward(self, x: _lm.Tensor) -> _lm.Tensor:
        """Returns ``x`` with channels dropped, or in evaluation mode ``x`` itself."""
        return functional.dropout2d(x, self.p, self.training, self.inplace)

"""Layers, losses and their starting values."""

from __future__ import annotations

from typing import Any as _Any

import lamella as _lm
from lamella.compat.front import show_all as _show_all
from lamella.compat.tables import torch_nn as _tables

from .. import _words
from . import (  # noqa: F401
    _arguments,
    _attention,
    _layers,
    _lazy_layers,
    _module,
    _parts,
    _states,
    attention,
    functional,
    grad,
    init,
    parallel,
    utils,
)
from ._attention import (  # noqa: F401
    MultiheadAttention,
    Transformer,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from ._collections import Listed as _Listed
from ._collections import Named as _Named
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
        made: _lm.Tensor = getattr(functional, name)(input, self.dim, _stacklevel=4)
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


class _Uncounted:
    """Norms of examples, whose running statistics take the share ``momentum`` of each batch: none where it is None.

    Batches are not counted.
    """

    def _count(self) -> float:
        momentum: float | None = self.momentum  # type: ignore[attr-defined]
        return 0.0 if momentum is None else momentum


class InstanceNorm1d(_Uncounted, _NAMES.make("InstanceNorm1d")):  # type: ignore[misc]
    """See :class:`lamella.nn.InstanceNorm1d`."""


class InstanceNorm2d(_Uncounted, _NAMES.make("InstanceNorm2d")):  # type: ignore[misc]
    """See :class:`lamella.nn.InstanceNorm2d`."""


class InstanceNorm3d(_Uncounted, _NAMES.make("InstanceNorm3d")):  # type: ignore[misc]
    """See :class:`lamella.nn.InstanceNorm3d`."""


class ParameterList(_Listed, _NAMES.make("ParameterList")):  # type: ignore[misc]
    """A list of parameters, and of any other objects."""


class ParameterDict(_Named, _NAMES.make("ParameterDict")):  # type: ignore[misc]
    """A dict of parameters, and of any other objects."""


class _DrawnWindows:
    """Pools whose windows stand where given samples tell, or else at random."""

    def forward(self, input: _lm.Tensor) -> _Any:
        """Returns the largest elements and, with ``return_indices``, where they were found."""
        return super().forward(input, self._random_samples)  # type: ignore[misc, attr-defined]


class FractionalMaxPool2d(_DrawnWindows, _NAMES.make("FractionalMaxPool2d")):  # type: ignore[misc]
    """See :class:`lamella.nn.FractionalMaxPool2d`."""


class FractionalMaxPool3d(_DrawnWindows, _NAMES.make("FractionalMaxPool3d")):  # type: ignore[misc]
    """See :class:`lamella.nn.FractionalMaxPool3d`."""


class AdaptiveLogSoftmaxWithLoss(_NAMES.make("AdaptiveLogSoftmaxWithLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.AdaptiveLogSoftmaxWithLoss`; the vectors of far clusters may be empty."""

    def _size(self, cluster: int) -> int:
        return int(self.in_features // self.div_value ** (cluster + 1))


class PReLU(_NAMES.make("PReLU")):  # type: ignore[misc]
    """See :class:`lamella.nn.PReLU`."""

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns a tensor of the shape of ``input``."""
        return functional.prelu(input, self.weight)


class Upsample(_NAMES.make("Upsample")):  # type: ignore[misc]
    """See :class:`lamella.nn.Upsample`."""

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns ``input`` with other sizes of its last axes."""
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )


class EmbeddingBag(_NAMES.make("EmbeddingBag")):  # type: ignore[misc]
    """See :class:`lamella.nn.EmbeddingBag`."""

    def forward(
        self, input: _lm.Tensor, offsets: _lm.Tensor | None = None, per_sample_weights: _lm.Tensor | None = None
    ) -> _lm.Tensor:
        """Returns the sums, means or maxima of bags."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )


class Hardtanh(_NAMES.make("Hardtanh")):  # type: ignore[misc]
    """See :class:`lamella.nn.Hardtanh`."""

    def forward(self, input: _lm.Tensor) -> _lm.Tensor:
        """Returns a tensor of the shape and dtype of ``input``."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)


class _Step:
    """Cells, which take one example or a batch, and states with as many axes."""

    def forward(self, input: _lm.Tensor, hx: _Any = None) -> _Any:
        """Returns the next state, or for an LSTM the two next ones."""
        states = () if hx is None else hx if isinstance(hx, tuple) else (hx,)
        for what, tensor in (("input", input), *(("a state", state) for state in states)):
            if tensor.ndim not in (1, 2):
                shape = list(tensor.shape)
                raise ValueError(
                    f"[{type(self).__name__}] {what} has one axis, or two for a batch, not the shape {shape}"
                )
        return super().forward(input, hx)  # type: ignore[misc]


class RNNCell(_Step, _NAMES.make("RNNCell")):  # type: ignore[misc]
    """See :class:`lamella.nn.RNNCell`."""


class LSTMCell(_Step, _NAMES.make("LSTMCell")):  # type: ignore[misc]
    """See :class:`lamella.nn.LSTMCell`."""


class GRUCell(_Step, _NAMES.make("GRUCell")):  # type: ignore[misc]
    """See :class:`lamella.nn.GRUCell`."""


class _Computed:
    """Losses that are computed as the function of their name is, of whatever number of tensors."""

    _function: _Any
    #: Attributes that are arguments of the function.
    _options: tuple[str, ...] = ()

    def forward(self, input: _lm.Tensor, target: _lm.Tensor) -> _lm.Tensor:
        """Returns the loss."""
        layer: _Any = self
        options = {name: getattr(layer, name) for name in layer._options}
        made: _lm.Tensor = layer._function(input, target, reduction=layer.reduction, **options)
        return made


class MSELoss(_Computed, _NAMES.make("MSELoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.MSELoss`."""

    _function = staticmethod(functional.mse_loss)


class L1Loss(_Computed, _NAMES.make("L1Loss")):  # type: ignore[misc]
    """See :class:`lamella.nn.L1Loss`."""

    _function = staticmethod(functional.l1_loss)


class SmoothL1Loss(_Computed, _NAMES.make("SmoothL1Loss")):  # type: ignore[misc]
    """See :class:`lamella.nn.SmoothL1Loss`."""

    _function = staticmethod(functional.smooth_l1_loss)
    _options = ("beta",)


class HuberLoss(_Computed, _NAMES.make("HuberLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.HuberLoss`."""

    _function = staticmethod(functional.huber_loss)
    _options = ("delta",)


class BCELoss(_Computed, _NAMES.make("BCELoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.BCELoss`."""

    _function = staticmethod(functional.binary_cross_entropy)
    _options = ("weight",)


class BCEWithLogitsLoss(_Computed, _NAMES.make("BCEWithLogitsLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.BCEWithLogitsLoss`."""

    _function = staticmethod(functional.binary_cross_entropy_with_logits)
    _options = ("weight", "pos_weight")


class KLDivLoss(_Computed, _NAMES.make("KLDivLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.KLDivLoss`."""

    _function = staticmethod(functional.kl_div)
    _options = ("log_target",)


class SoftMarginLoss(_Computed, _NAMES.make("SoftMarginLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.SoftMarginLoss`."""

    _function = staticmethod(functional.soft_margin_loss)


class HingeEmbeddingLoss(_Computed, _NAMES.make("HingeEmbeddingLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.HingeEmbeddingLoss`."""

    _function = staticmethod(functional.hinge_embedding_loss)
    _options = ("margin",)


class CrossEntropyLoss(_Computed, _NAMES.make("CrossEntropyLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.CrossEntropyLoss`."""

    _function = staticmethod(functional.cross_entropy)
    _options = ("weight", "ignore_index", "label_smoothing")


class PoissonNLLLoss(_Computed, _NAMES.make("PoissonNLLLoss")):  # type: ignore[misc]
    """See :class:`lamella.nn.PoissonNLLLoss`."""

    _function = staticmethod(functional.poisson_nll_loss)
    _options = ("log_input", "full", "eps")

    def forward(self, log_input: _lm.Tensor, target: _lm.Tensor) -> _lm.Tensor:
        """Returns the loss."""
        return super().forward(log_input, target)

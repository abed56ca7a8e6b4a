"""Layers of tensors of programs, on the memory of these; layers of old states; attributes by PyTorch's names."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.nn.conv import _ForwardConv, _TransposedConv
from lamella.nn.norm import _BatchNorm

from .._node_names import noting
from ._module import Parameter


def _from_pretrained(cls: Any, embeddings: lm.Tensor, freeze: bool = True, *settings: Any, **named: Any) -> Any:
    """Makes a layer whose table is a tensor, in the memory of which rows are limited and trained.

    Args:
        cls: the class of the layer.
        embeddings: the table, of shape ``(rows, size)``.
        freeze: False lets it be trained.
        settings: arguments of the class behind its sizes.
        named: arguments of the class by their names.

    Raises:
        ValueError: the table has not two axes.
    """
    if embeddings.ndim != 2:
        raise ValueError(f"[{cls.__name__}] a table has two axes, not the shape {list(embeddings.shape)}")
    made = cls(*embeddings.shape, *settings, device="meta", **named)
    made.weight = Parameter(embeddings, requires_grad=not freeze)
    return made


for _kind in (lm.nn.Embedding, lm.nn.EmbeddingBag):
    _any: Any = _kind
    _any.from_pretrained = classmethod(_from_pretrained)

_native_before_load: Any = _BatchNorm._before_own_load


def _before_own_load(self: Any, state: dict[str, Any], prefix: str, *told: Any) -> None:
    """Takes states of before batches were counted, too; others are written with a version."""
    _native_before_load(self, state, prefix, *told)
    old = f"{prefix}running_mean" in state or "version" not in told[0]
    if self.num_batches_tracked is not None and old:
        state.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)


_norms: Any = _BatchNorm
_norms._before_own_load = _before_own_load

_convolutions: Any = _ForwardConv


def _sides(self: Any) -> Any:
    """Returns how much is added before and after each axis, the last axis first."""
    sides = self._sides()
    return sides if isinstance(self.padding, str) else tuple(sides)


_convolutions._reversed_padding_repeated_twice = property(_sides)


def _convert_sync_batchnorm(cls: Any, module: Any, process_group: Any = None) -> Any:
    """Returns a network whose batch norms are over the samples of all processes of a group."""
    return _native_convert(cls, module, process_group)


_native_convert: Any = lm.nn.SyncBatchNorm.convert_sync_batchnorm.__func__  # type: ignore[attr-defined]
_synchronized: Any = lm.nn.SyncBatchNorm
_synchronized.convert_sync_batchnorm = classmethod(_convert_sync_batchnorm)

_clusters: Any = lm.nn.AdaptiveLogSoftmaxWithLoss
_clusters.shortlist_size = property(lambda self: self.cutoffs[0])
_clusters.n_clusters = property(lambda self: len(self.cutoffs) - 1)
_clusters.head_size = property(lambda self: self.cutoffs[0] + len(self.cutoffs) - 1)
_clusters.head_bias = property(lambda self: self.head.bias is not None)

#: PyTorch's names of attributes of layers, by the native ones.
_ATTRIBUTES: dict[str, dict[str, str]] = {
    **{name: {"axis": "dim"} for name in ("Softmax", "LogSoftmax", "Softmin", "GLU", "CosineSimilarity")},
    "Flatten": {"start_axis": "start_dim", "stop_axis": "end_dim"},
    "Unflatten": {"axis": "dim", "sizes": "unflattened_size"},
    "PairwiseDistance": {"keepdims": "keepdim", "p": "norm"},
    "SyncBatchNorm": {"group": "process_group"},
}
#: Attributes that are the same for all objects of a class.
_CONSTANTS: dict[str, dict[str, Any]] = {
    **{f"Conv{n}d": {"transposed": False, "output_padding": (0,) * n} for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": {"transposed": True, "padding_mode": "zeros"} for n in (1, 2, 3)},
    "Embedding": {"sparse": False},
    "EmbeddingBag": {"sparse": False},
    "GRU": {"mode": "GRU"},
    "LSTM": {"mode": "LSTM"},
    "ReLU6": {"min_val": 0.0, "max_val": 6.0},
}


def _alias(name: str) -> property:
    return property(lambda self: getattr(self, name), lambda self, value: setattr(self, name, value))


def _all_names(self: Any) -> list[list[str]]:
    """Returns the names of the parameters of a recurrent layer, those of each layer and direction in a list."""
    parts: dict[str, list[str]] = {}
    for name in self._names:
        parts.setdefault(name[name.rindex("_l") :], []).append(name)
    return list(parts.values())


def _all_weights(self: Any) -> list[list[Any]]:
    """Returns the parameters of a recurrent layer, those of each layer and direction in a list."""
    return [[getattr(self, name) for name in part] for part in self._all_weights]


for _name, _names in _ATTRIBUTES.items():
    for _own, _theirs in _names.items():
        setattr(getattr(lm.nn, _name), _theirs, _alias(_own))
for _name, _values in _CONSTANTS.items():
    for _own, _value in _values.items():
        setattr(getattr(lm.nn, _name), _own, _value)
_transposed: Any = _TransposedConv
_transposed._reversed_padding_repeated_twice = property(lambda self: tuple(n for n in self._pads()[::-1] for _ in "ab"))
_recurrent: Any = lm.nn.RNN
_recurrent.mode = property(lambda self: f"RNN_{self.nonlinearity.upper()}")
for _recurrent in (lm.nn.RNN, lm.nn.LSTM, lm.nn.GRU):
    _recurrent.all_weights = property(_all_weights)
    _recurrent._all_weights = property(_all_names)
    _recurrent._flat_weights_names = property(lambda self: list(self._names))
    _recurrent._flat_weights = property(lambda self: [each for part in self.all_weights for each in part])
for _loss, _function in (
    (lm.nn.CosineEmbeddingLoss, "cosine_embedding_loss"),
    (lm.nn.MarginRankingLoss, "margin_ranking_loss"),
    (lm.nn.TripletMarginLoss, "triplet_margin_loss"),
):
    _layer: Any = _loss
    _layer.forward = noting(_function, _layer.forward)

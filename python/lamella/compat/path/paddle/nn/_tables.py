"""Paddle's layers for sequences."""

from __future__ import annotations

import copy
import math
from typing import Any

import lamella as lm

from .._attributes import ParamAttr
from .._functions import device_name
from . import functional, initializer
from ._base import Layer


class Embedding(Layer):
    """A table of vectors: integers in, their rows out. Row ``padding_idx`` is 0 and stays so."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        sparse: bool = False,
        weight_attr: Any = None,
        name: str | None = None,
        *,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        device: Any = None,
        dtype: Any = None,
        _weight: Any = None,
        _freeze: bool = False,
    ) -> None:
        super().__init__()
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.sparse, self.scale_grad_by_freq = sparse, scale_grad_by_freq
        options = ParamAttr.of("Embedding", weight_attr)
        first = options.initializer or initializer.XavierUniform()

        def fill(tensor: lm.Tensor) -> None:
            first(tensor)
            if padding_idx is not None:
                with lm.no_grad():
                    tensor[padding_idx] = 0

        attr = copy.copy(options)
        attr.initializer = fill
        self.weight = self.create_parameter([num_embeddings, embedding_dim], attr, dtype)
        if _weight is not None:
            with lm.no_grad():
                self.weight.copy_(_weight)
        self.weight.stop_gradient = self.weight.stop_gradient or _freeze
        if device is not None:
            self.to(device_name(device))

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x`` with a last axis of size ``embedding_dim``."""
        options = self.max_norm, self.norm_type, self.sparse, self.scale_grad_by_freq
        return functional.embedding(x, self.weight, self.padding_idx, *options)


class LayerNorm(Layer):
    """Normalizes over the last axes, of sizes ``normalized_shape``."""

    def __init__(
        self,
        normalized_shape: Any,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
        *,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        weight_attr = weight_attr if elementwise_affine else False
        bias_attr = bias_attr if elementwise_affine and bias else False
        self.sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.epsilon = epsilon
        count = [math.prod(self.sizes)]
        self.weight = self.bias = None
        if weight_attr is not False:
            self.weight = self.create_parameter(
                count, weight_attr, dtype, default_initializer=initializer.Constant(1.0)
            )
        if bias_attr is not False:
            self.bias = self.create_parameter(count, bias_attr, dtype, is_bias=True)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        weight = None if self.weight is None else lm.reshape(self.weight, self.sizes)
        bias = None if self.bias is None else lm.reshape(self.bias, self.sizes)
        return lm.layer_norm(x, self.sizes, weight, bias, self.epsilon)

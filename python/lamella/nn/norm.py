"""Layers that bring their input to mean 0 and deviation 1."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import lamella as lm

from . import init
from ._sizes import is_int
from .module import Module
from .parameter import Parameter


def _shape(layer: str, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    given: Any = (normalized_shape,) if is_int(normalized_shape) else normalized_shape
    shape = tuple(given)
    if not shape or any(not is_int(size) or size < 1 for size in shape):
        raise ValueError(f"[{layer}] normalized_shape is one size or several, each at least 1, not {normalized_shape}")
    return tuple(map(int, shape))


class _Affine(Module):
    """Base of norms with a weight of ones and a bias of zeros, or neither."""

    weight: Parameter | None
    bias: Parameter | None

    def _set_parameters(self, shape: tuple[int, ...], weight: bool, bias: bool, device: str | None, dtype: Any) -> None:
        # register_parameter reserves the names also if there is no parameter.
        self.register_parameter("weight", Parameter(lm.ones(shape, dtype=dtype, device=device)) if weight else None)
        self.register_parameter("bias", Parameter(lm.zeros(shape, dtype=dtype, device=device)) if bias else None)

    def reset_parameters(self) -> None:
        """Sets the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Normalizes each example over its last axes, see :func:`lamella.layer_norm`.

    Source: Ba et al. 2016, "Layer normalization".

    Args:
        normalized_shape: the sizes of these axes.
        eps: added to the variance.
        elementwise_affine: False leaves weight and bias out.
        bias: False leaves the bias out.
        device: of the parameters.
        dtype: of the parameters.

    Attributes:
        weight: shape ``normalized_shape``, ones at first, or None.
        bias: shape ``normalized_shape``, zeros at first, or None.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape("LayerNorm", normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._set_parameters(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(_Affine):
    """Divides each example by the root of its mean square over the last axes, see :func:`lamella.rms_norm`.

    Source: Zhang and Sennrich 2019, "Root mean square layer normalization".

    Args:
        normalized_shape: the sizes of these axes.
        eps: added to the mean square; the spacing of the dtype at 1 where it is None.
        elementwise_affine: False leaves the weight out.
        device: of the weight.
        dtype: of the weight.

    Attributes:
        weight: shape ``normalized_shape``, ones at first, or None.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape("RMSNorm", normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._set_parameters(self.normalized_shape, elementwise_affine, False, device, dtype)
        self.reset_parameters()

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``."""
        return lm.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalizes groups of channels of each example, see :func:`lamella.group_norm`.

    Source: Wu and He 2018, "Group normalization".

    Args:
        num_groups: how many groups the channels make; it divides them.
        num_channels: channels of the input.
        eps: added to the variance.
        affine: False leaves weight and bias out.
        device: of the parameters.
        dtype: of the parameters.
        bias: False leaves the bias out.

    Attributes:
        weight: shape ``(num_channels,)``, ones at first, or None.
        bias: shape ``(num_channels,)``, zeros at first, or None.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: str | None = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(
                f"[GroupNorm] num_groups divides num_channels: {num_groups} does not divide {num_channels}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._set_parameters((num_channels,), affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``, which is ``(n, num_channels, ...)``."""
        return lm.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _ChannelNorm(_Affine):
    #: Numbers of axes that the input may have.
    _ndims: ClassVar[tuple[int, ...]]

    def _check_input_dim(self, x: lm.Tensor) -> None:
        if x.ndim not in self._ndims:
            allowed = " or ".join(str(n) for n in self._ndims)
            raise ValueError(f"[{type(self).__name__}] x has {allowed} axes, not the shape {x.shape}")


class _TrackedNorm(_ChannelNorm):
    """Running statistics of the channels, or none."""

    running_mean: lm.Tensor | None
    running_var: lm.Tensor | None
    num_batches_tracked: lm.Tensor | None

    def _set_up(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: str | None,
        dtype: Any,
        bias: bool,
    ) -> None:
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._set_parameters((num_features,), affine, affine and bias, device, dtype)
        tracked = track_running_stats
        shape = (num_features,)
        self.register_buffer("running_mean", lm.zeros(shape, dtype=dtype, device=device) if tracked else None)
        self.register_buffer("running_var", lm.ones(shape, dtype=dtype, device=device) if tracked else None)
        self.register_buffer("num_batches_tracked", lm.zeros((), dtype="int64", device=device) if tracked else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to ones and the bias to zeros, and forgets what the layer has seen."""
        self.reset_running_stats()
        super().reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets what the layer has seen."""
        for buffer, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
            if buffer is not None:
                init.constant_(buffer, value)

    def _count(self) -> float:
        """Counts a batch, in training, and returns its share in the running statistics."""
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            with lm.no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / int(self.num_batches_tracked.item())
        return momentum

    def _uses_input(self) -> bool:
        """True if the statistics are those of the input."""
        return self.training or self.running_mean is None or self.running_var is None

    def _statistics(self) -> tuple[lm.Tensor | None, lm.Tensor | None]:
        """Returns the running statistics that a call reads or writes; none where they are not to follow batches."""
        if self.training and not self.track_running_stats:
            return None, None
        return self.running_mean, self.running_var

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _InstanceNorm(_TrackedNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: str | None = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self._set_up(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _uses_input(self) -> bool:
        return not self.track_running_stats or super()._uses_input()

    def _statistics(self) -> tuple[lm.Tensor | None, lm.Tensor | None]:
        return (self.running_mean, self.running_var) if self.track_running_stats else (None, None)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``, which is ``(n, num_features, *size)``, or of one example."""
        self._check_input_dim(x)
        single = x.ndim == self._ndims[0]
        mean, variance = self._statistics()
        y = lm.instance_norm(
            lm.expand_dims(x) if single else x,
            self.weight,
            self.bias,
            self.eps,
            running_mean=mean,
            running_var=variance,
            use_input_stats=self._uses_input(),
            momentum=self._count(),
        )
        return lm.squeeze(y, 0) if single else y


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each example, see :func:`lamella.instance_norm`.

    Source: Ulyanov et al. 2016, "Instance normalization".

    Args:
        num_features: channels of the input.
        eps: added to the variance.
        momentum: the share of a new batch in the running statistics; None takes the plain mean of all batches.
        affine: True for a weight and a bias.
        track_running_stats: True keeps running statistics of the channels, and normalizes by them in evaluation.
        device: of parameters and statistics.
        dtype: of parameters and statistics.
        bias: False leaves the bias out.

    Attributes:
        weight: shape ``(num_features,)``, ones at first, or None.
        bias: shape ``(num_features,)``, zeros at first, or None.
        running_mean: the mean in evaluation, or None.
        running_var: the variance in evaluation, or None.
        num_batches_tracked: how many batches the statistics are of, or None.
    """

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each image, see :class:`InstanceNorm1d`."""

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each volume, see :class:`InstanceNorm1d`."""

    _ndims = (4, 5)


class _BatchNorm(_TrackedNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: str | None = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self._set_up(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``, which is ``(n, num_features, *size)``."""
        self._check_input_dim(x)
        momentum = self._count()
        return lm.batch_norm(
            x,
            *self._statistics(),
            self.weight,
            self.bias,
            self._uses_input(),
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel over the batch, see :func:`lamella.batch_norm`.

    Source: Ioffe and Szegedy 2015, "Batch normalization".

    Args:
        num_features: channels of the input.
        eps: added to the variance.
        momentum: the share of a new batch in the running statistics; None takes the plain mean of all batches.
        affine: False leaves weight and bias out.
        track_running_stats: False keeps no running statistics, and normalizes by those of the batch in evaluation, too.
        device: of parameters and statistics.
        dtype: of parameters and statistics.
        bias: False leaves the bias out.

    Attributes:
        weight: shape ``(num_features,)``, ones at first, or None.
        bias: shape ``(num_features,)``, zeros at first, or None.
        running_mean: the mean in evaluation, or None.
        running_var: the variance in evaluation, or None.
        num_batches_tracked: how many batches the statistics are of, or None.
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel of images over the batch, see :class:`BatchNorm1d`."""

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel of volumes over the batch, see :class:`BatchNorm1d`."""

    _ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    """:class:`BatchNorm1d` over the samples of all processes, for inputs of any number of axes from two on.

    In training, the statistics are those of the batches of all processes of a group together, see
    :mod:`lamella.distributed`; every process calls the layer. Without a group it is batch norm.

    Attributes:
        group: the processes, or their group's name; None, at first, is the default group where there is one.
    """

    group: Any = None

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``, which is ``(n, num_features, *size)``."""
        if not self.training or (self.group is None and not lm._C._distributed_has_default()):
            return super().forward(x)
        from ..distributed._batch_norm import batch_norm_over
        from ..distributed._groups import group_of

        group = group_of(self.group)
        if group.size == 1:
            return super().forward(x)
        self._check_input_dim(x)
        return batch_norm_over(x, *self._statistics(), self.weight, self.bias, self._count(), self.eps, group)

    def _check_input_dim(self, x: lm.Tensor) -> None:
        if x.ndim < 2:
            raise ValueError(f"[SyncBatchNorm] x has at least 2 axes, not the shape {x.shape}")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, group: Any = None) -> Module:
        """Returns ``module`` with each batch norm in it, or itself, replaced by one that shares its tensors.

        Args:
            module: a model.
            group: the processes, or their group's name; None is the default group where there is one.
        """
        converted: Module = module
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            converted = cls.__new__(cls)
            converted.__dict__.update(copy.copy(module).__dict__)
            converted.group = group
        for name, child in module._modules.items():
            if child is not None:
                converted._modules[name] = cls.convert_sync_batchnorm(child, group)
        return converted


class LocalResponseNorm(Module):
    """Divides each channel by what its neighbors have, see :func:`lamella.local_response_norm`.

    Source: Krizhevsky et al. 2012, "ImageNet classification with deep convolutional neural networks".
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns a tensor of the shape of ``x``, which is ``(n, channels, ...)``."""
        return lm.local_response_norm(x, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"

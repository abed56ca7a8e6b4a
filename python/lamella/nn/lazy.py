"""Layers whose number of inputs the first input tells.

Until its first call such a layer has no parameters; then it becomes the layer that its name ends in, of the same
settings. Moving it, copying it, pickling it and loading a state into it is possible before. Asking it for its
parameters is an error until then: an optimizer made of them would train nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import lamella as lm

from . import conv, layers, norm
from .conv import Size
from .module import Module


class _Lazy(Module):
    _lazy = True
    #: The class that the layer becomes.
    _layer: ClassVar[type[Module]]
    #: Numbers of axes of an input whose features are on axis 1, or None where they are on the last one.
    _batched: ClassVar[int | None] = None

    def _wait(self, device: str | None, dtype: Any, **settings: Any) -> None:
        Module.__init__(self)
        self._settings = settings
        # Device and dtype of what is made later: moving the module moves this tensor, too.
        self.register_buffer("_place", lm.empty((0,), device=device, dtype=dtype), persistent=False)

    def forward(self, x: lm.Tensor, *args: Any, **kwargs: Any) -> Any:
        """Makes the parameters for inputs such as ``x``, and returns what the layer then makes of ``x``."""
        if self._batched is None:
            if x.ndim < 1:
                raise ValueError(f"[{type(self).__name__}] x has at least one axis, not the shape ()")
            self._make(x.shape[-1])
        else:
            ndims = getattr(self, "_ndims", (self._batched - 1, self._batched))
            if x.ndim not in ndims:
                allowed = " or ".join(map(str, ndims))
                raise ValueError(f"[{type(self).__name__}] x has {allowed} axes, not the shape {x.shape}")
            self._make(x.shape[self._features(x)])
        return self.forward(x, *args, **kwargs)

    def _features(self, x: lm.Tensor) -> int:
        """Returns the axis of the features."""
        return 1 if x.ndim == self._batched else 0

    def _make(self, size: int) -> None:
        """Becomes the layer for inputs of a size."""
        place = self._place
        make: Any = self._layer
        made: Module = make(size, **self._settings, device=str(place.device), dtype=place.dtype)
        made.train(self.training)
        del self._settings
        # Hooks, and what programs have set, stay.
        self.__dict__.update(made.__dict__)
        self.__class__ = self._layer  # type: ignore[assignment]

    def _size_in(self, state: dict[str, Any], prefix: str) -> int | None:
        """Returns the size of the inputs of the layer that a state is of, or None where that is not told."""
        weight = state.get(f"{prefix}weight")
        return None if weight is None else int(weight.shape[1])

    def _before_own_load(
        self, state: dict[str, Any], prefix: str, metadata: Mapping[str, Any], strict: bool, *lists: list[str]
    ) -> None:
        """Becomes the layer that a state is of."""
        size = self._size_in(state, prefix)
        if size is None:
            if self._settings.get("affine", True) or self._settings["track_running_stats"]:
                lists[0].append(f"{prefix}weight")
            super()._before_own_load(state, prefix, metadata, strict, *lists)
        else:
            self._make(size)
            self._before_own_load(state, prefix, metadata, strict, *lists)

    def extra_repr(self) -> str:
        """Returns the layer's settings, to be printed."""
        return ", ".join(f"{name}={value!r}" for name, value in self._settings.items())


class LazyLinear(_Lazy, layers.Linear):
    """:class:`Linear` whose ``in_features`` is the last size of its first input.

    Args:
        out_features: size of the last axis of the result.
        bias: False leaves the bias out.
        device: of the parameters.
        dtype: of the parameters.
    """

    _layer = layers.Linear

    def __init__(self, out_features: int, bias: bool = True, device: str | None = None, dtype: Any = None) -> None:
        layers._sizes("LazyLinear", out_features=out_features)
        self._wait(device, dtype, out_features=out_features, bias=bias)


class _LazyConv(_Lazy):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        conv.check_strides(type(self).__name__, padding, stride)
        self._wait(
            device,
            dtype,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
        )

    def _size_in(self, state: dict[str, Any], prefix: str) -> int | None:
        size = super()._size_in(state, prefix)
        return None if size is None else size * int(self._settings["groups"])


class LazyConv1d(_LazyConv, conv.Conv1d):
    """:class:`Conv1d` whose ``in_channels`` are those of its first input; the other arguments are the same."""

    _layer = conv.Conv1d
    _batched = 3


class LazyConv2d(_LazyConv, conv.Conv2d):
    """:class:`Conv2d` whose ``in_channels`` are those of its first input; the other arguments are the same."""

    _layer = conv.Conv2d
    _batched = 4


class LazyConv3d(_LazyConv, conv.Conv3d):
    """:class:`Conv3d` whose ``in_channels`` are those of its first input; the other arguments are the same."""

    _layer = conv.Conv3d
    _batched = 5


class _LazyTransposed(_Lazy):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        device: str | None = None,
        dtype: Any = None,
    ) -> None:
        self._wait(
            device,
            dtype,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
            dilation=dilation,
        )

    def _size_in(self, state: dict[str, Any], prefix: str) -> int | None:
        weight = state.get(f"{prefix}weight")
        return None if weight is None else int(weight.shape[0])


class LazyConvTranspose1d(_LazyTransposed, conv.ConvTranspose1d):
    """:class:`ConvTranspose1d` whose ``in_channels`` are those of its first input; the other arguments are the same."""

    _layer = conv.ConvTranspose1d
    _batched = 3


class LazyConvTranspose2d(_LazyTransposed, conv.ConvTranspose2d):
    """:class:`ConvTranspose2d` whose ``in_channels`` are those of its first input; the other arguments are the same."""

    _layer = conv.ConvTranspose2d
    _batched = 4


class LazyConvTranspose3d(_LazyTransposed, conv.ConvTranspose3d):
    """:class:`ConvTranspose3d` whose ``in_channels`` are those of its first input; the other arguments are the same."""

    _layer = conv.ConvTranspose3d
    _batched = 5


class _LazyNorm(_Lazy):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: str | None = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        settings = {
            "eps": eps,
            "momentum": momentum,
            "affine": affine,
            "track_running_stats": track_running_stats,
            "bias": bias,
        }
        self._wait(device, dtype, **settings)

    def _size_in(self, state: dict[str, Any], prefix: str) -> int | None:
        for name in ("weight", "running_mean"):
            if (found := state.get(prefix + name)) is not None:
                return int(found.shape[0])
        return None


class _LazyBatchNorm(_LazyNorm):
    def _features(self, x: lm.Tensor) -> int:
        return 1


class LazyBatchNorm1d(_LazyBatchNorm, norm.BatchNorm1d):
    """:class:`BatchNorm1d` whose ``num_features`` are those of its first input; the other arguments are the same."""

    _layer = norm.BatchNorm1d
    _batched = 3


class LazyBatchNorm2d(_LazyBatchNorm, norm.BatchNorm2d):
    """:class:`BatchNorm2d` whose ``num_features`` are those of its first input; the other arguments are the same."""

    _layer = norm.BatchNorm2d
    _batched = 4


class LazyBatchNorm3d(_LazyBatchNorm, norm.BatchNorm3d):
    """:class:`BatchNorm3d` whose ``num_features`` are those of its first input; the other arguments are the same."""

    _layer = norm.BatchNorm3d
    _batched = 5


class LazyInstanceNorm1d(_LazyNorm, norm.InstanceNorm1d):
    """:class:`InstanceNorm1d` whose ``num_features`` are those of its first input, with parameters and statistics."""

    _layer = norm.InstanceNorm1d
    _batched = 3


class LazyInstanceNorm2d(_LazyNorm, norm.InstanceNorm2d):
    """:class:`InstanceNorm2d` whose ``num_features`` are those of its first input, with parameters and statistics."""

    _layer = norm.InstanceNorm2d
    _batched = 4


class LazyInstanceNorm3d(_LazyNorm, norm.InstanceNorm3d):
    """:class:`InstanceNorm3d` whose ``num_features`` are those of its first input, with parameters and statistics."""

    _layer = norm.InstanceNorm3d
    _batched = 5

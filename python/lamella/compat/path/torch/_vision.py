"""The operators that torchvision's compiled part registers, of :mod:`lamella.compat.regions`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.compat import regions
from lamella.library import Library


def _with_empty(pool: Any) -> Any:
    """Returns a pooling function that also returns where it read, which nothing here needs."""

    def call(x: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
        return pool(x, *args), lm.zeros((0,), dtype=lm.int32, device=x.device)

    return call


def _deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *numbers: Any) -> Tensor:
    stride, padding, dilation = (tuple(numbers[k : k + 2]) for k in (0, 2, 4))
    return regions.deform_conv2d(input, weight, offset, mask if numbers[-1] else None, bias, stride, padding, dilation)


_REGIONS = "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width"
_PAIRS = ", ".join(f"int {name}_{axis}" for name in ("stride", "pad", "dilation") for axis in "hw")
#: Forms and functions of the operators.
_OPERATORS = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": regions.nms,
    f"roi_align({_REGIONS}, int sampling_ratio, bool aligned) -> Tensor": regions.roi_align,
    f"ps_roi_align({_REGIONS}, int sampling_ratio) -> (Tensor, Tensor)": _with_empty(regions.ps_roi_align),
    f"ps_roi_pool({_REGIONS}) -> (Tensor, Tensor)": _with_empty(regions.ps_roi_pool),
    f"roi_pool({_REGIONS}) -> (Tensor, Tensor)": _with_empty(regions.roi_pool),
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    f"{_PAIRS}, int groups, int offset_groups, bool use_mask) -> Tensor": _deform_conv2d,
}


def stands_for(path: str) -> bool:
    """True of the path of torchvision's compiled part."""
    place = Path(path)
    return place.parent.name == "torchvision" and place.name.startswith("_C")


@functools.cache
def register() -> None:
    """Registers the operators in the namespace ``torchvision``."""
    library = Library("torchvision", "DEF")
    for schema, function in _OPERATORS.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], function, "CompositeImplicitAutograd")
    _kept.append(library)


_kept: list[Library] = []


class _Namespace:
    """``torch.ops.torchvision``: the operators here, and names of those that nothing here calls, such as gradients."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(lm.ops.torchvision, name)
        except AttributeError:
            from ._ops import OpOverloadPacket

            return OpOverloadPacket(name)

    def _cuda_version(self) -> int:
        """Returns -1: nothing was built for CUDA."""
        return -1


namespace = _Namespace()

"""Layers whose number of inputs the first input tells, with parameters that have no shape until then.

A program may give these to an optimizer: they stay the objects that they are when the first call makes them whole.
"""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.nn import Module
from lamella.nn.lazy import _Lazy

from ._module import UninitializedBuffer, UninitializedParameter, is_lazy

_layers: Any = _Lazy
_native_wait: Any = _Lazy._wait
_native_make: Any = _Lazy._make


def _wait(self: Any, device: Any, dtype: Any, **settings: Any) -> None:
    """Notes the settings, and makes parameters and buffers without a shape."""
    _native_wait(self, device, dtype, **settings)
    place = {"device": str(self._place.device), "dtype": self._place.dtype}
    affine = settings.get("affine", True)
    for name, wanted in (("weight", affine), ("bias", affine and settings.get("bias", True))):
        self._parameters[name] = UninitializedParameter(**place) if wanted else None
    if "track_running_stats" in settings:
        tracked = settings["track_running_stats"]
        for name in ("running_mean", "running_var"):
            self._buffers[name] = UninitializedBuffer(**place) if tracked else None
        count = lm.zeros((), dtype="int64", device=place["device"]) if tracked else None
        self._buffers["num_batches_tracked"] = count


def _make(self: Any, size: int) -> None:
    """Becomes the layer for inputs of a size; the parameters stay the objects that they are."""
    waiting = dict(self._parameters)
    _native_make(self, size)
    for name, parameter in waiting.items():
        made = self._parameters.get(name)
        if made is not None and is_lazy(parameter):
            parameter._become(made)
            self._parameters[name] = parameter


def _before_own_load(self: Any, state: dict[str, Any], prefix: str, *told: Any) -> None:
    """Becomes the layer that a state is of, unless that is of a layer which waits for its first input, too."""
    places = (*self._parameters, *self._buffers)
    waits = any(list(getattr(state.get(prefix + name), "shape", ())) == [0] for name in places)
    size = None if waits else self._size_in(state, prefix)
    if size is None:
        Module._before_own_load(self, state, prefix, *told)
    else:
        self._make(size)
        self._before_own_load(state, prefix, *told)


def _has_uninitialized_params(self: Any) -> bool:
    """True, as the layer was not called yet."""
    return any(is_lazy(each) for each in (*self._parameters.values(), *self._buffers.values()))


_layers._lazy = False  # it has parameters to be listed
_layers._wait = _wait
_layers._make = _make
_layers._before_own_load = _before_own_load
_layers.has_uninitialized_params = _has_uninitialized_params
_layers.cls_to_become = property(lambda self: self._layer)

"""Layers in a row, and layers in a list."""

from __future__ import annotations

from typing import Any

import lamella as lm

from ._base import Layer


class Sequential(Layer, lm.nn.Sequential):
    """Runs its layers one after the other."""

    def __init__(self, *layers: Any) -> None:
        Layer.__init__(self)
        for index, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, (tuple, list)) else (str(index), layer)
            self.add_module(name, layer)

    def __getitem__(self, index: Any) -> Any:
        return self._modules[index] if isinstance(index, str) else super().__getitem__(index)


class LayerList(Layer, lm.nn.ModuleList):
    """A list of layers."""

    def __init__(self, sublayers: Any = None) -> None:
        Layer.__init__(self)
        for layer in sublayers or ():
            self.append(layer)

    def insert(self, index: int, sublayer: Any) -> None:  # type: ignore[override]
        """Puts a layer before place ``index``."""
        super().insert(index, sublayer)

"""A layer on several devices, of which there is one."""

from __future__ import annotations

from typing import Any

from .nn import Layer


class DataParallel(Layer):
    """A layer that calls another one, whose state it has."""

    def __init__(self, layers: Layer, *args: Any, **options: Any) -> None:
        super().__init__()
        self._layers = layers

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Returns what the layer does."""
        return self._layers(*inputs, **named)

    def state_dict(self, *args: Any, **options: Any) -> Any:
        """Returns the layer's state, by the names that it has there."""
        return self._layers.state_dict(*args, **options)

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> Any:
        """Loads a state of the layer."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    def scale_loss(self, loss: Any) -> Any:
        """Returns the loss itself."""
        return loss

    def apply_collective_grads(self) -> None:
        """Does nothing: gradients are those of one device."""

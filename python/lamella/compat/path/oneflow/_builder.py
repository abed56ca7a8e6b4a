"""Uses of operators, on the device of the placement that they stand in."""

from __future__ import annotations

from lamella.user_op import UserOp, UserOpBuilder

from . import scope


class _PlacedBuilder(UserOpBuilder):
    """Moves the inputs to the device of the innermost ``scope.placement``."""

    def Build(self) -> UserOp:  # noqa: N802 (the dialect's name)
        """Returns the use that was described."""
        device = scope.current_device()
        if device is not None:
            for name, tensors in self._inputs.items():
                self._inputs[name] = [x.to_device(device) for x in tensors]
        return super().Build()


def user_op_builder(name: str) -> UserOpBuilder:
    """Starts the description of a use of an operator; see :func:`lamella.user_op.user_op_builder`."""
    return _PlacedBuilder(name)

"""Functions of random variables under Paddle's names, over :mod:`lamella.distributions`."""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella import distributions as _native


class Transform(_native.Transform):
    """The base of functions of random variables.

    A class of one's own defines ``_forward``, and of the others those that are asked for: ``_inverse`` and
    ``_forward_log_det_jacobian`` of a point, the latter by its argument.
    """

    def __call__(self, x: Any) -> Any:
        """Returns the function's values; of a distribution that of the values, of a function the one after this."""
        if isinstance(x, Transform):
            return ChainTransform([self, x])
        of_values = getattr(x, "_transformed", None)
        return super().__call__(x) if of_values is None else of_values(self)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the function's values."""
        made: lm.Tensor = self(x)
        return made

    def inverse(self, y: lm.Tensor) -> lm.Tensor:
        """Returns the points whose values are ``y``."""
        return self.inv(y)

    def forward_log_det_jacobian(self, x: lm.Tensor) -> lm.Tensor:
        """Returns the logarithm of the determinant's magnitude of the derivatives at ``x``."""
        return self.log_abs_det_jacobian(x, self(x))

    def inverse_log_det_jacobian(self, y: lm.Tensor) -> lm.Tensor:
        """Returns that of the derivatives of the inverse at ``y``."""
        return -self.log_abs_det_jacobian(self.inv(y), y)

    def _call(self, x: lm.Tensor) -> lm.Tensor:
        own: Any = self
        made: lm.Tensor = own._forward(x)
        return made

    def log_abs_det_jacobian(self, x: lm.Tensor, y: lm.Tensor) -> lm.Tensor:
        """Returns the logarithm of the determinant's magnitude of the derivatives at ``x``, whose value is ``y``."""
        own: Any = self
        made: lm.Tensor = own._forward_log_det_jacobian(x)
        return made


def _of(name: str, native: type) -> Any:
    return type(name, (native, Transform), {"__doc__": native.__doc__, "__module__": "paddle.distribution"})


class AbsTransform(_native.AbsTransform, Transform):
    """The magnitude, which two points have."""

    def inverse(self, y: lm.Tensor) -> Any:
        """Returns both points whose magnitude is ``y``."""
        return -y, y

    def inverse_log_det_jacobian(self, y: lm.Tensor) -> Any:
        """Returns the 0 of both points."""
        zero = lm.zeros((), dtype=y.dtype, device=y.device)
        return zero, zero

    def forward_log_det_jacobian(self, x: lm.Tensor) -> lm.Tensor:
        """Raises NotImplementedError, as the magnitude of two points is one value."""
        raise NotImplementedError("[AbsTransform] has no forward_log_det_jacobian: two points have one magnitude")


AffineTransform = _of("AffineTransform", _native.AffineTransform)
ChainTransform = _of("ChainTransform", _native.ComposeTransform)
ExpTransform = _of("ExpTransform", _native.ExpTransform)
IndependentTransform = _of("IndependentTransform", _native.IndependentTransform)
PowerTransform = _of("PowerTransform", _native.PowerTransform)
ReshapeTransform = _of("ReshapeTransform", _native.ReshapeTransform)
SigmoidTransform = _of("SigmoidTransform", _native.SigmoidTransform)
SoftmaxTransform = _of("SoftmaxTransform", _native.SoftmaxTransform)
StackTransform = _of("StackTransform", _native.StackTransform)
StickBreakingTransform = _of("StickBreakingTransform", _native.StickBreakingTransform)
TanhTransform = _of("TanhTransform", _native.TanhTransform)

"""Functions of which PyTorch does not know a derivative: a gradient that would need it is an error, not a zero.

Natively their results are constants to the tape. A program of PyTorch that reaches one in a backward pass is told so,
and so is one here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor
from lamella.autograd import forward_ad

#: Places of the arguments without a derivative, by the name of the function.
PLACES: dict[str, tuple[int, ...]] = {
    "gammainc": (0,),
    "gammaincc": (0,),
    "geqrf": (0,),
    "igamma": (0,),
    "igammac": (0,),
    "ldl_factor": (0,),
    "ldl_factor_ex": (0,),
    "nextafter": (0, 1),
    "unique": (0,),
}


class _Refusal(lm.PyLayer):
    """Hands a result on; its derivative with respect to the tensors beside it is not there."""

    @staticmethod
    def forward(ctx: Any, name: str, result: Tensor, *inputs: Tensor) -> Tensor:
        ctx.name = name
        ctx.set_materialize_grads(False)
        return result.clone()

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        if any(ctx.needs_input_grad[2:]):
            raise NotImplementedError(f"[{ctx.name}] the derivative of '{ctx.name}' is not implemented")
        return None, dy, *[None] * (len(ctx.needs_input_grad) - 2)

    @staticmethod
    def jvp(ctx: Any, name: None, tangent: Any, *tangents: Any) -> Any:
        if any(each is not None for each in tangents):
            raise NotImplementedError(f"[{ctx.name}] forward mode does not know the derivative of '{ctx.name}'")
        return tangent


def refusing(name: str, native: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose floating results refuse derivatives with respect to the arguments in :data:`PLACES`."""

    def guarded(result: Any, given: list[Tensor]) -> Any:
        if isinstance(result, tuple):
            parts = [guarded(each, given) for each in result]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        if not isinstance(result, Tensor) or not lm.isdtype(result.dtype, ("real floating", "complex floating")):
            return result
        return _Refusal.apply(name, result, *given)

    @functools.wraps(native)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = native(*args, **kwargs)
        if kwargs.get("out") is not None:
            return result
        values = [*(args[place] for place in PLACES[name] if place < len(args)), *kwargs.values()]
        given = [x for x in values if isinstance(x, Tensor) and _is_followed(x)]
        return guarded(result, given) if given else result

    return call


def _is_followed(x: Tensor) -> bool:
    """True if a derivative with respect to a tensor may be asked for."""
    return (x.requires_grad and lm.is_grad_enabled()) or forward_ad.unpack_dual(x).tangent is not None

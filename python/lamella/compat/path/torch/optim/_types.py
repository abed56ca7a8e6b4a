"""Names of PyTorch's module of optimizers for annotations and signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from lamella import Tensor, no_grad

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
_params_t = params_t = ParamsT


class _Required:
    """Stands for a default where an option must be given."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a ``step`` that records nothing."""
    return no_grad()(func)


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Returns that a step is to go tensor by tensor."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Returns the devices on which steps may keep their counts in tensors."""
    return ["cuda"]


def _get_value(x: Any) -> Any:
    """Returns the number in a tensor, or the number itself."""
    return x.item() if isinstance(x, Tensor) else x

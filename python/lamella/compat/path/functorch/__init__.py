"""The older package of ``torch.func``: the same transforms, and modules as functions of their parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch  # type: ignore[import-not-found]
from torch import Tensor, nn  # type: ignore[import-not-found]
from torch.func import (  # type: ignore[import-not-found]
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

from lamella.autograd import functional_call

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]

__version__ = torch.__version__


class FunctionalModuleWithBuffers:
    """A module as a function ``(parameters, buffers, *args, **kwargs)``.

    Args:
        model: the module, of which a copy gives the function its code.
    """

    def __init__(self, model: nn.Module) -> None:
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())
        self.stateless_model = copy.deepcopy(model)

    def __call__(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Calls the module with these parameters and buffers, in the order of its own."""
        names = self.param_names + self.buffer_names
        state = dict(zip(names, (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function ``(parameters, *args, **kwargs)``."""

    def __call__(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Calls the module with these parameters, in the order of its own."""
        return super().__call__(params, (), *args, **kwargs)


def _own(tensors: Any, off: bool) -> tuple[Tensor, ...]:
    """Returns a module's tensors as leaves of their own; with ``off``, ones that want no gradient."""
    return tuple(x.detach().clone().requires_grad_(x.requires_grad and not off) for x in tensors)


def make_functional(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Returns a module as a function of its parameters, and copies of these.

    Args:
        model: a module without buffers.
        disable_autograd_tracking: the copies want no gradient.

    Raises:
        RuntimeError: the module has buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError("[make_functional] the model has buffers: use make_functional_with_buffers")
    return FunctionalModule(model), _own(model.parameters(), disable_autograd_tracking)


def make_functional_with_buffers(
    model: nn.Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Returns a module as a function of its parameters and buffers, and copies of both.

    Args:
        model: the module.
        disable_autograd_tracking: the copies want no gradient.
    """
    params = _own(model.parameters(), disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model), params, _own(model.buffers(), disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[nn.Module],
) -> tuple[Callable[..., Any], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Returns models of one type as one function, with their parameters and buffers stacked along a first axis.

    Raises:
        RuntimeError: there are no models, they are of several types, or some are in training and some are not.
    """
    params, buffers = stack_module_state(list(models))
    return FunctionalModuleWithBuffers(models[0]), tuple(params.values()), tuple(buffers.values())

"""Methods and attributes of tensors that OneFlow's have beside PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found]
from torch._printing import options  # type: ignore[import-not-found]

import lamella as lm
from lamella import Tensor
from lamella.compat.dtype_texts import show_dtypes
from lamella.compat.methods import of_two_meanings

_to_global: Any = Tensor.to_global
_torch_numpy: Any = Tensor.numpy
_torch_copy: Any = Tensor.copy_


def to_global(
    self: Tensor,
    placement: Any = None,
    sbp: Any = None,
    *,
    grad_sbp: Any = None,
    check_meta: bool = True,
    copy: bool = False,
) -> Tensor:
    """Makes a global tensor of what each process has, or brings a global one to other signatures.

    Raises:
        NotImplementedError: ``grad_sbp`` is given: gradients are where they were computed.
    """
    if grad_sbp:
        raise NotImplementedError("[to_global] grad_sbp: call to_global() of the gradient")
    made: Tensor = _to_global(self, placement, sbp)
    return made.clone() if copy else made


def numpy(self: Tensor, dtype: Any = None) -> Any:
    """Returns the values as an array, also of a tensor that wants a gradient."""
    values = _torch_numpy(self.detach())
    return values if dtype is None else values.astype(dtype)


def copy_(self: Tensor, other: Any) -> Tensor:
    """Writes over the elements those of a tensor, an array or a number."""
    made: Tensor = _torch_copy(self, lm.asarray(other) if isinstance(other, np.ndarray) else other)
    return made


def _of_package(name: str) -> Any:
    """Returns a method that is the function of the package with this name."""

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(__package__), name)(self, *args, **kwargs)

    return call


for _name, _method in {
    "to_global": to_global,
    "numpy": numpy,
    "copy_": copy_,
    **{name: _of_package(name) for name in ("masked_fill", "masked_select", "norm", "unique", "where")},
}.items():
    setattr(Tensor, _name, of_two_meanings(_name, _method, getattr(Tensor, _name)))

_new: dict[str, Any] = {
    "is_global": property(lambda self: False, doc="True if the tensor lies over several processes."),
    "is_local": property(lambda self: not self.is_global, doc="True if the tensor is the process's own."),
    "is_lazy": property(lambda self: False, doc="False: there are values."),
    "local_to_global": to_global,
    "global_to_global": to_global,
}
for _name, _value in _new.items():
    setattr(Tensor, _name, _value)
show_dtypes("oneflow")
torch.Size.__module__ = options.front = "oneflow"  # by which sizes and tensors are printed

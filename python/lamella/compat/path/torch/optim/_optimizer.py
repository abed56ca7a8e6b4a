"""What PyTorch's optimizers take beside Lamella's: options of a group that no optimizer knows, gradients of zeros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lamella as lm
from lamella.optim import Optimizer

_native_add: Any = Optimizer.add_param_group


def _add_param_group(self: Optimizer, param_group: Mapping[str, Any]) -> None:
    """Adds a group; options that the optimizer does not know, such as a name, are kept with it."""
    group = dict(param_group)
    if "params" in group and not isinstance(group["params"], lm.Tensor):
        group["params"] = list(group["params"])
    unknown = {name: group.pop(name) for name in set(group) - set(self.defaults) - {"params"}}
    _native_add(self, group)
    self.param_groups[-1].update(unknown)


def _zero_grad(self: Optimizer, set_to_none: bool = True) -> None:
    """Drops the gradients of all tensors, or makes them zeros."""
    with lm.no_grad():
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.zero_()


optimizer: Any = Optimizer
optimizer.add_param_group = _add_param_group
optimizer.zero_grad = _zero_grad

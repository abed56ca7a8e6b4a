"""Weights that are computed before each call of a layer, under the names that PyTorch's older functions give them.

``weight_norm`` keeps ``weight_g`` and ``weight_v``, ``spectral_norm`` ``weight_orig``, ``weight_u`` and ``weight_v``,
``prune`` ``weight_orig`` and ``weight_mask``. Sources: Salimans and Kingma 2016, "Weight normalization"; Miyato et al.
2018, "Spectral normalization for generative adversarial networks".
"""

from __future__ import annotations

from typing import Any

import lamella as lm
from lamella.nn import Module, Parameter

#: Attribute of a module with the hooks that compute others.
COMPUTED = "_computed_before_calls"


class Computed:
    """A hook in front of a layer's call that computes one of its attributes.

    Args:
        name: the attribute, a parameter before.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._tensor_name = name  # programs find a hook by it

    def attach(self, module: Module) -> None:
        """Puts the value in the parameter's place, and computes it anew before each call."""
        self.refresh(module)
        module.register_forward_pre_hook(self)
        module.__dict__.setdefault(COMPUTED, []).append(self)

    def __call__(self, module: Module, arguments: Any) -> None:
        """Computes the value; the arguments of the call stay."""
        self.refresh(module)

    def refresh(self, module: Module) -> None:
        """Sets the attribute, which is no parameter any longer."""
        module.__dict__[self.name] = self.compute(module)

    def compute(self, module: Any) -> lm.Tensor:
        """Returns the value of the attribute."""
        raise NotImplementedError

    def withdraw(self, module: Module) -> None:
        """Computes the value before calls no longer; it stays."""
        table: Any = module._hook_table or {}
        for key, entry in list(table.get("forward_pre", {}).items()):
            if entry.hook is self:
                module._drop_hook("forward_pre", key)
        hooks = module.__dict__[COMPUTED]
        hooks[:] = [hook for hook in hooks if hook is not self]

    def detach(self, module: Module, value: lm.Tensor, parts: tuple[str, ...]) -> None:
        """Makes the attribute a parameter again, and drops what it was computed from."""
        self.withdraw(module)
        del module.__dict__[self.name]
        for part in parts:
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(value))


def _get_state(self: Module) -> dict[str, Any]:
    """Returns the attributes without those that are computed, whose graphs cannot be copied or pickled."""
    computed = {hook.name for hook in self.__dict__.get(COMPUTED, ())}
    return {name: value for name, value in self.__dict__.items() if name not in computed}


def _set_state(self: Module, state: dict[str, Any]) -> None:
    """Takes attributes over, and computes the others of them."""
    self.__dict__.update(state)
    for hook in self.__dict__.get(COMPUTED, ()):
        hook.refresh(self)


_modules: Any = Module
_modules.__getstate__ = _get_state
_modules.__setstate__ = _set_state


def find(module: Module, name: str, kind: type[Computed]) -> Any:
    """Returns the hook of a kind that computes an attribute of a module, or None."""
    hooks = module.__dict__.get(COMPUTED, ())
    return next((hook for hook in hooks if hook.name == name and isinstance(hook, kind)), None)


def _taken(function: str, module: Module, name: str, kind: type[Computed]) -> Parameter:
    """Takes a parameter away from a module."""
    if find(module, name, kind) is not None:
        raise RuntimeError(f"[{function}] '{name}' of {type(module).__name__} is computed by it already")
    parameter = module._parameters.get(name)
    if parameter is None:
        raise ValueError(f"[{function}] {type(module).__name__} has no parameter '{name}'")
    delattr(module, name)
    return parameter


class WeightNorm(Computed):
    """``weight_v`` scaled to the norms ``weight_g``."""

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def norm(self, v: lm.Tensor) -> lm.Tensor:
        """Returns the norms of the slices of ``v`` along the axis, or that of all elements."""
        if self.dim is None:
            return lm.linalg.vector_norm(v)
        axes = tuple(axis for axis in range(v.ndim) if axis != self.dim % v.ndim)
        return lm.linalg.vector_norm(v, axis=axes, keepdims=True)

    def compute(self, module: Any) -> lm.Tensor:
        """Returns ``g * v / |v|``."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / self.norm(v))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a parameter into its norms, ``name_g``, and its directions, ``name_v``.

    Args:
        module: the layer, which is changed and returned.
        name: its parameter.
        dim: the axis along which each slice has a norm of its own; None for one norm.

    Raises:
        ValueError: there is no such parameter.
        RuntimeError: it is split already.
    """
    weight = _taken("weight_norm", module, name, WeightNorm)
    hook = WeightNorm(name, None if dim == -1 else dim)
    module.register_parameter(f"{name}_g", Parameter(hook.norm(weight.detach())))
    module.register_parameter(f"{name}_v", Parameter(weight))
    hook.attach(module)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Makes a parameter that :func:`weight_norm` has split whole again; ValueError where it is not split."""
    hook = find(module, name, WeightNorm)
    if hook is None:
        raise ValueError(f"[remove_weight_norm] '{name}' of {type(module).__name__} has no weight norm")
    hook.detach(module, hook.compute(module).detach(), ("g", "v"))
    return module


class SpectralNorm(Computed):
    """``weight_orig`` divided by its largest singular value, which a power iteration finds."""

    def __init__(self, name: str, dim: int, steps: int, eps: float) -> None:
        super().__init__(name)
        self.dim, self.steps, self.eps = dim, steps, eps

    def matrix(self, weight: lm.Tensor) -> lm.Tensor:
        """Returns the weight as a matrix whose rows lie along the axis."""
        return lm.reshape(lm.moveaxis(weight, self.dim, 0), (weight.shape[self.dim], -1))

    def compute(self, module: Any) -> lm.Tensor:
        """Returns the divided weight; in training, the vectors move first."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.matrix(weight)
        if module.training:
            with lm.no_grad():
                for _ in range(self.steps):
                    v.copy_(self._unit(lm.linalg.matmul(u, matrix)))
                    u.copy_(self._unit(lm.linalg.matmul(matrix, v)))
            u, v = u.clone(), v.clone()
        return weight / lm.linalg.vecdot(u, lm.linalg.matmul(matrix, v))

    def _unit(self, x: lm.Tensor) -> lm.Tensor:
        return x / lm.maximum(lm.linalg.vector_norm(x), self.eps)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a parameter by its largest singular value at each call.

    Args:
        module: the layer, which is changed and returned.
        name: its parameter.
        n_power_iterations: steps of the power iteration at a call in training.
        eps: the least norm that a vector is divided by.
        dim: the axis of the matrix's rows: 1 for transposed convolutions, else 0, where it is None.

    Raises:
        ValueError: there is no such parameter, or the number of steps is none.
        RuntimeError: it is divided already.
    """
    if n_power_iterations < 1:
        raise ValueError(f"[spectral_norm] n_power_iterations is at least 1, not {n_power_iterations}")
    weight = _taken("spectral_norm", module, name, SpectralNorm)
    if dim is None:
        transposed = (lm.nn.ConvTranspose1d, lm.nn.ConvTranspose2d, lm.nn.ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    hook = SpectralNorm(name, dim, n_power_iterations, eps)
    module.register_parameter(f"{name}_orig", weight)
    for part, size in zip("uv", hook.matrix(weight.detach()).shape, strict=True):
        drawn = lm.randn((size,), dtype=weight.dtype, device=str(weight.device))
        module.register_buffer(f"{name}_{part}", hook._unit(drawn))
    hook.attach(module)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Makes a parameter that :func:`spectral_norm` divides plain again; ValueError where it does not."""
    hook = find(module, name, SpectralNorm)
    if hook is None:
        raise ValueError(f"[remove_spectral_norm] '{name}' of {type(module).__name__} has no spectral norm")
    hook.detach(module, module.__dict__[name].detach(), ("orig", "u", "v"))
    return module

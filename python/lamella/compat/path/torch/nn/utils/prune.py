"""Weights set to zero and kept there: methods make masks, ``weight_orig`` times ``weight_mask`` is the weight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import lamella as lm
from lamella.nn import Module, Parameter
from lamella.nn.utils import prune as native

from ._reweighted import COMPUTED, Computed, find


class _Masked(Computed):
    def compute(self, module: Any) -> lm.Tensor:
        """Returns the parameter where the mask keeps it, and 0 elsewhere."""
        return getattr(module, f"{self.name}_orig") * getattr(module, f"{self.name}_mask")


def _mask_of(module: Module, name: str) -> lm.Tensor:
    """Returns the mask of a parameter, ones where it is not pruned yet."""
    if find(module, name, _Masked) is not None:
        mask: lm.Tensor = getattr(module, f"{name}_mask")
        return mask
    if module._parameters.get(name) is None:
        raise AttributeError(f"[prune] {type(module).__name__} has no parameter '{name}'")
    return lm.ones_like(getattr(module, name).detach())


def _set_mask(module: Module, name: str, mask: lm.Tensor, method: BasePruningMethod) -> BasePruningMethod:
    """Prunes a parameter by the mask of a method; returns the hook, which holds all methods where there are several."""
    method.name = method._tensor_name = name  # methods of programs need not call our __init__
    hook = find(module, name, _Masked)
    if hook is None:
        parameter: Any = module._parameters[name]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", parameter)
        module.register_buffer(f"{name}_mask", mask.astype(parameter.dtype))
        method.attach(module)
        return method
    setattr(module, f"{name}_mask", mask.astype(_mask_of(module, name).dtype))
    if isinstance(hook, PruningContainer):
        hook.add_pruning_method(method)
        hook.refresh(module)
        return hook
    container = PruningContainer(hook, method)
    hook.withdraw(module)
    container.attach(module)
    return container


class BasePruningMethod(_Masked):
    """Base of methods: one defines ``compute_mask(t, default_mask)``, and the kind of what it takes away.

    Attributes:
        PRUNING_TYPE: "unstructured" methods see the elements that are left, "structured" and "global" ones all.
    """

    PRUNING_TYPE = "global"

    def __init__(self) -> None:
        """Makes a method of no parameter yet."""

    def apply_mask(self, module: Module) -> lm.Tensor:
        """Returns the pruned parameter."""
        return self.compute(module)

    def compute_mask(self, t: lm.Tensor, default_mask: lm.Tensor) -> lm.Tensor:
        """Returns a mask of the shape of ``t``, 0 where it is pruned."""
        raise NotImplementedError(f"[{type(self).__name__}] the method defines no compute_mask")

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: lm.Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter by a method that is made with the arguments, and returns the hook."""
        method = cls(*args, **kwargs)
        mask = _mask_of(module, name)
        with lm.no_grad():
            values = getattr(module, name).detach() if importance_scores is None else importance_scores
            kept = _within(method, values, mask)
        return _set_mask(module, name, kept, method)  # the weight is on the tape from now on

    def prune(
        self, t: lm.Tensor, default_mask: lm.Tensor | None = None, importance_scores: lm.Tensor | None = None
    ) -> lm.Tensor:
        """Returns a tensor with 0 where the method takes elements away, by their scores where these are given."""
        mask = lm.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Makes the parameter that the method prunes a plain one."""
        remove(module, self._tensor_name)


def _within(method: BasePruningMethod, values: lm.Tensor, mask: lm.Tensor) -> lm.Tensor:
    """Returns the mask that a method finds within another one."""
    if method.PRUNING_TYPE != "unstructured":
        return method.compute_mask(values, default_mask=mask) * mask
    left = mask != 0
    found = method.compute_mask(values[left], mask[left]).astype(mask.dtype)
    return lm.masked_scatter(mask, left, found) * mask


class PruningContainer(BasePruningMethod):
    """The methods that prune one parameter, in their order."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Adds a method; None adds none.

        Raises:
            TypeError: it is no method.
            ValueError: it prunes another parameter.
        """
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"[PruningContainer] expected a BasePruningMethod, got {type(method).__name__}")
        name = getattr(method, "_tensor_name", None)
        if self._pruning_methods and name != self._tensor_name:
            raise ValueError(f"[PruningContainer] the methods prune '{self._tensor_name}', not '{name}'")
        if name is not None:
            self.name = self._tensor_name = name
        self._pruning_methods += (method,)

    def compute_mask(self, t: lm.Tensor, default_mask: lm.Tensor) -> lm.Tensor:
        """Returns the mask of the last method within the one that there is."""
        return _within(self._pruning_methods[-1], t, default_mask)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, place: int) -> BasePruningMethod:
        return self._pruning_methods[place]


class _Native(BasePruningMethod):
    """A method that is Lamella's."""

    _function: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.arguments, self.options = args, kwargs

    def compute_mask(self, t: lm.Tensor, default_mask: lm.Tensor) -> lm.Tensor:
        """Returns the mask that Lamella's function finds within the mask that there is."""
        scratch = Module()
        scratch.register_parameter("weight", Parameter(t))
        native.custom_from_mask(scratch, "weight", default_mask)
        type(self)._function(scratch, "weight", *self.arguments, **self.options)
        return native.mask_of(scratch, "weight")


class Identity(_Native):
    """Prunes nothing, but makes the mask."""

    _function = native.identity


class RandomUnstructured(_Native):
    """Prunes elements at random: ``amount`` of them, or a share."""

    _function = native.random_unstructured


class L1Unstructured(_Native):
    """Prunes the smallest elements: ``amount`` of them, or a share."""

    _function = native.l1_unstructured


class RandomStructured(_Native):
    """Prunes slices along an axis at random."""

    _function = native.random_structured

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount, dim)


class LnStructured(_Native):
    """Prunes the slices along an axis with the smallest norms."""

    _function = native.ln_structured

    def __init__(self, amount: float, n: float, dim: int = -1) -> None:
        super().__init__(amount, n, dim)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of the program's own."""

    def __init__(self, mask: lm.Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: lm.Tensor, default_mask: lm.Tensor) -> lm.Tensor:
        """Returns the mask within the one that there is."""
        return default_mask * self.mask.astype(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Gives a parameter a mask that keeps every element."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: lm.Tensor | None = None) -> Module:
    """Prunes the smallest elements, or those with the smallest scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes slices along an axis at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: float, dim: int, importance_scores: lm.Tensor | None = None
) -> Module:
    """Prunes the slices along an axis with the smallest norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: lm.Tensor) -> Module:
    """Prunes where a mask is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], lm.Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters together by one method, which sees all of their elements in a row."""
    listed = list(parameters)
    scores = importance_scores or {}
    masks = [_mask_of(module, name) for module, name in listed]
    values = [scores.get(each, getattr(*each)).detach() for each in listed]
    flat = [lm.concat([lm.reshape(x, (-1,)) for x in part]) for part in (values, masks)]
    scratch = Module()
    scratch.register_parameter("all", Parameter(flat[0]))
    CustomFromMask.apply(scratch, "all", flat[1])
    pruning_method.apply(scratch, "all", importance_scores=flat[0], **kwargs)
    kept, start = _mask_of(scratch, "all"), 0
    for (module, name), mask in zip(listed, masks, strict=True):
        CustomFromMask.apply(module, name, lm.reshape(kept[start : start + mask.size], tuple(mask.shape)))
        start += mask.size


def remove(module: Module, name: str) -> Module:
    """Makes a pruned parameter a plain one, in which the pruned elements are 0.

    Raises:
        ValueError: it is not pruned.
    """
    hook = find(module, name, _Masked)
    if hook is None:
        raise ValueError(f"[remove] '{name}' of {type(module).__name__} is not pruned")
    value, parameter = hook.compute(module).detach(), getattr(module, f"{name}_orig")
    hook.detach(module, value, ("orig", "mask"))
    with lm.no_grad():
        parameter.copy_(value)
    module._parameters[name] = parameter  # the tensor that an optimizer knows
    return module


def is_pruned(module: Module) -> bool:
    """True if a parameter of the module, or of one below it, is pruned."""
    hooks = (hook for each in module.modules() for hook in each.__dict__.get(COMPUTED, ()))
    return any(isinstance(hook, _Masked) for hook in hooks)

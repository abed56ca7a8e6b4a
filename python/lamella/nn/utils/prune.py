"""Weights some elements of which are kept at 0.

A pruned weight is the product of ``parametrizations.weight.original``, which is trained, and of a mask, a buffer. A
weight that is pruned again loses a share of what is left of it.

Source: Han et al. 2015, "Learning both weights and connections for efficient neural networks".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import lamella as lm

from ..module import Module
from . import parametrize


class _Mask(Module):
    #: Suffixes of the parameter's name under which PyTorch saves what is here called otherwise.
    suffixes: ClassVar[dict[str, str]] = {"original": "_orig", "0.mask": "_mask"}

    def __init__(self, mask: lm.Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: lm.Tensor) -> lm.Tensor:
        return x * self.mask

    def right_inverse(self, value: lm.Tensor) -> lm.Tensor:
        return value


def custom_from_mask(module: Module, name: str, mask: lm.Tensor) -> Module:
    """Prunes a parameter where a mask is 0.

    Args:
        module: the module.
        name: its parameter.
        mask: numbers or bools of the parameter's shape: 0 where it is to be 0.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such parameter, or the mask has another shape.
    """
    weight = _weight("custom_from_mask", module, name)
    if not isinstance(mask, lm.Tensor) or mask.shape != weight.shape:
        got = list(mask.shape) if isinstance(mask, lm.Tensor) else type(mask).__name__
        raise ValueError(f"[custom_from_mask] the mask has the parameter's shape {list(weight.shape)}, got {got}")
    return _prune(module, name, mask != 0)


def identity(module: Module, name: str) -> Module:
    """Gives a parameter a mask that keeps every element."""
    weight = _weight("identity", module, name)
    return _prune(module, name, lm.ones(weight.shape, dtype="bool", device=weight.device))


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: lm.Tensor | None = None) -> Module:
    """Prunes the elements of a parameter that are smallest.

    Args:
        module: the module.
        name: its parameter.
        amount: how many: an int, or the share of those that are left, a float between 0 and 1.
        importance_scores: numbers of the parameter's shape, whose magnitudes count in the place of its own.

    Returns:
        The module.

    Raises:
        ValueError: the module has no such parameter, the scores have another shape, or ``amount`` is no share and no
            number of elements.
    """
    op = "l1_unstructured"
    weight = _weight(op, module, name)
    return _prune(module, name, _kept(op, _scores(op, weight, importance_scores), mask_of(module, name), amount))


def random_unstructured(module: Module, name: str, amount: float, *, generator: lm.Generator | None = None) -> Module:
    """Prunes elements of a parameter at random; arguments as for :func:`l1_unstructured`."""
    op = "random_unstructured"
    weight = _weight(op, module, name)
    scores = lm.rand(weight.shape, device=weight.device, generator=generator)
    return _prune(module, name, _kept(op, scores, mask_of(module, name), amount))


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: float,
    axis: int,
    importance_scores: lm.Tensor | None = None,
) -> Module:
    """Prunes the slices of a parameter along an axis that have the smallest norms, channels say.

    Args:
        module: the module.
        name: its parameter.
        amount: how many slices: an int, or the share of those that are left, a float between 0 and 1.
        n: the norm's exponent.
        axis: the axis along which slices lie.
        importance_scores: numbers of the parameter's shape, whose norms count in the place of its own.

    Returns:
        The module.

    Raises:
        ValueError, IndexError: as for :func:`l1_unstructured`, or there is no such axis.
    """
    op = "ln_structured"
    weight = _weight(op, module, name)
    scores = _scores(op, weight, importance_scores) * mask_of(module, name)
    others = _other_axes(op, weight, axis)
    norms = lm.linalg.vector_norm(scores, axis=others, keepdims=True, ord=n)
    return _prune_slices(op, module, name, norms, others, amount)


def random_structured(
    module: Module, name: str, amount: float, axis: int, *, generator: lm.Generator | None = None
) -> Module:
    """Prunes slices of a parameter at random; arguments as for :func:`ln_structured`."""
    op = "random_structured"
    weight = _weight(op, module, name)
    others = _other_axes(op, weight, axis)
    shape = [1 if i in others else size for i, size in enumerate(weight.shape)]
    scores = lm.rand(shape, device=weight.device, generator=generator)
    return _prune_slices(op, module, name, scores, others, amount)


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    method: Callable[..., Module] = l1_unstructured,
    *,
    amount: float,
    generator: lm.Generator | None = None,
) -> None:
    """Prunes several parameters together: where they hold the smallest elements of all, they lose most.

    Args:
        parameters: modules and names of their parameters.
        method: :func:`l1_unstructured` or :func:`random_unstructured`.
        amount: how many elements of all together, or the share of those that are left.
        generator: where random numbers come from.

    Raises:
        ValueError: as for these functions, or for another method.
    """
    op = "global_unstructured"
    listed = list(parameters)
    weights = [_weight(op, module, name) for module, name in listed]
    if method is l1_unstructured:
        each = [_scores(op, weight, None) for weight in weights]
    elif method is random_unstructured:
        each = [lm.rand(weight.shape, device=weight.device, generator=generator) for weight in weights]
    else:
        raise ValueError(f"[{op}] method is l1_unstructured or random_unstructured, not {method!r}")
    masks = [mask_of(module, name) for module, name in listed]
    kept = _kept(op, _joined(each), _joined(masks), amount)
    start = 0
    for (module, name), weight in zip(listed, weights, strict=True):
        _prune(module, name, lm.reshape(kept[start : start + weight.size], weight.shape))
        start += weight.size


def remove(module: Module, name: str) -> Module:
    """Makes a pruned parameter a plain one, in which the pruned elements are 0.

    Raises:
        ValueError: the parameter is not pruned, or has another parametrization, too.
    """
    entry = _entry(module, name)
    if _mask_in(entry) is None:
        raise ValueError(f"[remove] '{name}' of {type(module).__name__} is not pruned")
    if len(entry) != 1:
        raise ValueError(f"[remove] '{name}' of {type(module).__name__} has other parametrizations beside the mask")
    return parametrize.remove_parametrizations(module, name)


def is_pruned(module: Module) -> bool:
    """Returns True if a parameter of the module, or of one below it, is pruned."""
    return any(isinstance(each, _Mask) for each in module.modules())


def mask_of(module: Module, name: str) -> lm.Tensor:
    """Returns the mask of a parameter, bools that are true where it is kept; all are where it is not pruned."""
    mask = _mask_in(_entry(module, name))
    if mask is not None:
        kept: lm.Tensor = mask.mask
        return kept
    weight = _weight("mask_of", module, name)
    return lm.ones(weight.shape, dtype="bool", device=weight.device)


def _entry(module: Module, name: str) -> Any:
    if not parametrize.is_parametrized(module, name):
        return None
    return module._modules["parametrizations"]._modules[name]  # type: ignore[union-attr]


def _mask_in(entry: Any) -> Any:
    return next((each for each in entry or () if isinstance(each, _Mask)), None)


def _prune(module: Module, name: str, kept: lm.Tensor) -> Module:
    before = _mask_in(_entry(module, name))
    if before is None:
        return parametrize.register_parametrization(module, name, _Mask(kept))
    before.mask = before.mask & kept
    return module


def _prune_slices(
    op: str, module: Module, name: str, scores: lm.Tensor, others: Sequence[int], amount: float
) -> Module:
    left = lm.any(mask_of(module, name), axis=list(others), keepdims=True)
    kept = _kept(op, scores, left, amount)
    return _prune(module, name, lm.clone(lm.broadcast_to(kept, mask_of(module, name).shape)))


def _weight(op: str, module: Module, name: str) -> lm.Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, lm.Tensor):
        raise ValueError(f"[{op}] {type(module).__name__} has no parameter '{name}'")
    return found.detach()


def _scores(op: str, weight: lm.Tensor, given: lm.Tensor | None) -> lm.Tensor:
    if given is not None and given.shape != weight.shape:
        raise ValueError(
            f"[{op}] importance_scores have the parameter's shape {list(weight.shape)}, got {list(given.shape)}"
        )
    return lm.abs(weight if given is None else given.detach())


def _other_axes(op: str, weight: lm.Tensor, axis: int) -> list[int]:
    if not -weight.ndim <= axis < weight.ndim:
        raise IndexError(f"[{op}] axis {axis} is none of a parameter with {weight.ndim} axes")
    return [i for i in range(weight.ndim) if i != axis % weight.ndim]


def _joined(tensors: Sequence[lm.Tensor]) -> lm.Tensor:
    return lm.concat([lm.reshape(x, (-1,)) for x in tensors])


def _kept(op: str, scores: lm.Tensor, mask: lm.Tensor, amount: float) -> lm.Tensor:
    """Returns the mask without the elements whose scores are smallest among those that it keeps."""
    left = int(lm.count_nonzero(mask).item())
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not amount >= 0:
        raise ValueError(f"[{op}] amount is a number of elements or a share between 0 and 1, not {amount!r}")
    count = amount if isinstance(amount, int) else round(amount * left)
    if (isinstance(amount, float) and amount > 1) or count > left:
        raise ValueError(f"[{op}] amount is a share of, or a number up to, the {left} that are left, not {amount}")
    order = lm.argsort(lm.reshape(lm.where(mask, scores, float("inf")), (-1,)))
    ranks = lm.reshape(lm.argsort(order), mask.shape)
    return mask & (ranks >= count)

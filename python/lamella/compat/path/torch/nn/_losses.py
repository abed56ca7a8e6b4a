"""Losses with PyTorch's rules: which targets they refuse, whose dtype their results have, what they broadcast."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import lamella as lm
from lamella import Tensor

from .._node_names import note
from .._warnings import warn
from .._words import of_old_words

Loss = Callable[..., Tensor]


def of_one_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what a loss compares, broadcast where the shapes differ; a warning says so, as that is seldom meant."""
    if input.shape == target.shape:
        return input, target
    warn(
        f"a loss compares an input of the shape {list(input.shape)} with a target of the shape {list(target.shape)}, "
        "which are broadcast"
    )
    return broadcast(input, target)


def broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Returns both in their common shape."""
    if input.shape == target.shape:
        return input, target
    first, second = lm.broadcast_arrays(input, target)
    return first, second


def _given_in_one_shape(rule: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Callable[[str, Loss], Loss]:
    def make(name: str, native: Loss) -> Loss:
        @functools.wraps(native)
        def loss(input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            if isinstance(input, Tensor) and isinstance(target, Tensor):
                input, target = rule(input, target)
            return native(input, target, *args, **kwargs)

        return loss

    return make


def _weighted(name: str, native: Loss) -> Loss:
    """Makes a loss of tensors that are broadcast, with a warning, and of a weight for each element."""
    broadcasting = _given_in_one_shape(of_one_shape)(name, native)

    @functools.wraps(native)
    def loss(input: Tensor, target: Tensor, *args: Any, weight: Tensor | None = None, **kwargs: Any) -> Tensor:
        if weight is None:
            return broadcasting(input, target, *args, **kwargs)
        if weight.shape != input.shape:
            shapes = f"{list(weight.shape)}, expected that of input, {list(input.shape)}"
            raise ValueError(f"[{name}] weight has the shape {shapes}")
        given = inspect.signature(native).bind(input, target, *args, **kwargs).arguments
        average, reduce = given.get("size_average"), given.get("reduce")
        named = average is None and reduce is None
        reduction = given.get("reduction", "mean") if named else of_old_words(average, reduce)
        options = {word: given[word] for word in ("delta",) if word in given}
        terms = broadcasting(input, target, reduction="none", **options) * weight
        if reduction == "mean":
            # The mean is one of the elements to Huber's loss, to the others one of the weights.
            return lm.mean(terms) if name == "huber_loss" else lm.sum(terms) / lm.sum(weight)
        return lm.sum(terms) if reduction == "sum" else terms

    return loss


def _check_dtypes(name: str, input: Tensor, target: Tensor) -> None:
    """Refuses a target of another dtype than the input's; where autocast is on, it casts both."""
    if input.dtype != target.dtype and not lm.is_autocast_enabled():
        raise RuntimeError(
            f"[{name}] target has the dtype {target.dtype.name}, expected {input.dtype.name}, which input has: cast it"
        )


def _check_same_shape(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"[{name}] target has the shape {list(target.shape)}, expected that of input, {list(input.shape)}"
        )


def _binary(name: str, native: Loss) -> Loss:
    """Makes a loss of probabilities, whose targets are such, too."""

    @functools.wraps(native)
    def loss(input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(input, Tensor) and isinstance(target, Tensor):
            _check_same_shape(name, input, target)
            _check_dtypes(name, input, target)
            if not _are_probabilities(target):
                raise RuntimeError(f"[{name}] all elements of target must lie in [0, 1]")
        return native(input, target, *args, **kwargs)

    return loss


def _are_probabilities(x: Tensor) -> bool:
    """True if the elements lie between 0 and 1, or are not to be read: on a device, in a graph, mapped over."""
    if not str(x.device).startswith("cpu") or lm.graph.is_recording():
        return True
    with lm.no_grad():
        inside = lm.all((x >= 0) & (x <= 1))
    try:
        return bool(inside)
    except RuntimeError:  # vmap has one for each example
        return True


def _binary_of_logits(name: str, native: Loss) -> Loss:
    """Makes a loss of logits, whose results have the dtype of the target."""

    @functools.wraps(native)
    def loss(input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
            return native(input, target, *args, **kwargs)
        _check_same_shape(name, input, target)
        if target.dtype == lm.bool:
            raise NotImplementedError(f"[{name}] target has the dtype bool, expected a floating one: cast it")
        if not lm.isdtype(target.dtype, "real floating"):
            raise RuntimeError(f"[{name}] target has the dtype {target.dtype.name}, expected a floating one: cast it")
        made = native(input, target, *args, **kwargs)
        return made if lm.is_autocast_enabled() else made.astype(target.dtype)

    return loss


def _soft_margin(name: str, native: Loss) -> Loss:
    """Makes a loss that has the input's dtype, and whose targets are constants."""

    @functools.wraps(native)
    def loss(input: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
            return native(input, target, *args, **kwargs)
        if target.requires_grad and lm.is_grad_enabled():
            raise RuntimeError(f"[{name}] has no derivative with respect to target, which requires one: detach it")
        made = native(input, target, *args, **kwargs)
        return made if lm.is_autocast_enabled() else made.astype(input.dtype)

    return loss


def _divergence(name: str, native: Loss) -> Loss:
    broadcasting = _given_in_one_shape(broadcast)(name, native)

    @functools.wraps(native)
    def loss(
        input: Tensor,
        target: Tensor,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        *args: Any,
        **kwargs: Any,
    ) -> Tensor:
        if reduction == "mean" and size_average is None and reduce is None:
            warn(f"[{name}] reduction='mean' divides by the number of elements: a divergence takes 'batchmean'")
        if isinstance(target, Tensor) and not lm.isdtype(target.dtype, "real floating"):
            raise RuntimeError(f"[{name}] target has the dtype {target.dtype.name}, expected a floating one: cast it")
        return broadcasting(input, target, size_average, reduce, reduction, *args, **kwargs)

    return loss


def _of_classes(name: str, native: Loss) -> Loss:
    """Makes a loss of classes, or of their probabilities, of which none is left out."""

    @functools.wraps(native)
    def loss(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        *args: Any,
        **kwargs: Any,
    ) -> Tensor:
        if ignore_index >= 0 and isinstance(target, Tensor) and lm.isdtype(target.dtype, "real floating"):
            raise RuntimeError(f"[{name}] ignore_index is for targets that are numbers of classes, not probabilities")
        return native(input, target, weight, size_average, ignore_index, *args, **kwargs)

    return named_by_classes(loss)


def named_by_classes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a loss of classes, or the ``forward`` of its layer, whose nodes go by PyTorch's name.

    That of a loss of probabilities, or of smoothed ones, is the one of the last operation.
    """

    @functools.wraps(function)
    def loss(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        layer = args[0] if args and isinstance(args[0], lm.nn.Module) else None
        input, target = (*args[layer is not None :], *kwargs.values())[:2]
        smoothing = kwargs.get("label_smoothing", getattr(layer, "label_smoothing", 0.0))
        if not smoothing and not lm.isdtype(target.dtype, "real floating"):
            note(made, "NllLossBackward0" if input.ndim < 3 else "NllLoss2DBackward0")
        return made

    return loss


for _layer in (lm.nn.CrossEntropyLoss, lm.nn.NLLLoss):
    _layer.forward = named_by_classes(_layer.forward)  # type: ignore[method-assign]


#: By names of functions, what makes PyTorch's of the native ones.
RULES: dict[str, Callable[[str, Loss], Loss]] = {
    "smooth_l1_loss": _given_in_one_shape(of_one_shape),
    **dict.fromkeys(("mse_loss", "l1_loss", "huber_loss"), _weighted),
    **dict.fromkeys(("poisson_nll_loss", "hinge_embedding_loss"), _given_in_one_shape(broadcast)),
    "binary_cross_entropy": _binary,
    "binary_cross_entropy_with_logits": _binary_of_logits,
    "cross_entropy": _of_classes,
    "nll_loss": lambda name, native: named_by_classes(native),
    "kl_div": _divergence,
    "soft_margin_loss": _soft_margin,
}

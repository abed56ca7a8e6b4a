"""Checks of gradients by PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import lamella as lm
from lamella.autograd import GradcheckError

from . import func as transforms
from .utils._pytree import tree_leaves


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Checks the gradients of ``func`` against central differences: :func:`lamella.autograd.gradcheck`.

    Args:
        func: takes the inputs and returns tensors.
        inputs: a tuple of arguments, or the only one; tensors that want a gradient are differentiated.
        eps: the step of the differences.
        atol: the absolute error allowed.
        rtol: the relative error allowed.
        raise_exception: False returns False in place of raising.
        nondet_tol: how far the numbers of two runs may lie apart.
        check_undefined_grad: an output without a gradient counts as one with zeros.
        check_grad_dtypes: gradients have their inputs' dtypes.
        check_batched_grad: batched gradients are right, too.
        check_batched_forward_grad: tangents of a batch of directions are those of each.
        check_forward_ad: derivatives of forward mode are right, too.
        check_backward_ad: False checks forward mode alone, along random directions.
        fast_mode: compare random projections in place of each entry.
        masked: accepted; tensors are dense.

    Raises:
        GradcheckError: (a RuntimeError) a gradient is wrong.
        ValueError: nothing is to be checked, or as the native function.
    """
    if not (check_backward_ad or check_forward_ad):
        raise ValueError("[gradcheck] nothing to check: check_backward_ad and check_forward_ad are False")
    try:
        if check_backward_ad:
            lm.autograd.gradcheck(
                func,
                inputs,
                eps=eps,
                atol=atol,
                rtol=rtol,
                nondet_tol=nondet_tol,
                check_undefined_grad=check_undefined_grad,
                check_grad_dtypes=check_grad_dtypes,
                fast_mode=fast_mode,
                check_batched_grad=check_batched_grad,
                check_forward_ad=check_forward_ad,
            )
        if check_batched_forward_grad or not check_backward_ad:
            _check_forward(func, inputs, eps, atol, rtol, check_batched_forward_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Checks second derivatives: :func:`lamella.autograd.gradgradcheck`.

    Args:
        func: as for :func:`gradcheck`, like all that is not named here.
        inputs: see there.
        grad_outputs: the gradients to begin with; random by default.
        eps: see there.
        atol: see there.
        rtol: see there.
        gen_non_contig_grad_outputs: accepted; random gradients are contiguous.
        raise_exception: see there.
        nondet_tol: see there.
        check_undefined_grad: see there.
        check_grad_dtypes: see there.
        check_batched_grad: see there.
        check_fwd_over_rev: forward mode through the gradients is right, too.
        check_rev_over_rev: gradients of the gradients; they are checked in any case.
        fast_mode: see there.
        masked: see there.

    Raises:
        GradcheckError: (a RuntimeError) a second derivative is wrong.
        ValueError: as the native function.
    """
    return lm.autograd.gradgradcheck(
        func,
        inputs,
        grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        fast_mode=fast_mode,
    )


def _check_forward(func: Callable[..., Any], inputs: Any, eps: float, atol: float, rtol: float, batched: bool) -> None:
    """Compares derivatives of forward mode with central differences, along random directions of each input."""
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    places = [i for i, x in enumerate(given) if isinstance(x, lm.Tensor) and x.requires_grad]
    points = tuple(given[i].detach() for i in places)

    def outputs(*chosen: Any) -> tuple[Any, ...]:
        arguments = [x.detach().clone() if isinstance(x, lm.Tensor) else x for x in given]
        for i, x in zip(places, chosen, strict=True):
            arguments[i] = x
        found = [y for y in tree_leaves(func(*arguments)) if isinstance(y, lm.Tensor)]
        return tuple(y for y in found if lm.isdtype(y.dtype, ("real floating", "complex floating")))

    def pushed(*directions: Any) -> tuple[Any, ...]:
        return tuple(transforms.jvp(outputs, tuple(x.clone() for x in points), directions)[1])

    for place, directions in _directions(points):
        ahead, behind = (
            outputs(*(x + step * v for x, v in zip(points, directions, strict=True))) for step in (eps, -eps)
        )
        tangents = pushed(*directions)
        for k, (high, low, got) in enumerate(zip(ahead, behind, tangents, strict=True)):
            wanted = (high - low) / (2 * eps)
            if not lm.allclose(got.detach(), wanted.detach(), rtol=rtol, atol=atol):
                raise GradcheckError(
                    f"[gradcheck] forward mode is wrong for output {k} with respect to input {places[place]}: along a "
                    f"random direction it gives {got.tolist()}, and differences give {wanted.tolist()}"
                )
        if batched:
            pairs = tuple(lm.stack([v, 2 * v]) for v in directions)
            for k, (each, one) in enumerate(zip(transforms.vmap(pushed)(*pairs), tangents, strict=True)):
                if not lm.allclose(each.detach(), lm.stack([one, 2 * one]).detach(), rtol=rtol, atol=atol):
                    raise GradcheckError(f"[gradcheck] batched tangents of output {k} are not those of each direction")


def _directions(points: tuple[Any, ...]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Two directions for each point, along which the others stay: an imaginary one, too, where it is complex."""
    for place, point in enumerate(points):
        for factor in (1, 1j) if lm.isdtype(point.dtype, "complex floating") else (1, -0.5):
            real = point.real.dtype if lm.isdtype(point.dtype, "complex floating") else point.dtype
            moved = (lm.randn(point.shape, dtype=real) * factor).astype(point.dtype)
            yield place, tuple(moved if i == place else lm.zeros_like(x) for i, x in enumerate(points))

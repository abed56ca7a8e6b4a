"""Checks of gradients against differences of the function's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._C import Tensor
from ..._tree import TensorTree, leaves_of


class GradcheckError(RuntimeError):
    """A gradient is wrong: the message says which entry, by how much, and why that may be."""


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
    fast_mode: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
) -> bool:
    """Checks the gradients of ``func`` against central differences.

    Every entry of the Jacobians, of each output that has a gradient with respect to each input that wants one, is
    compared; numbers agree where ``|analytical - numerical| <= atol + rtol * |numerical|``. A complex element counts
    as two real ones. Outputs without a gradient (by dtype, or because a layer marked them so) are left out.

    Args:
        func: takes the inputs and returns tensors, and anything else, in any nesting. It must be a function of its
            arguments alone: they are copied for each call.
        inputs: a tuple or list of arguments, or the only argument. Tensors in them, in nested lists, tuples and dicts
            too, are differentiated where ``stop_gradient=False``; everything else is passed on as it is.
        eps: the step of the differences.
        atol: the absolute error allowed.
        rtol: the relative error allowed.
        raise_exception: False returns False in place of raising :class:`GradcheckError`.
        nondet_tol: how far the numbers of two runs may lie apart.
        check_undefined_grad: also check that an output without a gradient counts as one with zeros.
        check_grad_dtypes: also check that gradients have their inputs' dtypes.
        fast_mode: compare one random projection of each Jacobian, in two calls and one pass, in place of each entry.
        check_batched_grad: also check batched gradients.
        check_forward_ad: also check forward-mode derivatives.

    Returns:
        True.

    Raises:
        GradcheckError: (a RuntimeError) a gradient is wrong.
        ValueError: no input wants a gradient; one has no values (meta) or too few digits for ``eps`` (float32 wants
            1e-4, half precision 1e-2); the function returns no floating or complex tensor.
    """
    message = check(
        func,
        inputs,
        "gradcheck",
        tolerances=(eps, atol, rtol, nondet_tol),
        switches=(check_undefined_grad, check_grad_dtypes, fast_mode, check_batched_grad, check_forward_ad),
    )
    return _conclude(message, raise_exception)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    fast_mode: bool = False,
    check_batched_grad: bool = False,
    check_forward_ad: bool = False,
) -> bool:
    """Checks the second derivatives: :func:`gradcheck` of the function's gradients.

    What is checked is the function from the inputs, and the gradients of the outputs, to the gradients of the inputs.

    Args:
        func: as for :func:`gradcheck`.
        inputs: as for :func:`gradcheck`.
        grad_outputs: the gradients to begin with, one for each output that has one; random by default.
        eps: the step of the differences.
        atol: the absolute error allowed.
        rtol: the relative error allowed.
        raise_exception: False returns False in place of raising :class:`GradcheckError`.
        nondet_tol: how far the numbers of two runs may lie apart.
        check_undefined_grad: also check that a gradient that is not there counts as one with zeros.
        check_grad_dtypes: also check that second derivatives have their inputs' dtypes.
        fast_mode: compare one random projection of each Jacobian, in two calls and one pass, in place of each entry.
        check_batched_grad: also check batched gradients.
        check_forward_ad: also check forward-mode derivatives.

    Returns:
        True.

    Raises:
        GradcheckError: (a RuntimeError) a second derivative is wrong.
        ValueError: as :func:`gradcheck`, or ``grad_outputs`` does not fit.
        RuntimeError: a layer on the way has no second derivative (``once_differentiable``, or an intermediate that it
            saved).
    """
    message: str | None
    try:
        message = check(
            func,
            inputs,
            "gradgradcheck",
            grad_outputs=[] if grad_outputs is None else TensorTree(grad_outputs).tensors,
            tolerances=(eps, atol, rtol, nondet_tol),
            switches=(check_undefined_grad, check_grad_dtypes, fast_mode, check_batched_grad, check_forward_ad),
        )
    except RuntimeError as error:
        if "made of numpy arrays or numbers" not in str(error):
            raise
        message = f"[gradgradcheck] no output wants a gradient of its own, as backward computes by numpy: {error}"
    return _conclude(message, raise_exception)


def check(
    func: Callable[..., Any],
    inputs: Any,
    name: str,
    *,
    grad_outputs: list[Tensor] | None = None,
    tolerances: tuple[float, float, float, float],
    switches: tuple[bool, bool, bool, bool, bool],
    names: tuple[str, ...] | None = None,
) -> str | None:
    """Returns the fault of the gradients, or with ``grad_outputs`` (a list) of second derivatives; None if right.

    ``names`` are the names of the inputs' tensors in the message.
    """
    if not callable(func):
        raise TypeError(f"[{name}] func is {type(func).__name__}: expected a function")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    tree = TensorTree(arguments)
    if names is None:
        names = tuple(_input_name(path) for path in tree.paths())

    def call(tensors: tuple[Tensor, ...]) -> list[Tensor]:
        leaves, _ = leaves_of(func(*tree.build(tensors)))
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    second = grad_outputs is not None
    return _C._gradcheck(call, tree.tensors, second, grad_outputs or [], tolerances, switches, name, names)


def _input_name(path: str) -> str:
    """``[0]['w']`` as "input 0['w']"."""
    number, _, rest = path[1:].partition("]")
    return f"input {number}{rest}"


def _conclude(message: str | None, raise_exception: bool) -> bool:
    if message is not None and raise_exception:
        raise GradcheckError(message)
    return message is None

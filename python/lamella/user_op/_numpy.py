"""Operators that functions of numpy arrays compute."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lamella import _C
from lamella._C import DType, Tensor
from lamella.user_op._builder import user_op_builder

__all__ = ["numpy_op", "register_numpy_kernel"]

#: Kernel: takes a tuple of arrays, and returns an array, or a tuple or list of them.
NumpyKernel: TypeAlias = Callable[[tuple[npt.NDArray[Any], ...]], Any]
#: Shape and dtype of a tensor.
Description: TypeAlias = tuple[tuple[int, ...], DType]


def register_numpy_kernel(op: str, function: NumpyKernel | None) -> None:
    """Has ``function`` compute an operator where its attribute ``device_sub_tag`` is ``"py"``.

    The function gets one tuple with an array for each input tensor, in the order of the declaration. The arrays show
    the tensors' own memory and cannot be written to. It returns an array, or a tuple or list of them, of the shapes
    that the operator inferred. Their memory becomes that of the outputs without a copy, where the dtype is right and it
    is not an input's; a dtype of the same kind is cast.

    Args:
        op: the operator.
        function: the kernel; None takes it back.
    """
    _C._user_op_set_kernel(op, None if function is None else _tensor_kernel(op, function))


def _tensor_kernel(op: str, function: NumpyKernel) -> Callable[[list[Tensor], list[Description]], list[Tensor]]:
    """Returns the kernel as the engine calls it."""

    def kernel(inputs: list[Tensor], wanted: list[Description]) -> list[Tensor]:
        arrays = tuple(_read_only(x) for x in inputs)
        try:
            results = function(arrays)
        except Exception as error:
            error.add_note(f"[{op}] in the Python kernel {_place(function)}")
            raise
        listed = results if isinstance(results, (tuple, list)) else (results,)
        if len(listed) != len(wanted):
            got = "None" if results is None else f"{len(listed)} array{'s' * (len(listed) != 1)}"
            names = ", ".join(_output_names(op, len(wanted)))
            raise ValueError(f"{_returned(op, function)} {got}, expected {len(wanted)} ({names})")
        outputs: list[Tensor] = []
        taken = list(arrays)  # an output has memory of its own, also where the kernel returns one array twice
        for k, (result, description) in enumerate(zip(listed, wanted, strict=True)):
            try:
                array = _array(result, description)
            except (TypeError, ValueError) as error:
                name = _output_names(op, len(wanted))[k]
                raise type(error)(f"{_returned(op, function)} {str(error).replace('{}', name, 1)}") from None
            if not array.flags.writeable or any(np.may_share_memory(array, x) for x in taken):
                array = array.copy()
            taken.append(array)
            outputs.append(_C.asarray(array))
        return outputs

    return kernel


def _read_only(x: Tensor) -> npt.NDArray[Any]:
    array = x.numpy()
    array.flags.writeable = False
    return array


def _place(function: NumpyKernel) -> str:
    """Returns what a kernel is called in messages: its name, its file and its line where it is Python's."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


def _returned(op: str, function: NumpyKernel) -> str:
    """Returns how messages about results begin; made for errors alone, as a call is to cost nothing for them."""
    return f"[{op}] the Python kernel {_place(function)} returned"


def _output_names(op: str, count: int) -> list[str]:
    """Returns what outputs are called in messages: of several tensors of one name, each has a number."""
    declared = [each["name"] for each in _C._user_op_info(op)["outputs"]]
    if len(declared) == count:
        return [f"output '{name}'" for name in declared]
    return [f"output {k} of {', '.join(map(repr, declared))}" for k in range(count)]


def _array(result: Any, wanted: Description) -> npt.NDArray[Any]:
    """Returns what a kernel returned as an output, in the dtype that is wanted; errors leave a place for its name."""
    shape, dtype = wanted
    if not isinstance(result, (np.ndarray, np.generic)):
        raise TypeError(f"{type(result).__name__} as {{}}, expected a numpy array")
    array = np.asarray(result)
    if array.shape != shape:
        raise ValueError(f"shape {array.shape} as {{}}, expected {shape}")
    wanted_type = np.dtype(str(dtype).rpartition(".")[2])
    if array.dtype == wanted_type:
        return array
    if not np.can_cast(array.dtype, wanted_type, "same_kind"):
        raise TypeError(f"{array.dtype} as {{}}, expected {wanted_type}")
    return array.astype(wanted_type)


def numpy_op(
    name: str,
    forward: NumpyKernel,
    backward: NumpyKernel | None = None,
    *,
    inputs: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
    saved: Sequence[str] | None = None,
    infer: Callable[[list[Description]], Sequence[Description]] | None = None,
) -> Callable[..., Any]:
    """Defines an operator in Python alone, without a file of C++.

    >>> import lamella as lm
    >>> relu = lm.user_op.numpy_op("doc_relu", lambda a: np.maximum(a[0], 0), lambda a: (a[0] > 0) * a[1], saved=["y"])
    >>> x = lm.tensor([-1.0, 2.0], stop_gradient=False)
    >>> relu(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 1.0]

    Defining the same name again replaces the operator.

    Args:
        name: the operator's name, which has to be an identifier; it is then ``lm.ops.user_op.<name>`` too.
        forward: gets a tuple of arrays, one for each input, and returns the outputs; see
            :func:`register_numpy_kernel`.
        backward: gets the arrays named in ``saved`` and then the gradients of the outputs, and returns a gradient for
            each input. It becomes the operator ``<name>_backward``, which has no gradient of its own.
        inputs: the names of the inputs.
        outputs: the names of the outputs.
        saved: the inputs and outputs that ``backward`` gets; all inputs where None.
        infer: gets a list of (shape, dtype), one for each input, and returns one for each output. By default outputs
            are like the first input.

    Returns:
        A function of as many tensors as there are inputs, which returns a Tensor, or a tuple of them.

    Raises:
        ValueError: ``saved`` names something that is neither an input nor an output.
        RuntimeError: a library has defined the operator already.
    """
    given, made = list(inputs), list(outputs)
    kept = given if saved is None else list(saved)
    for each in kept:
        if each not in given and each not in made:
            raise ValueError(f"[{name}] saved: '{each}' is neither an input ({given}) nor an output ({made})")
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    file, line = (caller.f_code.co_filename, caller.f_lineno) if caller else ("<python>", 0)

    gradient = f"{name}_backward" if backward is not None else None
    if backward is not None and gradient is not None:
        grads = [f"d{each}" for each in given]
        infer_grads = _like_inputs(name, given, kept)
        _C._user_op_define(gradient, kept + [f"d{each}" for each in made], grads, infer_grads, None, [], file, line)
        register_numpy_kernel(gradient, backward)
    infer_outputs = _listed(infer) if infer is not None else _like_first(name, len(made))
    _C._user_op_define(name, given, made, infer_outputs, gradient, kept, file, line)
    register_numpy_kernel(name, forward)

    def call(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        if len(tensors) != len(given):
            raise TypeError(f"[{name}] takes {len(given)} tensors ({', '.join(given)}), {len(tensors)} were given")
        builder = user_op_builder(name).Op(name)
        for each, x in zip(given, tensors, strict=True):
            if not isinstance(x, Tensor):
                kind = type(x).__name__
                raise TypeError(f"[{name}] {each}: expected a Tensor, got {kind}: lm.asarray({each}) makes one")
            builder.Input(each, [x])
        results = builder.Build().InferAndTryRun().RemoteBlobList()
        return results[0] if len(results) == 1 else tuple(results)

    call.__name__ = call.__qualname__ = name
    call.__module__ = sys._getframe(1).f_globals.get("__name__", __name__)
    call.__doc__ = forward.__doc__
    return call


def _listed(
    infer: Callable[[list[Description]], Sequence[Description]],
) -> Callable[[list[Description]], list[Description]]:
    return lambda descriptions: list(infer(descriptions))


def _like_first(name: str, count: int) -> Callable[[list[Description]], list[Description]]:
    return lambda descriptions: [descriptions[0]] * count


def _like_inputs(name: str, inputs: list[str], saved: list[str]) -> Callable[[list[Description]], list[Description]]:
    """Gradients are like the inputs they are of; like the first incoming gradient where these are not saved."""

    def infer(descriptions: list[Description]) -> list[Description]:
        known = dict(zip(saved, descriptions, strict=False))
        return [known.get(each, descriptions[len(saved)]) for each in inputs]

    return infer

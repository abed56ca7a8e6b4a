"""Functions of numpy arrays as operators of a program, with gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import lamella as lm
from lamella.graph import Symbol

from .program import Program, program_of, recording_program
from .scope import running_device
from .spec import InputSpec, checked_dtype, fits
from .unique_name import node_name


def py_func(
    func: Callable[..., Any],
    x: Any,
    out: Any,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: Any = None,
) -> Any:
    """Calls a Python function, of numpy arrays say, as an operator with a gradient.

    In a program, the function is called whenever the program runs, and ``out`` is its result from then on. Outside of
    one it is called at once.

    Args:
        func: called as ``func(*x)`` with a tensor for each input, a copy, which numpy takes as an array. It returns an
            array, a tensor or numbers for each output: one, or a list or tuple of them; None where there are no
            outputs.
        x: the inputs: a variable (a tensor outside of a program), a list or tuple of them, or None.
        out: the outputs: variables that ``Block.create_var`` has declared, in the same forms. They may also be an
            :class:`InputSpec` or an array, which say dtype and shape of a new variable. Outside of a program they may
            be a tensor, too; a tensor or an array takes the result.
        backward_func: called with all inputs, all outputs and the gradients of all outputs, None for an output without
            one; returns a gradient for each input, None for an input without one. Without it, no gradient flows.
        skip_vars_in_backward_input: inputs and outputs that ``backward_func`` is not given, in the same forms.

    Returns:
        ``out``, with a new variable or tensor in the place of each InputSpec and array.

    Raises:
        TypeError: an argument is of another kind; a result is no array, or of another dtype than its output.
        ValueError: a variable to skip is neither input nor output; the number of results or gradients is another than
            that of the variables; the shape of a result is not that of its output, that of a gradient not that of its
            input.

    Exceptions of the functions pass through with their own type.
    """
    inputs = _listed("x", x, lm.Tensor)
    outputs = _listed("out", out, _OUTPUTS)
    title = getattr(func, "__name__", type(func).__name__)
    for name, function, count in (
        ("func", func, len(inputs)),
        ("backward_func", backward_func, None),
    ):
        if not callable(function) and not (function is None and name == "backward_func"):
            raise TypeError(f"[py_func] {name} is a function, not {type(function).__name__}")
        if count is not None:
            _check_signature(name, function, count)
    declared = [_declared(index, each) for index, each in enumerate(outputs)]
    names = [_name(each, f"x[{index}]") for index, each in enumerate(inputs)]
    skipped: set[int] = set()
    if backward_func is not None:
        skipped = _skipped(skip_vars_in_backward_input, [*inputs, *outputs])
        _check_signature("backward_func", backward_func, len(inputs) + 2 * len(outputs) - len(skipped))
    call = _Call(title, func, backward_func, names, declared, frozenset(skipped))

    program = recording_program()
    if program is None and any(isinstance(each, Symbol) for each in inputs):
        program = program_of("py_func", next(each for each in inputs if isinstance(each, Symbol)))
    if program is not None:
        variables = [_variable(program, title, index, each) for index, each in enumerate(outputs)]
        call.outputs = [_declared(index, each) for index, each in enumerate(variables)]
        program.add_function(node_name("py_func"), call, inputs, variables, backward_func is not None)
        return type(out)(variables) if isinstance(out, (list, tuple)) else variables[0] if variables else None
    results = call(*inputs)
    given = [_placed(each, result) for each, result in zip(outputs, results, strict=True)]
    return type(out)(given) if isinstance(out, (list, tuple)) else given[0] if given else None


#: Kinds of what says how an output looks.
_OUTPUTS = (lm.Tensor, InputSpec, np.ndarray)


class _Declared(NamedTuple):
    name: str
    dtype: Any
    shape: tuple[int, ...]


class _Call:
    """A function with its gradient, and what its inputs and outputs are called and look like."""

    def __init__(
        self,
        title: str,
        func: Callable[..., Any],
        backward_func: Callable[..., Any] | None,
        inputs: list[str],
        outputs: list[_Declared],
        skipped: frozenset[int],
    ) -> None:
        self.title = title
        self.func = func
        self.backward_func = backward_func
        self.inputs = inputs
        self.outputs = outputs
        self.skipped = skipped

    def differentiable(self, inputs: Sequence[lm.Tensor]) -> bool:
        """True if gradients flow through a call with these inputs."""
        return self.backward_func is not None and not all(each.stop_gradient for each in inputs)

    def __call__(self, *inputs: lm.Tensor) -> tuple[lm.Tensor, ...]:
        """Returns the outputs; on the tape where an input wants a gradient and there is a function for it."""
        if lm.autograd.is_grad_enabled() and self.outputs and self.differentiable(inputs):
            results = PyFunc.apply(self, *inputs)
            return results if isinstance(results, tuple) else (results,)
        with lm.no_grad():
            return self.forward(inputs)

    def forward(self, inputs: Sequence[lm.Tensor]) -> tuple[lm.Tensor, ...]:
        """Calls the function and checks what it returns."""
        returned = self.func(*map(_copy, inputs))
        wanted = len(self.outputs)
        if wanted == 0:
            if returned is not None and not (isinstance(returned, (list, tuple)) and not returned):
                raise ValueError(
                    f"[py_func] '{self.title}' has no outputs and returned {type(returned).__name__}: return None, or "
                    "name variables in out"
                )
            return ()
        listed = _results(returned, wanted)
        if len(listed) != wanted:
            raise ValueError(
                f"[py_func] '{self.title}' returned {len(listed)} results for {wanted} outputs "
                f"({', '.join(each.name for each in self.outputs)})"
            )
        device = inputs[0].device if inputs else running_device()
        return tuple(self._output(each, value, device) for each, value in zip(self.outputs, listed, strict=True))

    def _output(self, declared: _Declared, value: Any, device: Any) -> lm.Tensor:
        what = f"[py_func] '{self.title}': the result for '{declared.name}'"
        if value is None:
            raise ValueError(f"{what} is None; an output needs a value")
        result = _tensor(what, value)
        if result.dtype != declared.dtype:
            if hasattr(value, "dtype"):
                raise TypeError(
                    f"{what} is {result.dtype}, the variable {declared.dtype}: convert it, "
                    f"result.astype('{declared.dtype}')"
                )
            result = result.astype(declared.dtype)
        if not fits(tuple(result.shape), declared.shape):
            raise ValueError(f"{what} has shape {list(result.shape)}, the variable {list(declared.shape)}")
        return result.to(device)

    def backward(
        self, kept: Sequence[lm.Tensor], inputs: Sequence[tuple[Any, Any, Any, bool]], grads: Sequence[lm.Tensor | None]
    ) -> list[lm.Tensor | None]:
        """Calls the function of gradients and checks what it returns; ``inputs`` says how each looks."""
        assert self.backward_func is not None
        given = [None if grad is None else _copy(grad) for grad in grads]
        returned = self.backward_func(*map(_copy, kept), *given)
        listed = _results(returned, len(inputs))
        if len(listed) != len(inputs):
            raise ValueError(
                f"[py_func] the backward_func of '{self.title}' returned {len(listed)} gradients for {len(inputs)} "
                f"inputs ({', '.join(self.inputs)}); return None for an input without a gradient"
            )
        found: list[lm.Tensor | None] = []
        for name, (shape, dtype, device, wanted), value in zip(self.inputs, inputs, listed, strict=True):
            what = f"[py_func] the backward_func of '{self.title}': the gradient of '{name}'"
            if value is None:
                found.append(None)
                continue
            grad = _tensor(what, value)
            if tuple(grad.shape) != shape:
                raise ValueError(f"{what} has shape {list(grad.shape)}, the input {list(shape)}")
            found.append(grad.astype(dtype).to(device) if wanted else None)
        return found


class PyFunc(lm.PyLayer):
    """Records a call on the tape."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *inputs: lm.Tensor) -> tuple[lm.Tensor, ...]:
        """Calls the function."""
        results = call.forward(inputs)
        ctx.set_materialize_grads(False)
        ctx.call = call
        ctx.inputs = [(tuple(each.shape), each.dtype, each.device, not each.stop_gradient) for each in inputs]
        kept = [each for index, each in enumerate([*inputs, *results]) if index not in call.skipped]
        ctx.save_for_backward(*kept)
        return results

    @staticmethod
    @lm.autograd.once_differentiable
    def backward(ctx: Any, *grads: lm.Tensor | None) -> tuple[lm.Tensor | None, ...]:
        """Calls the function of gradients."""
        return tuple(ctx.call.backward(ctx.saved_tensor(), ctx.inputs, grads))


def _listed(name: str, value: Any, kind: type | tuple[type, ...]) -> list[Any]:
    """Returns the variables of an argument that may be one, several or None."""
    listed = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    for index, each in enumerate(listed):
        if not isinstance(each, kind):
            place = f"{name}[{index}]" if isinstance(value, (list, tuple)) else name
            raise TypeError(
                f"[py_func] {place} is a variable, or a list or tuple of them, or None, not {type(each).__name__}"
            )
    return listed


def _name(variable: Any, otherwise: str) -> str:
    return getattr(variable, "name", None) or otherwise


def _declared(index: int, variable: Any) -> _Declared:
    name = _name(variable, f"out[{index}]")
    return _Declared(name, checked_dtype("py_func", variable.dtype, name), tuple(variable.shape))


def _variable(program: Program, title: str, index: int, out: Any) -> Symbol:
    """Returns the variable for an output of which only dtype and shape may have been given."""
    if isinstance(out, Symbol):
        return out
    if isinstance(out, lm.Tensor):
        raise TypeError(
            f"[py_func] '{title}': out[{index}] is a {type(out).__name__}; in a program it is a variable that "
            "Block.create_var(name, dtype, shape) has made"
        )
    return program.current_block().create_var(getattr(out, "name", None), out.dtype, tuple(out.shape))


def _skipped(given: Any, variables: list[Any]) -> set[int]:
    """Returns the positions, among inputs and outputs, of what the backward function is not given."""
    if isinstance(given, (set, frozenset)):
        given = list(given)
    positions: set[int] = set()
    for each in _listed("skip_vars_in_backward_input", given, _OUTPUTS):
        found = {index for index, variable in enumerate(variables) if variable is each}
        if not found:
            raise ValueError(
                f"[py_func] skip_vars_in_backward_input: '{_name(each, type(each).__name__)}' is neither an input nor "
                "an output; gradients of outputs cannot be skipped"
            )
        positions |= found
    return positions


def _check_signature(name: str, function: Any, count: int) -> None:
    """Raises TypeError unless ``count`` positional arguments fit; functions that do not tell are passed over."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        title = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"[py_func] {name} '{title}{signature}' is called with {count} arguments: {error}") from None


def _results(returned: Any, count: int) -> list[Any]:
    """Returns what a function gave as a list. Of one result, a list that holds no array is the value itself."""
    if not isinstance(returned, (list, tuple)):
        return [returned]
    if count == 1 and not any(each is None or hasattr(each, "dtype") for each in returned):
        return [returned]
    return list(returned)


def _copy(x: lm.Tensor) -> lm.Tensor:
    """Returns a copy: numpy may write into its memory, which nobody would notice in a tensor of the program."""
    with lm.no_grad():
        return x.detach().clone()


def _tensor(what: str, value: Any) -> lm.Tensor:
    """Returns a new tensor with the values of an array, a tensor or numbers."""
    if isinstance(value, lm.Tensor):
        return _copy(value)
    try:
        return lm.asarray(value, copy=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} is {type(value).__name__}, which is no array: {error}") from error


def _placed(out: Any, result: lm.Tensor) -> lm.Tensor:
    """Puts a result into the tensor or the array that was given for it; returns the tensor."""
    if isinstance(out, np.ndarray):
        out[...] = result.detach().numpy()
    if not isinstance(out, lm.Tensor) or isinstance(out, Symbol):
        return result
    return out.copy_(result)

"""OneFlow's own operators by the names of their types, for ``user_op_builder`` and gradients of users' operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import lamella as lm
from lamella import _C, Tensor
from lamella.graph import Symbol

from ._quotient import quotient

#: Tensors by the name of an argument.
Arguments = dict[str, list[Tensor]]


class _Operator:
    """An operator that a function of tensors and attributes computes.

    Args:
        name: the operator's type.
        arguments: names of inputs and outputs, ``"x y -> z"``: one with a star has any number of tensors, and those
            with bars between them are one argument of several spellings.
        function: takes the tensors of the inputs, a list where there is a star, and attributes by name.
    """

    def __init__(self, name: str, arguments: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.inputs, self.outputs = ([each.split("|") for each in side.split()] for side in arguments.split("->"))
        self.function = function
        parameters = list(inspect.signature(function).parameters.values())[len(self.inputs) :]
        self.attributes = {each.name: each.default is not each.empty for each in parameters}

    def __call__(
        self, given: Arguments, counts: dict[str, int], attrs: dict[str, Any]
    ) -> list[tuple[str, list[Tensor]]]:
        """Returns the tensors of each output, under the name that was asked for."""
        self._check("input", given, self.inputs)
        self._check("output", counts, self.outputs)
        tensors: list[Any] = []
        for spellings in self.inputs:
            name = next((each.rstrip("*") for each in spellings if each.rstrip("*") in given), None)
            if name is None:
                raise ValueError(f"[{self.name}] input '{spellings[0].rstrip('*')}' has no tensor")
            values = given[name]
            if spellings[0].endswith("*"):
                tensors.append(values)
            elif len(values) != 1:
                raise ValueError(f"[{self.name}] input '{name}' is 1 tensor, {len(values)} were given")
            else:
                tensors.append(values[0])
        if unknown := [each for each in attrs if each not in self.attributes]:
            raise ValueError(f"[{self.name}] has no attribute '{unknown[0]}': it has {_listed(self.attributes)}")
        if missing := [each for each, has_default in self.attributes.items() if not has_default and each not in attrs]:
            raise ValueError(f"[{self.name}] attribute '{missing[0]}' has no value and no default")
        results = self.function(*tensors, **attrs)
        listed = list(results) if isinstance(results, (list, tuple)) else [results]
        output = next((name for name in counts), self.outputs[0][0].rstrip("*"))
        if output in counts and counts[output] != len(listed):
            raise ValueError(
                f"[{self.name}] output '{output}' has {len(listed)} tensors, {counts[output]} were asked for"
            )
        return [(output, listed)]

    def has(self, inputs: Arguments) -> bool:
        """True if all inputs are there that are given."""
        return set(inputs) <= {each.rstrip("*") for spellings in self.inputs for each in spellings}

    def _check(self, kind: str, given: Any, declared: list[list[str]]) -> None:
        names = [each.rstrip("*") for spellings in declared for each in spellings]
        if unknown := [each for each in given if each not in names]:
            first = [spellings[0].rstrip("*") for spellings in declared]
            raise ValueError(f"[{self.name}] has no {kind} '{unknown[0]}': it has {_listed(first)}")


def _listed(names: Any) -> str:
    return ", ".join(f"'{each}'" for each in names) or "none"


#: Operators by their types; two have one, where versions of OneFlow differ in the inputs.
OPERATORS: dict[str, list[_Operator]] = {}


def _add(name: str, arguments: str, function: Callable[..., Any]) -> None:
    OPERATORS.setdefault(name, []).append(_Operator(name, arguments, function))


def _operator(name: str, arguments: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def added(function: Callable[..., Any]) -> Callable[..., Any]:
        _add(name, arguments, function)
        return function

    return added


def _slope(name: str, function: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Returns the gradient of a function, of its input and its output's gradient, which is recorded where both are."""

    def gradient(x: Tensor, dy: Tensor) -> Tensor:
        symbol: Any = x if isinstance(x, Symbol) else dy
        if isinstance(symbol, Symbol):  # a node, as the function's graph is there when the program runs
            given = [symbol.graph.capture(each) for each in (x, dy)]
            like = [(given[0].dtype, tuple(given[0].shape))]
            return symbol.graph.function(name, lambda *tensors: [gradient(*tensors)], given, like)[0]
        recorded = lm.is_grad_enabled()
        at = x if recorded and not x.stop_gradient else x.detach()
        if at is not x:
            at.stop_gradient = False
        with lm.enable_grad():
            y = function(at)
        if y.stop_gradient:
            return lm.zeros_like(dy)
        made: Tensor = lm.autograd.grad([y], [at], [dy], create_graph=recorded)[0]
        return made

    return gradient


#: Functions of each element, by OneFlow's names; native ones where these differ.
_UNARY = """
abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp expm1 floor lgamma log log1p negative reciprocal
rint=round round rsqrt sign sin sinh softplus sqrt square tan log_sigmoid sigmoid_v2=sigmoid
"""
for _word in _UNARY.split():
    _name, _, _native = _word.partition("=")
    _function = getattr(lm, _native or _name)
    _add(_name, "x|in -> y|out", _function)
    _add(f"{_name}_grad", "x dy -> dx", _slope(f"{_name}_grad", _function))

for _name in ("relu", "sigmoid", "tanh", "gelu"):
    _add(_name, "in|x -> out|y", getattr(lm, _name))
_add("gelu_grad", "x dy -> dx", _slope("gelu_grad", lm.gelu))
_add("tanh_grad", "y dy -> dx", lambda y, dy: dy * (1 - y * y))
_add("tanh_grad", "x dy -> dx", _slope("tanh_grad", lm.tanh))
_add("relu_grad", "y dy -> dx", lambda y, dy: lm.where(y > 0, dy, lm.zeros_like(dy)))
_add("sigmoid_grad", "y dy -> dx", lambda y, dy: dy * y * (1 - y))
_add("identity", "in -> out", lm.clone)
_add("leaky_relu", "x -> y", lambda x, alpha=0.01: lm.where(x > 0, x, x * alpha))
_add("leaky_relu_grad", "x dy -> dx", lambda x, dy, alpha=0.01: lm.where(x > 0, dy, dy * alpha))

#: Functions of pairs of elements, which have one shape in OneFlow.
for _name, _native in {"multiply": "multiply", "atan2": "atan2", "pow": "pow", "floordiv": "floor_divide"}.items():
    _add(_name, "x y -> out|z", getattr(lm, _native))
for _name, _native in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "floor_mod": "remainder",
    "pow": "pow",
}.items():
    _add(f"broadcast_{_name}", "x y -> z", getattr(lm, _native))
_add("broadcast_div", "x y -> z", quotient)


def _comparison(native: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, y: lm.astype(native(x, y), lm.int8)


for _name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
    _add(f"broadcast_{_name}", "x y -> z", _comparison(getattr(lm, _name)))


def _operand(
    has_int_operand: bool, has_float_operand: bool, int_operand: int, float_operand: float, name: str
) -> int | float:
    if has_int_operand == has_float_operand:
        raise ValueError(f"[{name}] has one operand: set has_int_operand or has_float_operand")
    return int_operand if has_int_operand else float_operand


def _with_number(name: str, function: Callable[[Tensor, Any], Tensor]) -> None:
    def run(
        x: Tensor,
        has_int_operand: bool = False,
        has_float_operand: bool = False,
        int_operand: int = 0,
        float_operand: float = 0.0,
    ) -> Tensor:
        return lm.astype(
            function(x, _operand(has_int_operand, has_float_operand, int_operand, float_operand, name)), x.dtype
        )

    _add(name, "in -> out", run)


_with_number("scalar_add", lm.add)
_with_number("scalar_mul", lm.multiply)
for _name, _native in {"add": "add", "sub": "subtract", "mul": "multiply"}.items():
    _add(f"scalar_{_name}_by_tensor", "x scalar -> y", getattr(lm, _native))
_add("scalar_div_by_tensor", "x scalar -> y", quotient)


@_operator("add_n", "in* -> out")
def _add_n(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0]
    for each in tensors[1:]:
        total = total + each
    return total if len(tensors) > 1 else total.clone()


@_operator("cast", "in -> out")
def _cast(x: Tensor, dtype: Any) -> Tensor:
    made = lm.cast(x, dtype)
    return made.clone() if made is x else made


@_operator("constant", "-> out")
def _constant(
    shape: Sequence[int],
    dtype: Any,
    floating_value: float = 0.0,
    integer_value: int = 0,
    is_floating_value: bool = True,
) -> Tensor:
    return lm.full(tuple(shape), floating_value if is_floating_value else integer_value, dtype=dtype)


_add("zero_like", "like -> out", lm.zeros_like)
_add("ones_like", "like -> out", lm.ones_like)


def _product(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0) -> Tensor:
    made = lm.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b)
    return made if alpha == 1.0 else made * alpha


_add("matmul", "a b -> out", _product)
_add("batch_matmul", "a b -> out", _product)
_add("transpose", "input -> output", lambda x, perm: lm.permute_dims(x, tuple(perm)).clone())
_add("reshape", "in -> out", lambda x, shape: lm.reshape(x, tuple(shape)))
_add("reshape_like", "in like -> out", lambda x, like: lm.reshape(x, tuple(like.shape)))
_add("expand_dims", "in -> out", lambda x, axis: lm.expand_dims(x, axis))
_add("squeeze", "in -> out", lambda x, axes: lm.squeeze(x, tuple(axes)))
_add("broadcast_like", "x like -> y", lambda x, like, broadcast_axes=(): _spread(x, like, broadcast_axes))
_add("where", "condition x y -> out", lambda condition, x, y: lm.where(lm.astype(condition, lm.bool), x, y))
_add("softmax", "in -> out", lambda x: lm.softmax(x, axis=-1))
_add("softmax_grad", "y dy -> dx", lambda y, dy: y * (dy - lm.sum(y * dy, axis=-1, keepdims=True)))
_add("concat", "in* -> out", lambda tensors, axis, max_dim_size=0: lm.concat(tensors, axis=axis))
_add("gather", "in indices -> out", lambda x, indices, axis=0: lm.take(x, indices, axis=axis))


def _spread(x: Tensor, like: Tensor, broadcast_axes: Sequence[int]) -> Tensor:
    if len(x.shape) < len(like.shape):
        for axis in sorted(each % len(like.shape) for each in broadcast_axes):
            x = lm.expand_dims(x, axis)
    return lm.broadcast_to(x, tuple(like.shape)).clone()


@_operator("split_like", "in like* -> out*")
def _split_like(x: Tensor, like: Sequence[Tensor], axis: int) -> list[Tensor]:
    return [part.clone() for part in lm.split(x, [each.shape[axis] for each in like], axis=axis)]


@_operator("bias_add", "a b -> out")
def _bias_add(a: Tensor, b: Tensor, axis: int) -> Tensor:
    return a + lm.reshape(b, tuple(-1 if each == axis % len(a.shape) else 1 for each in range(len(a.shape))))


@_operator("slice", "x -> y")
def _slice(x: Tensor, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Tensor:
    return x[tuple(slice(*each) for each in zip(start, stop, step, strict=True))].clone()


def _reduction(name: str, native: str) -> None:
    function = getattr(lm, native)

    def run(x: Tensor, axis: Sequence[int], keepdims: bool = False) -> Tensor:
        made: Tensor = lm.astype(function(x, axis=tuple(axis), keepdims=keepdims), x.dtype)
        return made if len(made.shape) else lm.reshape(made, [1])  # where nothing is left, one axis is

    _add(name, "input_tensor -> output_tensor", run)


for _name in ("sum", "prod", "max", "min", "all", "any"):
    _reduction(f"reduce_{_name}", _name)


@_operator("reduce_sum_like", "x like -> y")
def _reduce_sum_like(x: Tensor, like: Tensor, axis: Sequence[int] = ()) -> Tensor:
    made = lm.astype(lm.sum(x, axis=tuple(axis), keepdims=True), x.dtype) if axis else x.clone()
    return lm.reshape(made, tuple(like.shape))


def run(op: str, inputs: Arguments, outputs: dict[str, int], attrs: dict[str, Any]) -> Any:
    """Returns the outputs of an operator of OneFlow's, as pairs of a name and tensors, or None where there is none."""
    if op not in OPERATORS:
        return None
    operators = OPERATORS[op]
    return next((each for each in operators if each.has(inputs)), operators[0])(inputs, outputs, attrs)


def install() -> None:
    """Has gradients of users' operators find OneFlow's own, too."""
    _C._user_op_set_operators(run)

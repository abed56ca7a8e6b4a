"""Multiplications and additions of products: those that nodes of the graph are, and those of their gradients."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import lamella as lm
from lamella import _C, Tensor
from lamella._tree import flatten

#: Place in a node's notes: the modules that it was recorded in; None for a product that is not counted.
MODULES = "torch.utils.flop_counter"
#: Place of the number of examples under vmap, which shapes do not tell.
TIMES = "torch.utils.flop_counter.times"
#: Place of True for attention that PyTorch computes by single products.
SINGLE = "torch.utils.flop_counter.single"
#: Place of the shapes of what a node keeps.
_KEPT = "torch.utils.flop_counter.kept"


class Products(NamedTuple):
    """An operator of ``aten``, and the number of its multiplications and additions in a call."""

    operator: str
    flops: int


def _rows(x: Tensor) -> int:
    return math.prod(x.shape[:-1])


def of_matmul(a: Tensor, b: Tensor) -> int:
    """Returns the multiplications and additions of ``a @ b`` of matrices or stacks of them."""
    batch = math.prod(lm.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    return 2 * batch * a.shape[-2] * a.shape[-1] * b.shape[-1]


def of_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, int]:
    """Returns those of the scores, and those of the sums of values weighted by them."""
    pairs = 2 * _rows(query) * key.shape[-2]
    return pairs * query.shape[-1], pairs * value.shape[-1]


def _matmul(saved: Sequence[Tensor]) -> Products:
    a, b = saved[:2]
    return Products("mm" if a.ndim == b.ndim == 2 else "bmm", of_matmul(a, b))


def _linear(saved: Sequence[Tensor]) -> Products:
    x, weight = saved[:2]
    return Products("mm", 2 * math.prod(x.shape) * weight.shape[0])


def _recurrent(saved: Sequence[Tensor]) -> Products:
    steps, weight = saved[0], saved[2]
    return Products("mm", 2 * math.prod(steps.shape[:2]) * math.prod(weight.shape))


#: Nodes whose forward is told by what they keep.
_FORWARD: dict[str, Callable[[Sequence[Tensor]], Products]] = {
    "matmul": _matmul,
    "linear": _linear,
    "recurrent": _recurrent,
}


def forward_of(node: Any) -> Products | None:
    """Returns the products of a node; None for one that is none, or whose operator tells them itself."""
    rule = _FORWARD.get(str(node.name))
    return None if rule is None else rule(_saved(node))


class Shaped(NamedTuple):
    """The shape of a tensor that a node keeps."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)


def _saved(node: Any) -> Sequence[Any]:
    return node.metadata.get(_KEPT) or node.saved_tensors


def note_kept(nodes: Sequence[Any], call: Callable[[Any], Any], values: Sequence[Any]) -> None:
    """Notes in the nodes of a call the shapes of what they keep, which those of a checkpoint forget in between."""
    saved = [node.saved_tensors for node in nodes]
    if any(each is None for kept in saved for each in kept[:2]):
        results = _without_memory(call, values, as_given=True)
        saved = [node.saved_tensors for node in nodes_of(results) if has_gradient(node)]
    for node, kept in zip(nodes, saved, strict=True):
        node.metadata[_KEPT] = [Shaped(()) if each is None else Shaped(tuple(each.shape)) for each in kept]


def _each(saved: Sequence[Tensor], grad: Tensor, needed: Sequence[bool], products: Products) -> Products:
    """A gradient of each factor is a product as large as the forward's."""
    return Products(products.operator, products.flops * sum(needed[:2]))


def _recurrent_backward(saved: Sequence[Tensor], grad: Tensor, needed: Sequence[bool], products: Products) -> Products:
    """The gradient of each step's state, the first only where it is wanted, and that of the weight."""
    weight = saved[2]
    gates = weight.shape[0] // weight.shape[1]
    of_weight = 3 if gates == 4 else 2  # behind the memory of an LSTM
    one_step = products.flops // saved[0].shape[0]
    states = products.flops - (0 if needed[1] else one_step)
    return Products(products.operator, states + (products.flops if needed[of_weight] else 0))


def has_kernel(query: Any, key: Any, value: Any) -> bool:
    """True of attention that PyTorch has a kernel for, which makes the scores anew for the gradients."""
    return query.ndim in (3, 4) and query.shape[-1] == value.shape[-1]


def _attention(saved: Sequence[Tensor], grad: Tensor, needed: Sequence[bool], single: bool) -> Products:
    """A kernel makes the scores anew and all gradients; others are single products."""
    query, key, value = saved[:3]
    scores, sums = of_attention(query, key, value)
    if has_kernel(query, key, value) and not single:
        return Products("_scaled_dot_product_flash_attention_for_cpu_backward", 3 * scores + 2 * sums)
    flops = needed[2] * sums + (needed[0] or needed[1]) * sums + (needed[0] + needed[1]) * scores
    return Products("bmm", flops)


def _convolution(
    saved: Sequence[Tensor], grad: Tensor, needed: Sequence[bool], products: None, transposed: bool = False
) -> Products:
    """That of the input is as large as the forward; that of the weight is counted over all channels of the input."""
    x, weight = saved[:2]
    forward = grad.shape[0] == x.shape[0] and grad.shape[1] == weight.shape[0]
    backward = grad.shape[0] == x.shape[0] and x.shape[1] == weight.shape[0]
    if forward and not (transposed and backward):
        channels, places = x.shape[1] // weight.shape[1], math.prod(grad.shape)
    elif backward:
        channels, places = grad.shape[1] // weight.shape[1], math.prod(x.shape)
    else:  # the gradient of a weight, whose derivatives are wanted
        channels, places = 1, math.prod(weight.shape)
        weight = grad
    flops = 2 * places * math.prod(weight.shape) // weight.shape[0]
    return Products("convolution_backward", flops * needed[0] + flops * channels * needed[1])


_BACKWARD: dict[str, Callable[..., Products]] = {
    "matmul": _each,
    "linear": _each,
    "recurrent": _recurrent_backward,
    "scaled_dot_product_attention": _attention,
    **{f"conv{n}d": _convolution for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": functools.partial(_convolution, transposed=True) for n in (1, 2, 3)},
}


def has_gradient(node: Any) -> bool:
    """True for nodes whose gradients are products."""
    return str(node.name) in _BACKWARD


def backward_of(node: Any, grads: Iterable[Tensor | None], needed: Sequence[bool]) -> Products:
    """Returns the products of a node that gets gradients, by which of its inputs' are wanted."""
    grad = next(each for each in grads if each is not None)
    name, notes = str(node.name), node.metadata
    known = notes.get(SINGLE, False) if name == "scaled_dot_product_attention" else forward_of(node)
    found = _BACKWARD[name](_saved(node), grad, needed, known)
    return Products(found.operator, found.flops * notes.get(TIMES, 1))


def examples_of(tensors: Iterable[Tensor]) -> int:
    """Returns the number of examples that a call under vmap is for."""
    return math.prod(size for _, size in {axis for each in tensors for axis in _C._hidden_axes(each)})


def nodes_of(results: Iterable[Tensor], stop: Collection[Any] = ()) -> Iterator[Any]:
    """Yields the nodes that results were recorded by, and those before them up to some that are not."""
    seen = set(stop)
    waiting = [each.grad_fn for each in results if each.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [each for each, _ in node.next_functions if each is not None]


def recorded(call: Callable[[Any], Any], values: Sequence[Any]) -> list[Products]:
    """Returns the products that an operator is made of: those that it records for tensors without memory."""
    nodes = nodes_of(_without_memory(call, values))
    return [found for node in nodes if (found := forward_of(node)) is not None]


def _without_memory(call: Callable[[Any], Any], values: Sequence[Any], as_given: bool = False) -> list[Tensor]:
    """Returns the results of a call on tensors without memory, which all want gradients, or those that did."""

    def without_memory(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [without_memory(each) for each in value]
        if not isinstance(value, Tensor):
            return value
        like = lm.empty(tuple(value.shape), dtype=value.dtype, device="meta")
        floating = lm.isdtype(value.dtype, ("real floating", "complex floating"))
        return like.requires_grad_(floating and (value.requires_grad or not as_given))

    def run() -> list[Tensor]:
        return flatten(call([without_memory(each) for each in values]))[0]

    with ThreadPoolExecutor(1) as alone:  # a thread in which there is neither no_grad, nor autocast, nor a checkpoint
        return alone.submit(run).result()

"""Rules of products: by the equation that each of them is in einsum's notation."""

from __future__ import annotations

from collections.abc import Sequence

from ._letters import broadcast_letters, letters
from .call import Call
from .registry import rule
from .spec import Spec


def _contraction(inputs: Sequence[str], output: str, added: Sequence[int] = ()) -> Spec:
    """Returns a product of tensors: split along any letter, partial where it is summed over, linear in each factor."""
    factors = [i for i in range(len(inputs)) if i not in added]
    linear = tuple(frozenset([i, *added]) for i in factors)
    summed = {letter for labels in inputs for letter in labels if letter not in output}
    return Spec(
        tuple(inputs),
        (output,),
        partial=dict.fromkeys(summed - {"."}, "sum"),
        linear=linear,
        added=frozenset(added),
    )


def matrices(a: Sequence[int], b: Sequence[int], result: Sequence[int]) -> tuple[list[str], str]:
    """Returns the letters of a matrix product: rows m, columns n, the sum over k, and batches before them."""
    batch = letters(len(result) - (len(a) > 1) - (len(b) > 1), beside="mkn")
    own = broadcast_letters([a[:-2], b[:-2]], result[: len(batch)], batch)
    left = own[0] + "mk" if len(a) > 1 else "k"
    right = own[1] + "kn" if len(b) > 1 else "k"
    return [left, right], batch + ("m" if len(a) > 1 else "") + ("n" if len(b) > 1 else "")


@rule("matmul", "mm", "mv", "bmm", "dot")
def product(call: Call) -> Spec:
    """Splits rows, columns and batches, and the sum into partial sums."""
    inputs, output = matrices(call.shapes[0], call.shapes[1], call.results()[0].shape)
    return _contraction(inputs, output)


@rule("linear")
def linear(call: Call) -> Spec:
    """Splits what is before the features, the features, and the sum into partial sums."""
    ndim = call.tensors[0].ndim
    batch = letters(ndim - 1, beside="ok")
    weight = "ok" if call.tensors[1].ndim == 2 else "k"
    output = batch + ("o" if len(weight) == 2 else "")
    bias = ["o" if call.tensors[2].ndim else ""] if len(call.tensors) > 2 else []
    return _contraction([batch + "k", weight, *bias], output, added=[2] if bias else [])


@rule("addmm", "addmv", "baddbmm")
def added_product(call: Call) -> Spec:
    """Splits as the product does; what is added is broadcast to it."""
    result = call.results()[0].shape
    inputs, output = matrices(call.shapes[1], call.shapes[2], result)
    [first] = broadcast_letters([call.shapes[0]], result, output)
    return _contraction([first, *inputs], output, added=[0])


@rule("inner")
def inner(call: Call) -> Spec | None:
    """Splits the axes of either tensor but the last, and the sum over that into partial sums."""
    a, b = call.tensors
    if not a.ndim or not b.ndim:
        return None
    names = letters(a.ndim + b.ndim - 2, beside="k")
    left, right = names[: a.ndim - 1], names[a.ndim - 1 :]
    return _contraction([left + "k", right + "k"], left + right)


@rule("outer")
def outer(call: Call) -> Spec:
    """Splits either axis."""
    return _contraction(["m", "n"], "mn")


@rule("vecdot")
def vecdot(call: Call) -> Spec | None:
    """Splits batches, and the sum into partial sums."""
    (a, b), axis = call.shapes, call.arguments.get("axis", -1)
    if len(a) != len(b) or a != b:
        return None
    names = letters(len(a))
    return _contraction([names, names], names.replace(names[axis % len(a)], ""))


@rule("tensordot")
def tensordot(call: Call) -> Spec:
    """Splits the axes that stay, and the sums into partial sums."""
    a, b = call.tensors
    left, right = list(letters(a.ndim)), list(letters(b.ndim, beside=letters(a.ndim)))
    first = [axis % a.ndim for axis in call.arguments["axes1"]]
    second = [axis % b.ndim for axis in call.arguments["axes2"]]
    for i, k in zip(first, second, strict=True):
        right[k] = left[i]
    kept = [x for i, x in enumerate(left) if i not in first] + [x for k, x in enumerate(right) if k not in second]
    return _contraction(["".join(left), "".join(right)], "".join(kept))


@rule("einsum")
def einsum(call: Call) -> Spec | None:
    """Splits the letters of the subscripts."""
    text: str = call.arguments["subscripts"].replace(" ", "")
    given, _, output = text.partition("->")
    inputs = given.split(",")
    if "..." in text or "->" not in text or any(len(set(labels)) != len(labels) for labels in inputs):
        return None
    shapes = call.shapes
    whole = {letter: max(shape[labels.index(letter)] for labels, shape in zip(inputs, shapes, strict=True)
                         if letter in labels) for letter in set("".join(inputs))}  # fmt: skip
    own = [
        "".join(letter if size == whole[letter] else "." for letter, size in zip(labels, shape, strict=True))
        for labels, shape in zip(inputs, shapes, strict=True)
    ]
    return _contraction(own, output)


@rule("bilinear")
def bilinear(call: Call) -> Spec:
    """Splits what is before the features, the features, and the sums into partial sums."""
    batch = letters(call.tensors[0].ndim - 1, beside="oij")
    bias = ["o"] if len(call.tensors) > 3 else []
    return _contraction([batch + "i", batch + "j", "oij", *bias], batch + "o", added=[3] if bias else [])

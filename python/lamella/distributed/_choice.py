"""Chooses how a call on global tensors is split: the way whose inputs cost least to bring about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from lamella import sbp as sbps
from lamella._C import Tensor
from lamella.sbp import Sbp

from ._costs import time_of
from .mesh import placement
from .redistribute import Signature, direct, links_of, local_shape
from .rules import Call, Pieces, Spec, Way

#: Seconds by which an even cut is preferred to an uneven one at the same price.
_UNEVEN = 1e-9
#: What a partial result costs of the time in which its parts are put together, as somebody has to later.
_LATER = 0.99
#: Seconds by which a tensor that is written to is left as it lies.
_MOVED = 1e9


class Choice(NamedTuple):
    """Signatures with which a call is split over a mesh."""

    #: The signatures that each tensor is brought to.
    inputs: tuple[Signature, ...]
    #: Those of each result.
    outputs: tuple[Signature, ...]
    #: The results' global shapes; None where a run decides on them, and all is broadcast.
    shapes: tuple[tuple[int, ...], ...] | None
    #: The parameters that hold a result's shape.
    shape_parameters: tuple[tuple[str, int], ...]
    run: Callable[[Call, Pieces], Any] | None


def price(source: Sbp, target: Sbp, whole: float, n: int, link: Any) -> float:
    """Returns the seconds in which a signature becomes another along one axis of a mesh.

    A part that is padded to a partial sum counts as if that were put together at once: somebody has to later.
    """
    name = direct(source, target)
    if name == "pad":
        name = "reduce_scatter"
    if name is not None:
        return time_of(name, whole, n, link)
    there, back = direct(source, sbps.broadcast), direct(sbps.broadcast, target)
    return time_of(there or "none", whole, n, link) + time_of(back or "none", whole, n, link)


def spec_of(found: Any, call: Call, results: Sequence[Sequence[int]] | None, op: str) -> Spec:
    """Returns what a rule said as a :class:`Spec`.

    Raises:
        TypeError, ValueError: it is neither that nor a list of pairs with a signature for each tensor.
    """
    if isinstance(found, Spec):
        count = len(found.outputs) if results is None else len(results)
        if len(found.inputs) != len(call.tensors) or len(found.outputs) != count:
            raise ValueError(
                f"[{op}] the SBP rule names the axes of {len(found.inputs)} tensors and {len(found.outputs)} results, "
                f"and there are {len(call.tensors)} and {count}"
            )
        return found
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise TypeError(f"[{op}] an SBP rule returns a Spec or a list of ways, not {type(found).__name__}")
    ways = []
    for one in found:
        if isinstance(one, Way):
            ways.append(one)
            continue
        try:
            inputs, outputs = one
        except (TypeError, ValueError):
            raise TypeError(f"[{op}] a way is a pair of lists of signatures, not {one!r}") from None
        ways.append(Way(_signatures(inputs, call.shapes, op, "tensors"), _signatures(outputs, results, op, "results")))
    blank = tuple("." * len(shape) for shape in call.shapes)
    count = len(results) if results is not None else len(ways[0].outputs) if ways else 1
    return Spec(blank, ("",) * count, more=tuple(ways))


def _signatures(given: Any, shapes: Sequence[Sequence[int]] | None, op: str, of: str) -> tuple[Sbp, ...]:
    listed = [given] if isinstance(given, Sbp) else list(given)
    if shapes is None:
        return tuple(listed)
    if len(listed) != len(shapes):
        raise ValueError(f"[{op}] the SBP rule gives {len(listed)} signatures, and there are {len(shapes)} {of}")
    return tuple(sbps.signature(one, 1, len(shape), op)[0] for one, shape in zip(listed, shapes, strict=True))


def check_parts(name: str, parts: Sequence[Tensor], choice: Choice, mesh: placement, at: Sequence[int]) -> None:
    """ValueError where this process's parts of results do not have the shapes that their signatures say."""
    if choice.shapes is None or len(choice.shapes) != len(parts):
        return
    for x, shape, signature in zip(parts, choice.shapes, choice.outputs, strict=True):
        wanted = local_shape(shape, mesh, signature, at)
        if tuple(x.shape) != wanted:
            raise ValueError(
                f"[{name}] the SBP rule says that a result of shape {list(shape)} is {', '.join(map(str, signature))}, "
                f"so that this process has {list(wanted)}, and it computes {list(x.shape)}"
            )


def _fits(way: Way, shapes: Iterable[Sequence[int]], n: int) -> bool:
    """True if each process gets a part of every tensor that a way cuts."""
    return all(shape[one.axis] >= n for one, shape in zip(way.inputs, shapes, strict=True) if one.is_split)


def _continues(way: Way, given: Sequence[Sequence[Signature]], k: int) -> bool:
    """False for a way that would make partial what is not."""
    partial = [i for i, one in enumerate(way.inputs) if one.is_partial]
    return not partial or any(given[i][0][k] is way.inputs[i] for i in partial)


def _price_of(source: Signature, target: Sbp, k: int, shape: Sequence[int], itemsize: int, mesh: placement) -> float:
    """Returns the seconds in which a tensor that lies as ``source`` comes to ``target`` along axis ``k``."""
    if source[k] is target:
        return 0.0
    later = [n for one, n in zip(source[k + 1 :], mesh.shape[k + 1 :], strict=True) if one.is_split]
    whole = math.prod(shape) * itemsize / math.prod(later)
    return price(source[k], target, whole, mesh.shape[k], links_of(mesh)[k])


def choose(
    spec: Spec,
    call: Call,
    results: Sequence[Sequence[int]] | None,
    given: Sequence[Sequence[Signature]],
    mesh: placement,
    itemsizes: Sequence[int],
    in_place: bool,
) -> tuple[list[list[Sbp]], list[list[Sbp]]]:
    """Returns the signatures of the tensors and of the results, one list for each axis of the mesh.

    The axes of the mesh are decided on one after the other, the outermost first: the parts that one leaves are split by
    the next.

    Args:
        spec: what the rule said.
        call: the call.
        results: the shapes of its results, where they are known before.
        given: the signatures under which each tensor is there, its own first.
        mesh: the processes.
        itemsizes: the bytes of an element of each tensor.
        in_place: True if the first tensor is written to, whose signatures stay where they can.

    """
    shapes = [list(shape) for shape in call.shapes]
    sizes = spec.sizes(call.shapes, results)
    # Bytes of each result that the processes along the rest of the mesh share.
    nbytes = [math.prod(shape) * max(itemsizes) for shape in results or ()]
    inputs: list[list[Sbp]] = []
    outputs: list[list[Sbp]] = []
    for k, n in enumerate(mesh.shape):
        best = math.inf, Way((), ())
        for way in spec.ways(sizes, 1 if in_place else n):
            if in_place and way.inputs[0] is not way.outputs[0]:
                continue
            if not way.letter and not in_place and not _fits(way, shapes, n):
                continue
            if not way.letter and not _continues(way, given, k):
                continue
            cost = _UNEVEN if way.letter and sizes[way.letter] % n else 0.0
            for i, target in enumerate(way.inputs):
                if in_place and i == 0 and given[0][0][k] is not target:
                    cost += _MOVED
                cost += min(_price_of(one, target, k, shapes[i], itemsizes[i], mesh) for one in given[i])
            for i, made in enumerate(way.outputs):
                if made.is_partial and nbytes:
                    cost += _LATER * time_of("reduce_scatter", nbytes[i], n, links_of(mesh)[k])
            if cost < best[0]:
                best = cost, way
        way = best[1]
        inputs.append(list(way.inputs))
        outputs.append(list(way.outputs))
        for shape, one in zip(shapes, way.inputs, strict=True):
            if one.is_split:
                shape[one.axis] //= n
        nbytes = [size // n if one.is_split else size for size, one in zip(nbytes, way.outputs, strict=False)]
        if way.letter:
            sizes[way.letter] //= n
    return inputs, outputs


def without_rule(call: Call, given: Sequence[Signature], mesh: placement) -> str:
    """Returns the message for a call that no rule tells how to split."""
    lies = ", ".join(
        f"{list(shape)} as ({', '.join(x.short for x in one)})" for shape, one in zip(call.shapes, given, strict=True)
    )
    return (
        f"[{call.name}] has no SBP rule that says how it is split over {list(mesh.shape)} processes, and is given "
        f"{lies}: "
        f"register one (lm.distributed.register_sbp({call.name!r}), a PyLayer's method sbp, SetGetSbpFn in C++), "
        "or make its tensors whole with to_global(sbp=lm.sbp.broadcast)"
    )


def splits(outputs: Sequence[Signature], inputs: Sequence[Signature], axis: int) -> bool:
    """True if a call is split along an axis of the mesh."""
    return any(one[axis].is_split for one in (*outputs, *inputs))

"""Rules of operators in OneFlow's dialect: what their ``SetGetSbpFn`` lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lamella as lm
from lamella import _C
from lamella._C import Tensor
from lamella.sbp import Sbp, parse

from .call import Call
from .spec import Way


def _given(use: Any, tensors: Sequence[Tensor]) -> dict[str, list[Tensor]]:
    remaining = iter(tensors)
    return {key: [next(remaining) for _ in own] for key, own in use[2].items()}


def results(use: Any, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the results of a use on ``meta``, as the operator's shape function tells them."""
    op, name, _, declared, attrs = use
    outputs = {key: rest for key, *rest in _C._user_op_describe(op, name, _given(use, tensors), declared, attrs)}
    found = []
    for key in declared or outputs:
        for (shape, dtype), dynamic in zip(*outputs[key], strict=True):
            if dynamic:
                raise RuntimeError(f"[{op}] the size of '{key}' is known only when the operator has run")
            found.append(lm.empty(list(shape), dtype=dtype, device="meta"))
    return found


def signatures(call: Call) -> list[Way]:
    """Returns the ways that the operator's function lists, the last of which broadcasts all."""
    op, name, inputs, declared, attrs = call.context
    given = _given(call.context, call.tensors)
    described: list[Any] = list(_C._user_op_describe(op, name, given, declared, attrs))
    counts = {key: len(rest[0]) for key, *rest in described}
    outputs = [(key, i) for key in declared or counts for i in range(counts[key])]
    places = [(key, i) for key, own in inputs.items() for i in range(len(own))]
    ways = []
    for listed in _C._user_op_sbp(op, name, given, declared, attrs):
        found: dict[tuple[str, int], Sbp] = {place: parse(text) for place, text in listed.items()}
        ways.append(Way(tuple(found[place] for place in places), tuple(found[place] for place in outputs)))
    return ways

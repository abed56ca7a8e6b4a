"""Calls every operator with each of its tensors in turn on another device than the others, and says what came of it.

Arguments: the other device, and how many calls to pass over. A line with the call's name is printed before it is made,
and one with its outcome after it: where the process ends, the parent knows by which call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

OTHER, SKIPPED = sys.argv[1], int(sys.argv[2])
if OTHER.startswith("npu"):
    import sim_npu  # noqa: F401

import lamella as lm  # noqa: E402 (the device comes first)
from ops import calls  # noqa: E402

recorded: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
depth = 0


def recording(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        global depth
        if depth == 0:
            recorded.append((name, function, args, kwargs))
        depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            depth -= 1

    return call


def tensors(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of the tensors in arguments."""
    if isinstance(value, lm.Tensor):
        yield place
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors(item, (*place, i))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors(item, (*place, key))


def moved(value: Any, place: tuple[Any, ...]) -> Any:
    """The arguments with the tensor at `place` on the other device, and copies of all others: some are written to."""
    if isinstance(value, lm.Tensor):
        return value.detach().to(OTHER) if place == ("here",) else value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, place[1:] if place[:1] == (i,) else ()) for i, item in enumerate(value))
    if isinstance(value, dict):
        return {key: moved(item, place[1:] if place[:1] == (key,) else ()) for key, item in value.items()}
    return value


def devices(value: Any) -> set[str]:
    if isinstance(value, lm.Tensor):
        return {str(value.device)}
    return set().union(*map(devices, value)) if isinstance(value, (list, tuple)) else set()


def outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> str:
    try:
        result = function(*args, **kwargs)
    except Exception as error:  # each type is looked at by the parent
        return f"{type(error).__name__} {error}"
    return "returned " + " ".join(sorted(devices(result)))


names = [op["name"] for op in lm._C.operators()]
for name in names:
    if hasattr(lm, name):
        setattr(lm, name, recording(name, getattr(lm, name)))
    if hasattr(lm.Tensor, name):
        setattr(lm.Tensor, name, recording(name, getattr(lm.Tensor, name)))


def programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The calls of the tests' table; and each operator's example, with as many tensors as an elementwise one takes."""
    for name, cases in calls.CALLS.items():
        for call, inputs in cases:
            yield name, lambda call=call, inputs=inputs: call(*[x.detach() for x in inputs])
    for op in lm._C.operators():
        if op["elementwise"] and op["inputs"] > 1 and hasattr(lm, op["name"]):
            dtype = next(d for d in ("float32", "int32", "bool") if d in op["dtypes"])
            given = [lm.full([2], 1, dtype=dtype) for _ in range(op["inputs"])]
            if op["mask_input"]:
                given[0] = given[0].astype("bool")
            yield op["name"], lambda op=op, given=given: getattr(lm, op["name"])(*given)
        if op["example"] and hasattr(lm, op["name"]):
            yield op["name"], lambda op=op: eval(op["example"], vars(lm) | {"distributed": lm.distributed})


number = 0
for name, program in programs():
    recorded.clear()
    with lm.no_grad():
        program()
    for op, function, args, kwargs in [entry for entry in recorded if entry[0] == name]:
        places = list(tensors((args, kwargs)))
        if len(places) < 2:
            continue
        depth = 1  # nothing is recorded from here on
        for place in places:
            if number >= SKIPPED:
                print("call", number, op, *place, flush=True)
                given = moved((args, kwargs), (*place, "here"))
                print("done", outcome(function, *given).replace("\n", " "), flush=True)
            number += 1
        depth = 0
print("end", number, flush=True)

"""Counts launches, copies and waits of every operator in the emulation of CUDA, and compares them with those on record.

    PYTHONPATH=build/emulation:tests/python LAMELLA_TEST_DEVICE=cuda python tests/python/devices/cuda_calls.py --renew

writes ``tests/cuda/calls.json`` and ``tests/cuda/without_kernels.txt``. The calls are those of the tests' table and,
for elementwise operators, their examples.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import lamella as lm
from support import default_device, emulation

RECORD = default_device.LIST.with_name("calls.json")
HEAD = """\
# Operators without a kernel for CUDA, by the names with which their errors open: they raise NotImplementedError there.
# A test in the emulation of CUDA fails if an operator of the list works, or one that is not on it does not.
#
# The QR iterations of linalg_eig and the pivots of linalg_ldl_factor_ex are one chain of small steps, for which a
# device takes longer than the CPU; x.to("cpu") says where it is done.
"""

Counts = dict[str, int]


def tensors(result: Any) -> list[lm.Tensor]:
    """The tensors of a result, or of the lists and tuples that it is made of."""
    if isinstance(result, lm.Tensor):
        return [result]
    return [x for part in result for x in tensors(part)] if isinstance(result, (tuple, list)) else []


def run(call: Callable[..., Any], inputs: list[lm.Tensor]) -> tuple[Counts, Counts | None]:
    """What a call takes, and what its gradient takes; None for one without a gradient."""
    given = [x.detach().clone() for x in inputs]
    for x, y in zip(given, inputs, strict=True):
        x.stop_gradient = y.stop_gradient
    with emulation.counted() as forward:
        results = tensors(call(*given))
    differentiable = [y for y in results if not y.stop_gradient]
    wanted = [x for x in given if not x.stop_gradient]
    if not differentiable or not wanted:
        return forward, None
    ones = [lm.ones_like(y) for y in differentiable]
    with emulation.counted() as backward:
        lm.grad(differentiable, wanted, ones, allow_unused=True)
    return forward, backward


def programs() -> list[tuple[str, Callable[..., Any], list[lm.Tensor]]]:
    """The counted calls with their names: an operator's, and the number of the call where there are several."""
    from ops import calls

    found = []
    for name, cases in calls.CALLS.items():
        for number, (call, inputs) in enumerate(cases):
            found.append((name if len(cases) == 1 else f"{name} {number}", call, inputs))
    for op in lm._C.operators():
        if op["elementwise"] and op["name"] not in calls.CALLS and op["example"]:
            found.append((op["name"], lambda op=op: eval(op["example"], dict(vars(lm))), []))
    return found


def measure() -> tuple[dict[str, Any], set[str]]:
    """The counts of all programs, and the operators without a kernel."""
    record: dict[str, Any] = {}
    without: set[str] = set()
    for name, call, inputs in programs():
        lm.seed(0)
        try:
            run(call, inputs)  # what is done once in a process is not counted
            lm.seed(0)
            forward, backward = run(call, inputs)
        except NotImplementedError as error:
            if (found := default_device.NO_KERNEL.match(str(error))) is None:
                raise
            without.add(found[1])
            record[name] = "no kernel"
        except Exception as error:
            raise RuntimeError(f"{name} on {default_device.DEVICE}: {error}") from error
        else:
            record[name] = [forward] if backward is None else [forward, backward]
    return dict(sorted(record.items())), without


def as_text(record: dict[str, Any]) -> str:
    """The record with a line for each call."""
    lines = (f" {json.dumps(name)}: {json.dumps(counts)}" for name, counts in record.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def recorded() -> dict[str, Any]:
    """What is on record."""
    result: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return result


def differences(record: dict[str, Any]) -> list[str]:
    """What is counted otherwise than on record, a line for each call."""
    old = recorded()
    names = sorted({*record, *old})
    return [f"{name}: {old.get(name)} -> {record.get(name)}" for name in names if record.get(name) != old.get(name)]


if __name__ == "__main__":
    default_device.use(default_device.DEVICE)
    found, missing = measure()
    if "--renew" in sys.argv:
        RECORD.write_text(as_text(found), encoding="utf-8")
        default_device.LIST.write_text(HEAD + "".join(f"{name}\n" for name in sorted(missing)), encoding="utf-8")
    else:
        print(*differences(found), sep="\n")

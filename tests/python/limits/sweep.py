"""Runs calls of the library under limits of memory that are swept in small steps, each in a process of its own.

    python sweep.py [--step KILOBYTES] [--points N] [--fresh] [CASE...]

Each case (see cases.py) is called once without a limit, in a child of fork(), for its results and for the memory that
it needs. Then, for each limit, another child prepares the operands, forbids itself (RLIMIT_AS) more than so much beyond
what it has, calls twice, lifts the limit, calls again and compares. A call may succeed or raise a MemoryError that says
which operator asked; the last one succeeds. Prints a line for each child in which something else happened, among them
those that a signal ended and those that did not come back within --patience seconds, and ends with 1 where there were
any.

The limits are --step kilobytes apart, from nothing to what the case needs and beyond; once nothing has been refused
for a while they are farther apart. With --points, at most so many are tried, spread evenly. With --fresh each child is
a new interpreter instead of a fork, so that it has threads.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

KILOBYTE = 1024
#: After so many limits in a row under which nothing was refused, only each of so many is tried.
CALM, STRIDE = 50, 25


def memory(key: str) -> int:
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * KILOBYTE for line in file if line.startswith(key + ":"))


def plain(result: Any) -> Any:
    """What results are compared by: arrays, numbers and text."""
    import numpy as np

    import lamella as lm

    if isinstance(result, lm.Tensor):
        result = result.detach()
        # Where oneDNN finds no room another product rounds to bfloat16: as wide as float16 says, these are compared.
        return np.array((result.astype(lm.float16) if result.dtype == lm.bfloat16 else result).numpy())
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    if isinstance(result, (tuple, list)):
        return [plain(value) for value in result]
    return result


def same(a: Any, b: Any) -> bool:
    import numpy as np

    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        if not isinstance(b, np.ndarray) or a.shape != b.shape:
            return False
        if a.dtype != np.float16:
            return np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True)
        # Sums of rounded numbers may cancel: these differ by a part of the largest.
        size = np.abs(np.nan_to_num(a.astype(np.float32))).max(initial=1)
        return np.allclose(a, b, rtol=2**-6, atol=2**-6 * size, equal_nan=True)
    return type(a) is type(b) and a == b


def prepared(name: str) -> Any:
    """The call of a case. The module of kernels is loaded, but for the case that is about that."""
    import cases

    import lamella as lm

    if name != cases.FIRST:
        lm.exp(lm.ones([2]))
    return cases.CASES[name]()


def need_of(name: str) -> tuple[int, Any]:
    """What the case takes beyond what there is before, in bytes, and its result."""
    call = prepared(name)
    before = memory("VmSize")
    result = plain(call())
    return memory("VmPeak") - before, result


def attempt(name: str, room: int, expected: Any) -> tuple[str, bool]:
    """What went wrong with `room` bytes to be had, nothing where all is well; and whether memory was refused at all."""
    call = prepared(name)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    errors: list[BaseException] = []
    wrong: list[Any] = []
    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + room, hard))
    for _ in range(2):
        try:
            result = call()
        except BaseException as error:
            errors.append(error)
        else:
            wrong.append(result)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    for result in wrong:
        if not same(expected, plain(result)):
            return "the result under the limit is wrong", True
    refused = bool(errors)
    for error in errors:
        if not isinstance(error, MemoryError):
            return "".join(traceback.format_exception(error)), True
        if not str(error).startswith("["):
            text = "".join(traceback.format_exception(error))
            return f"a MemoryError that names no operator: {str(error)!r}\n{text}", True
    errors.clear()
    try:
        result = plain(call())
    except BaseException as error:
        return "after the limit was lifted: " + "".join(traceback.format_exception(error)), True
    return "" if same(expected, result) else "the result after the limit was lifted is wrong", refused


def in_fork(function: Any, patience: float) -> tuple[str, Any]:
    """What the function returns in a child, or how the child ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            with os.fdopen(writer, "wb") as file:
                pickle.dump(function(), file)
        except BaseException:
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    os.close(writer)
    chunks = []
    with os.fdopen(reader, "rb") as file:
        while select.select([file], [], [], patience)[0]:
            chunk = os.read(file.fileno(), 1 << 16)
            if not chunk:
                break
            chunks.append(chunk)
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"did not end within {patience} seconds", None
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0 or not chunks:
        return f"ended with status {status}", None
    return "", pickle.loads(b"".join(chunks))


def in_interpreter(name: str, room: int, expected: Any, patience: float) -> tuple[str, Any]:
    command = [sys.executable, __file__, "--one", name, "--room", str(room)]
    # Threads that spin while they wait take minutes where other programs need the processors.
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    given = pickle.dumps(expected)
    try:
        run = subprocess.run(command, input=given, capture_output=True, timeout=patience, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return f"did not end within {patience} seconds", None
    if run.returncode != 0:
        return f"ended with status {run.returncode}: {run.stderr.decode()[-500:]}", None
    return "", tuple(json.loads(run.stdout))


def sweep(name: str, step: int, points: int, fresh: bool, patience: float) -> list[str]:
    fault, answer = in_fork(lambda: need_of(name), 60)
    if fault:
        return [f"{name}: without a limit it {fault}"]
    need, expected = answer
    # Room that a library wants to see before it is called, though it takes less, lies within the last part.
    rooms = list(range(0, need + (40 << 20), step * KILOBYTE))
    if points and len(rooms) > points:
        # Half of them where most allocations are.
        near = rooms[:: max(1, min(len(rooms), need // (step * KILOBYTE) + 1) * 2 // points)][: points // 2]
        rooms = sorted({*near, *rooms[:: max(1, len(rooms) * 2 // points)]})
    faults = []
    calm = 0
    for i, room in enumerate(rooms):
        if calm >= CALM and i % STRIDE and not points:
            continue
        if fresh:
            fault, outcome = in_interpreter(name, room, expected, patience)
        else:
            fault, outcome = in_fork(lambda room=room: attempt(name, room, expected), patience)
        wrong, refused = outcome if outcome else ("", True)
        calm = 0 if refused else calm + 1
        if fault or wrong:
            faults.append(f"{name}, {room // KILOBYTE} kB: {fault or wrong}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--step", type=int, default=40)
    parser.add_argument("--points", type=int, default=0)
    parser.add_argument("--patience", type=float, default=20)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--room", type=int)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(attempt(arguments.one, arguments.room, pickle.load(sys.stdin.buffer))))
        return 0
    import cases

    faults = []
    for name in arguments.names or cases.CASES:
        found = sweep(name, arguments.step, arguments.points, arguments.fresh, arguments.patience)
        faults += found
        print(f"{name}: {len(found)} faults", file=sys.stderr, flush=True)
        for fault in found[:5]:
            print(fault, flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

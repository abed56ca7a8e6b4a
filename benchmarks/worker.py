"""One framework in a process of its own: reads requests from standard input and answers on standard output, JSON lines.

    {"do": "hello"}                                  {"version": "2.15.0", "python": "3.11.2", "loop_ns": 12.3}
    {"do": "check", "workload": "add"}               {"results": [{"shape": [2, 3], "dtype": "float32", ...}]}
    {"do": "calibrate", "workload": "add", "seconds": 0.1}      {"count": 120000}
    {"do": "time", "workload": "add", "count": 120000}          {"seconds": 0.0993}

A request that fails is answered with {"error": "ValueError: ...", "traceback": "..."}. The end of the requests is the
end of the process.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
import traceback
from collections import ChainMap
from typing import Any, TextIO

import numpy as np

from benchmarks.adapters import Adapter, load
from benchmarks.compiled import COMPILED
from benchmarks.operators.workloads import SWEEP
from benchmarks.ported import PORTED
from benchmarks.timing import CLOCKS, Loop, calibrate, compile_loop, time_loop, warm_up
from benchmarks.workloads import WORKLOADS, Work

#: Number of leading values of each result that are compared one by one, beside the sums over all of them.
_LEADING_VALUES = 8


def describe_result(array: np.ndarray) -> dict[str, Any]:
    """Returns the numbers that the driver compares: enough to tell different work, few enough to send."""
    real = array.reshape(-1).view(array.real.dtype) if np.iscomplexobj(array) else array
    given = np.asarray(real, np.float64).reshape(-1)
    values = np.where(np.isfinite(given), given, 0)
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "not_finite": [int((np.isnan(given)).sum()), int((given == np.inf).sum()), int((given == -np.inf).sum())],
        "sum": float(values.sum()),
        "absolute_sum": float(np.abs(values).sum()),
        "first": values[:_LEADING_VALUES].tolist(),
    }


class Worker:
    """Holds the workloads that are ready, and answers requests about them."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        # One at a time: together their tensors would fill the memory.
        self._ready: tuple[str, Loop] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answers one request."""
        match request["do"]:
            case "hello":
                empty = compile_loop(Work("pass", {}, ()))
                return {
                    "version": self._adapter.version(),
                    "python": platform.python_version(),
                    "loop_ns": min(time_loop(empty, 100_000) for _ in range(5)) * 1e4,
                }
            case "check":
                return {"results": self._check(request["workload"])}
            case "calibrate":
                loop = self._loop(request["workload"])
                return {"count": calibrate(loop, request["seconds"])}
            case "time":
                loop = self._loop(request["workload"])
                count = request["count"]
                gc.collect()
                warm_up(loop, count)
                return {"seconds": time_loop(loop, count, CLOCKS[request.get("clock", "wall")])}
            case other:
                raise ValueError(f"unknown request {other!r}")

    def _prepare(self, name: str) -> Work:
        prepare = ChainMap(SWEEP, COMPILED, PORTED, WORKLOADS)[name].prepare
        if prepare is None:
            raise ValueError(f"{name} is not a worker's to time")
        return prepare(self._adapter)

    def _loop(self, name: str) -> Loop:
        if self._ready is None or self._ready[0] != name:
            self._ready = None
            self._ready = name, compile_loop(self._prepare(name))
            # A framework pays for the garbage that it makes, not for the modules that it has loaded.
            gc.collect()
            gc.freeze()
        return self._ready[1]

    def _check(self, name: str) -> list[dict[str, Any]]:
        work = self._prepare(name)
        namespace = dict(work.variables)
        for _ in range(work.runs):
            exec(work.statement, namespace)
        return [describe_result(self._adapter.numpy(eval(result, namespace))) for result in work.results]


def serve(worker: Worker, requests: TextIO, answers: TextIO) -> None:
    """Answers until the requests end."""
    for line in requests:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main(framework: str) -> None:
    """Serves on the process's own pipes."""
    # Output of a framework must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    adapter = load(framework)
    adapter.set_threads(int(os.environ["OMP_NUM_THREADS"]))
    serve(Worker(adapter), sys.stdin, answers)


if __name__ == "__main__":
    main(sys.argv[1])

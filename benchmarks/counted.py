"""The process whose instructions benchmarks.instructions counts: `python -m benchmarks.counted NAME COUNT LIBRARY`.

It runs a workload under callgrind, which starts without counting, and has COUNT runs of the statement counted, by the
two functions of the library that is built of benchmarks/cpp/counter.cc.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Literal

from benchmarks.adapters import Adapter, load
from benchmarks.timing import compile_loop
from benchmarks.workloads import WORKLOADS, Work

#: Name of the empty workload: the instructions of the loop and the counting themselves.
NOTHING = "nothing"
_TIMED_TOO = (
    "add",
    "add_recorded",
    "relu",
    "reshape",
    "index",
    "sum",
    "matmul8",
    "chain",
    "chain_shared",
    "pylayer_identity",
    "pylayer_tanh",
    "pylayer_identity_one",
)


def _add_backward(fw: Adapter) -> Work:
    """A call of backward() through one op."""
    import numpy as np

    values = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    variables = {"x": fw.tensor(values, wants_grad=True), "b": fw.tensor(values), "dy": fw.tensor(values)}
    return Work(f"{fw.clear_grad('x')}\ny = x + b\ny.backward(dy)", variables, ("x.grad",))


def _optimizer(name: Literal["SGD", "Adam"]) -> Callable[[Adapter], Work]:
    """A step for four small parameters, which keep their gradients."""

    def prepare(fw: Adapter) -> Work:
        import numpy as np

        values = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
        model = fw.nn.Sequential(fw.nn.Linear(8, 8), fw.nn.Linear(8, 8))
        trainer = fw.trainer(model, [values, values[0]] * 2, "mse_loss", name, 0.001)
        trainer.loss(trainer.model(fw.tensor(values)), fw.tensor(values)).backward()
        return Work("step()", {"step": trainer.step}, ())

    return prepare


#: Counted workloads by name.
COUNTED: dict[str, Callable[[Adapter], Work]] = {
    NOTHING: lambda fw: Work("pass", {}, ()),
    **{name: prepare for name in _TIMED_TOO if (prepare := WORKLOADS[name].prepare)},
    "add_backward": _add_backward,
    "sgd_step": _optimizer("SGD"),
    "adam_step": _optimizer("Adam"),
}


def main(name: str, count: int, library: str) -> None:
    """Runs the workload, and has its third loop counted: caches are filled by then."""
    counter = ctypes.PyDLL(library)
    loop = compile_loop(COUNTED[name](load("lamella")))
    gc.collect()
    gc.disable()
    for function in (counter.start_counting, counter.stop_counting):
        function.argtypes, function.restype = (), None
    start, stop = counter.start_counting, counter.stop_counting
    loop(count)
    loop(count)
    start()
    loop(count)
    stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

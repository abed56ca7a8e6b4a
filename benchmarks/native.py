"""C++ without Python: `benchmarks/run cpp` times the programs of benchmarks/cpp, Lamella's beside libtorch's."""

from __future__ import annotations

from benchmarks.workloads import Workload


def _workloads() -> dict[str, Workload]:
    rows = (
        ("add", "add(a, b), 2x3", 1, 0.12),
        ("add_recorded", "add(a, b), 2x3, recorded", 1, 0.12),
        ("reshape", "reshape(x, {3, 2}), 2x3", 1, None),
        ("sum", "sum(x), 2x3", 1, None),
        ("matmul8", "matmul(a, b), 8x8", 1, None),
        ("add_backward", "one add and backward()", 1, None),
        ("chain", "100 times y = add(y, b), forward and backward, per op", 100, 0.12),
        ("chain_shared", "the same, b wants a gradient too, per op", 100, 0.12),
        ("function_identity", "100 identity Function<T>, forward and backward, per layer", 100, 0.12),
        ("function_tanh", "100 tanh Function<T> written with ops, forward and backward, per layer", 100, 0.12),
        ("function_identity_one", "one identity Function<T> and backward()", 1, None),
        ("function_tanh_one", "one tanh Function<T> and backward()", 1, None),
    )
    return {name: Workload(name, title, None, ops, goal) for name, title, ops, goal in rows}


#: Workloads by the names in benchmarks/cpp/workloads.h.
NATIVE = _workloads()

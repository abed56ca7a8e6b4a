"""The rows as workloads: one for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.operators import ROWS
from benchmarks.operators.rows import Case, Input, Row
from benchmarks.workloads import Work, Workload

if TYPE_CHECKING:
    from benchmarks.adapters import Adapter


def _tensor(fw: Adapter, wanted: Input, seed: int, wants_grad: bool) -> Any:
    tensor = fw.tensor(wanted.array(seed), wants_grad)
    if wanted.dtype == "bfloat16":
        tensor = fw.cast(tensor, wanted.dtype)
    return eval(wanted.view, {**fw.modules, "x": tensor}) if wanted.view else tensor


def _gradient_of(fw: Adapter, result: Any) -> Any:
    """Returns a gradient for a result, in its shape and dtype."""
    values = fw.numpy(result)
    return fw.tensor(Input(values.shape, dtype=str(values.dtype)).array(99))


def _prepare(row: Row, one: Case, fw: Adapter) -> Work:
    call = row.ours if "lm" in fw.modules else row.theirs
    variables = {
        name: _tensor(fw, value, seed, name in one.wants) if isinstance(value, Input) else value
        for seed, (name, value) in enumerate(one.variables.items())
    }
    variables |= fw.modules
    if not one.wants:
        return Work(call, variables, (call,) if row.agrees else ())
    variables["dy"] = _gradient_of(fw, eval(call, dict(variables)))
    statement = "\n".join([*map(fw.clear_grad, one.wants), f"y = {call}", "y.backward(dy)"])
    return Work(statement, variables, ("y", *(f"{name}.grad" for name in one.wants)) if row.agrees else ())


def _workload(row: Row, one: Case) -> Workload:
    name = f"{row.ours.removeprefix('lm.')}: {one.label}"
    return Workload(
        name,
        name,
        lambda fw: _prepare(row, one, fw),
        goal=one.goal,
        group=row.op,
        tolerance=row.tolerance,
    )


#: All of the sweep by name.
SWEEP: dict[str, Workload] = {}
for _row in ROWS:
    for _case in _row.cases:
        _made = _workload(_row, _case)
        assert _made.name not in SWEEP, f"two workloads are named {_made.name}"
        SWEEP[_made.name] = _made

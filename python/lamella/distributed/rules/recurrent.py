"""Rules of recurrent cells and networks: by batch."""

from __future__ import annotations

from .call import Call
from .registry import rule
from .spec import UNKNOWN, Spec


@rule("rnn_cell", "gru_cell", "lstm_cell")
def cell(call: Call) -> Spec | None:
    """Splits the batch."""
    states = 2 if call.name == "lstm_cell" else 1
    if call.tensors[0].ndim != 2:
        return None
    row = "n" + UNKNOWN
    inputs = [row] * (1 + states) + [UNKNOWN * x.ndim for x in call.tensors[1 + states :]]
    return Spec(tuple(inputs), (row,) * len(call.results()))


@rule("rnn", "gru", "lstm")
def network(call: Call) -> Spec | None:
    """Splits the batch, the second axis of a sequence and of the states."""
    states = 2 if call.name == "lstm" else 1
    if call.tensors[0].ndim != 3 or (call.arguments.get("dropout") and call.arguments.get("training")):
        return None
    sequence = UNKNOWN + "n" + UNKNOWN
    inputs = [sequence] * (1 + states) + [UNKNOWN * x.ndim for x in call.tensors[1 + states :]]
    return Spec(tuple(inputs), (sequence,) * len(call.results()))

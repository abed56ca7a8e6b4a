"""Graphs: programs that are recorded once, and run often.

A graph is a list of calls of operators. It is recorded by calling them on :class:`Symbol` objects, which stand for
tensors that are known when the graph runs::

    graph = lm.graph.Graph()
    x = graph.input("x", lm.float32, [-1, 3])
    with lm.graph.recording(graph):
        y = lm.tanh(x @ weight + 1)
    [value] = graph.run({"x": lm.ones([5, 3])}, [y])

Registered operators and :class:`~lamella.PyLayer` are nodes like any other. :meth:`Graph.gradients` adds the gradients
of values, with the numbers that :func:`lamella.grad` gives. A graph has a text form, which can be read and parsed.
"""

from ._graph import Graph, Node
from ._native import NativeStatus, native_status, set_native
from ._recorder import is_recording, not_recording, recorded_graph, recording, start_recording, stop_recording
from ._sizes import UnknownValueError
from ._symbol import Symbol

__all__ = [
    "Graph",
    "NativeStatus",
    "Node",
    "Symbol",
    "UnknownValueError",
    "is_recording",
    "native_status",
    "not_recording",
    "recorded_graph",
    "recording",
    "set_native",
    "start_recording",
    "stop_recording",
]

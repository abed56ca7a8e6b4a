#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "engine/graph/executor.h"

namespace lamella::python {

/// Returns the graph of a Python object of that type.
const graph::Graph& graph_of(PyObject* object);
/// Runs an executor whose nodes call the functions of a list; a failing node's exception gets a note that describes it.
std::vector<Tensor> run_executor(graph::Executor& executor, std::span<const Tensor> feeds, PyObject* functions,
                                 graph::Executor::Failure& failure);

/// Makes the type of graphs, which lamella.graph wraps.
PyTypeObject* make_graph_type();

}  // namespace lamella::python

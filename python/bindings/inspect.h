#pragma once

#include <Python.h>

namespace lamella::python {

/// explain, draw, counts of nodes, and the switches of trace() and detect_anomaly.
PyMethodDef* inspect_functions();

}  // namespace lamella::python

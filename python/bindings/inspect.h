#pragma once

#include <Python.h>

namespace lamella::python {

/// Returns the module's functions explain, draw and graph statistics, and the switches of trace() and detect_anomaly.
PyMethodDef* inspect_functions();

}  // namespace lamella::python

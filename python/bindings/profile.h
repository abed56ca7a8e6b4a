#pragma once

#include <Python.h>

#include <string_view>

// Note [Profiles]
// While a thread is profiled, calls of operators are measured: the method tables that recorders exchange (Note
// [Capture]) and the slots of the tensor type, of which Python reads the entry in every call, hold functions that
// measure. So calls cost nothing more while nobody profiles.

namespace lamella::python {

/// Returns a layer's path in the model that this thread profiles, or the name of its class; the text lives as long as
/// both.
std::string_view name_of_layer(PyObject* layer);

/// Returns the functions of profiles. The tensor type exists already, as its slots are remembered.
PyMethodDef* profile_functions();

}  // namespace lamella::python

#pragma once

#include <Python.h>

#include <vector>

#include "python/bindings/py_ref.h"

// Note [Capture]
// A thread that records a graph hands each call of an operator to its recorder instead of running it. So that calls
// cost nothing more while nobody records, they are not asked: the entries of the method tables are exchanged when the
// first recorder is set, and put back when the last one is gone. Python reads a table's entry in every call.

namespace lamella::python {

/// True if this thread has a recorder.
bool is_capturing() noexcept;
/// True if any thread has a recorder, or is profiled.
bool are_calls_watched() noexcept;

/// Hands a call to this thread's recorder, which does not see the calls that it makes itself. Returns the recorder's
/// result; null, without an exception, if the recorder has the call made as usual. Throws what the recorder raises.
PyRef capture_call(const char* method, PyObject* callable, PyObject* const* args, Py_ssize_t count, PyObject* keywords);

/// Has every call of an operator ask whether its thread records or is profiled, while the sum of all changes is above
/// 0.
void watch_calls(int change);

/// Lets recorders see the calls through these functions, which belong to operators. The table stays where it is and
/// lives as long as the process.
void add_capture_points(std::vector<PyMethodDef>& functions, bool methods);
/// Lets recorders see the calls through this function or class method, as method `handler` of the recorder.
void add_capture_point(PyMethodDef& function, const char* handler);

PyMethodDef* capture_functions();

}  // namespace lamella::python

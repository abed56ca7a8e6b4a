#pragma once

#include <Python.h>

#include <functional>
#include <span>

#include "engine/autograd/checkpoint/checkpoint.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Makes a layer's call under Modes::kSelective: calls `compute` unless the checkpoint kept the call's result.
PyRef select_layer_call(const char* layer, std::span<const Tensor* const> inputs,
                        const std::function<PyRef()>& compute);

/// Visits, for the garbage collector, the functions of checkpoints that only the caller's reference to `node` keeps
/// alive: a function often holds its own results. The graph is walked as far as nobody else owns it.
int visit_checkpoints(const Ref<Node>& node, visitproc visit, void* arg);

/// Returns the module's functions that lamella.autograd.checkpoint calls.
PyMethodDef* checkpoint_functions();
/// Adds the exception _StopRecomputation to the module, which stands for autograd::StopRecomputation from then on.
void add_stop_recomputation(PyObject* module);

}  // namespace lamella::python

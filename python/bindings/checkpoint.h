#pragma once

#include <Python.h>

#include <functional>
#include <span>

#include "engine/autograd/checkpoint/checkpoint.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Sets the exception that stands for `stop` in Python, where no `except Exception` catches it.
void set_stop_recomputation(const autograd::StopRecomputation& stop) noexcept;

/// A layer's call under Modes::kSelective: `compute` makes it, unless its result was kept.
PyRef select_layer_call(const char* layer, std::span<const Tensor* const> inputs,
                        const std::function<PyRef()>& compute);

/// Visits the functions of checkpoints that only the caller's reference to `node` keeps alive, for the collector: a
/// function often holds its own results. The graph is walked as far as nobody else owns it.
int visit_checkpoints(const Ref<Node>& node, visitproc visit, void* arg);

/// What lamella.autograd.checkpoint is made of. The exception is added to the module.
PyMethodDef* checkpoint_functions();
void add_stop_recomputation(PyObject* module);

}  // namespace lamella::python

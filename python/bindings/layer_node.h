#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/layers/dual_call.h"
#include "engine/autograd/layers/layer_gradients.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/saved/context.h"
#include "python/bindings/form.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

// Note [A layer's objects]
// The node of a PyLayer call owns the C++ context and the Python context object, which points to the C++ context while
// the node lives: what `forward` set on `ctx` lasts as long as the graph, and a `ctx` that the user keeps longer is an
// empty shell. All of them are accessed with the GIL held only.

/// Node of a PyLayer call.
class PyLayerNode final : public Node {
 public:
  /// Adds a reference to the class; `context` is the call's PyLayerContext object.
  PyLayerNode(PyTypeObject* layer, PyObject* context, const autograd::Dialect& dialect);
  ~PyLayerNode() override;

  std::string name() const override;
  TensorList run(TensorList grads) override;
  void release_saved() noexcept override { ctx.release_saved(); }
  const Context* context() const noexcept override { return &ctx; }
  bool was_called_dual() const noexcept override { return ctx.was_called_dual(); }
  /// Returns the outputs' tangents, computed by the class's jvp, or by its backward if it defines none. `duals` is the
  /// call.
  TensorList tangents(autograd::DualCall& duals, std::span<Tensor* const> outputs, const TensorList& inputs);

  /// Returns the call's PyLayerContext object, which the node owns.
  PyObject* context_object() const noexcept { return context_; }
  /// Visits the Python objects that the node owns, for the garbage collector.
  int visit(visitproc visit, void* arg) const;

  Context ctx;
  /// Forms of the arguments, one for each argument of the call; null if no argument is a container of tensors.
  std::unique_ptr<std::vector<Form>> forms;
  /// Names of the keyword arguments in the order of forward's signature; null if there are none.
  PyRef keywords;
  /// True if values of an input, or values computed from one, left forward for Python; see Note [Host values].
  bool escaped = false;
  /// True if values that left for Python may be among the numbers that forward set on ctx.
  bool keeps_numbers = false;

 private:
  TensorList gradients_from(PyObject* result);
  /// Runs a backward that is recorded or has tangents, so that uses of host values in it are tracked.
  TensorList run_followed(TensorList grads, PyObject* backward);
  TensorList read_tangents(PyObject* result) const;
  TensorList sort_gradients(PyObject* result);
  std::vector<std::string> argument_names() const;
  /// Returns the parameters of forward that the call left at their defaults: index in the signature, and default.
  std::vector<std::pair<std::size_t, PyRef>> left_at_defaults() const;
  /// Erases the gradients of parameters that the call left at their defaults from `items`, which backward returned, one
  /// for each parameter of forward. Does nothing if the number of items is another.
  void drop_defaults(std::vector<PyRef>& items) const;

  PyTypeObject* layer_;
  PyObject* context_;
  const autograd::Dialect& dialect_;
};

}  // namespace lamella::python

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
// The node of a PyLayer call owns the C++ context and the Python context object, which points back to the former while
// the node lives: what `forward` set on `ctx` lasts as long as the graph, and a `ctx` that the user keeps longer is an
// empty shell. All of these are touched with the GIL held only.

/// The recorded call of a PyLayer.
class PyLayerNode final : public Node {
 public:
  /// Takes a reference to the class; `context` is the call's PyLayerContext object.
  PyLayerNode(PyTypeObject* layer, PyObject* context, const autograd::Dialect& dialect);
  ~PyLayerNode() override;

  std::string name() const override;
  TensorList run(TensorList grads) override;
  void release_saved() noexcept override { ctx.release_saved(); }
  const Context* context() const noexcept override { return &ctx; }
  bool was_called_dual() const noexcept override { return ctx.was_called_dual(); }
  /// The outputs' tangents by the class's jvp, by backward where it defines none. `duals` is the call.
  TensorList tangents(autograd::DualCall& duals, std::span<Tensor* const> outputs, const TensorList& inputs);

  /// For the garbage collector.
  int visit(visitproc visit, void* arg) const;

  Context ctx;
  /// Where arguments are containers of tensors: their forms, one for each argument of the call.
  std::unique_ptr<std::vector<Form>> forms;
  /// The keyword arguments' names in the order of forward's signature; null where there are none.
  PyRef keywords;
  /// Values of an input, or such as derive from one, left forward for Python; see Note [Host values].
  bool escaped = false;
  /// Such values may be among the numbers that forward set on ctx.
  bool keeps_numbers = false;

 private:
  TensorList gradients_from(PyObject* result);
  /// run() where the backward is recorded or has tangents, so that what it makes of the host's values is looked after.
  TensorList run_followed(TensorList grads, PyObject* backward);
  TensorList read_tangents(PyObject* result) const;
  TensorList sort_gradients(PyObject* result);
  std::vector<std::string> argument_names() const;
  /// The parameters of forward that the call left at their defaults: their places in the signature, and the defaults.
  std::vector<std::pair<std::size_t, PyRef>> left_at_defaults() const;
  /// Takes out of what backward returned, one for each parameter of forward, what is for those that the call left at
  /// their defaults. Nothing happens where the number is another.
  void drop_defaults(std::vector<PyRef>& items) const;

  PyTypeObject* layer_;
  PyObject* context_;
  const autograd::Dialect& dialect_;
};

}  // namespace lamella::python

#include "python/bindings/autograd.h"

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/place.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/node_type.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

/// Reads a tensor, or a list or tuple of tensors.
std::vector<Tensor> one_or_more(PyObject* object, const Argument& argument) {
  if (is_tensor(object)) return {tensor_of(object)};
  return read_tensors(object, argument);
}

/// Reads gradients: a tensor, or a list or tuple of tensors in which None stands for an undefined tensor; None gives an
/// empty list.
std::vector<Tensor> gradients(PyObject* object, const Argument& argument) {
  if (object == Py_None) return {};
  if (is_tensor(object)) return {tensor_of(object)};
  if (!PyList_Check(object) && !PyTuple_Check(object))
    argument.wrong_type("a Tensor, None, or a list or tuple of these", object);
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    tensors.push_back(item == Py_None ? Tensor() : read<const Tensor&>(item, argument));
  }
  return tensors;
}

/// True if the object is a graph edge: a pair of a node and an output index, like lamella.autograd.graph.GradientEdge.
bool is_edge(PyObject* object) {
  return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 && is_node(PyTuple_GET_ITEM(object, 0));
}

autograd::GradTarget target(PyObject* object, const Argument& argument) {
  if (!is_edge(object)) {
    if (!is_tensor(object)) argument.wrong_type("a Tensor or a GradientEdge, or a list or tuple of these", object);
    return tensor_of(object);
  }
  const auto number = as_index(PyTuple_GET_ITEM(object, 1), argument);
  if (!number || *number < 0 || *number > UINT32_MAX)
    argument.wrong_value("expected a GradientEdge (node, output number), got a number outside [0, 2**32)");
  return Edge{node_of(PyTuple_GET_ITEM(object, 0)), static_cast<std::uint32_t>(*number)};
}

bool is_single(PyObject* object) { return is_tensor(object) || is_edge(object); }

/// Reads the targets to differentiate with respect to: a tensor or an edge, or a list or tuple of these.
std::vector<autograd::GradTarget> targets(PyObject* object, const Argument& argument) {
  if (is_single(object) || (!PyList_Check(object) && !PyTuple_Check(object))) return {target(object, argument)};
  std::vector<autograd::GradTarget> result;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    const PyRef item =
        PyRef::share(PySequence_Fast_GET_ITEM(object, i));  // __index__ of an edge's output index may change the list
    result.push_back(target(item.get(), argument));
  }
  return result;
}

/// Reads the argument `inputs` of backward; returns no target for None, which stands for all leaves.
std::vector<autograd::GradTarget> backward_inputs(PyObject* object, const Argument& argument) {
  if (object == Py_None) return {};
  auto inputs = targets(object, argument);
  if (inputs.empty())
    argument.wrong_value("expected at least one tensor, got none; leave it out for the gradients of all leaves");
  return inputs;
}

PyObject* grad(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("grad",
                                     "outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, "
                                     "allow_unused=None, materialize_grads=False, is_grads_batched=False");
    const auto values = signature.bound<8>(args, count, keywords);
    const std::vector<Tensor> outputs = one_or_more(values[0], {signature, 0});
    const std::vector<autograd::GradTarget> inputs = targets(values[1], {signature, 1});
    const std::vector<Tensor> grad_outputs = gradients(values[2], {signature, 2});
    autograd::GradOptions options;
    options.create_graph = read<bool>(values[4], {signature, 4});
    options.retain_graph = read_optional<bool>(values[3], {signature, 3}).value_or(options.create_graph);
    options.materialize_grads = read<bool>(values[6], {signature, 6});
    options.allow_unused = read_optional<bool>(values[5], {signature, 5}).value_or(options.materialize_grads);
    if (options.materialize_grads && !options.allow_unused) {
      Argument{signature, 5}.wrong_value(
          "must not be False with materialize_grads=True, which gives unused inputs zeros");
    }
    options.is_grads_batched = read<bool>(values[7], {signature, 7});
    std::vector<Tensor> results = autograd::grad(outputs, inputs, grad_outputs, options);
    return is_single(values[1]) ? wrap(std::move(results[0])) : wrap_all(results).release();
  });
}

PyObject* backward(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("backward",
                                     "tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None");
    const auto values = signature.bound<5>(args, count, keywords);
    const std::vector<Tensor> tensors = one_or_more(values[0], {signature, 0});
    const std::vector<Tensor> grads = gradients(values[1], {signature, 1});
    const bool create_graph = read<bool>(values[3], {signature, 3});
    const bool retain_graph = read_optional<bool>(values[2], {signature, 2}).value_or(create_graph);
    const auto inputs = backward_inputs(values[4], {signature, 4});
    autograd::backward(tensors, grads, retain_graph, create_graph, inputs);
    Py_RETURN_NONE;
  });
}

PyObject* gradient_edge(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(object)) fail<TypeError>("[get_gradient_edge] expected a Tensor, got ", type_name(object));
    Edge edge = autograd::gradient_edge(tensor_of(object));
    if (!edge) fail<RuntimeError>("[get_gradient_edge] the tensor has stop_gradient=True: it has no place on the tape");
    const PyRef node = PyRef::adopt(checked(wrap_node(std::move(edge.node))));
    return checked(Py_BuildValue("(OI)", node.get(), edge.input_nr));
  });
}

PyMethodDef autograd_method_defs[] = {
    {"grad", as_c_function(grad), METH_FASTCALL | METH_KEYWORDS,
     "grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None, "
     "materialize_grads=False, is_grads_batched=False)\n--\n\n"
     "The gradients of `outputs` with respect to `inputs`: a tensor for a tensor, a tuple for a list or tuple. No "
     "leaf's "
     "grad is touched.\n\n"
     "`grad_outputs` are the gradients to begin with. create_graph records the pass, for higher derivatives; "
     "retain_graph (by default\n"
     "what create_graph is) keeps what was saved for another pass. Inputs that the outputs do not depend on are a "
     "RuntimeError;\n"
     "allow_unused gives None for them, materialize_grads zeros. With is_grads_batched each of `grad_outputs` has one "
     "more axis, the first:\n"
     "the gradients of all its entries are computed in one pass, and the results have that axis too. An input may be a "
     "GradientEdge, a\n"
     "place on the tape, in the place of a tensor."},
    {"backward", as_c_function(backward), METH_FASTCALL | METH_KEYWORDS,
     "backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\n"
     "Computes the gradients of all leaves that the tensors depend on, in one pass, and adds them to their grad.\n\n"
     "`tensors` and `grad_tensors`, the gradients to begin with, are tensors or lists of them. The rest is as in "
     "Tensor.backward."},
    {"_gradient_edge", gradient_edge, METH_O,
     "_gradient_edge(tensor, /)\n--\n\nThe node that a tensor's gradient goes to, and which of its outputs the tensor "
     "is."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("backward", "self, grad=None, retain_graph=None, create_graph=False, inputs=None");
    const auto values = signature.bound<5>(args, count, keywords, self);
    Tensor grad;
    if (values[1] != Py_None) grad = read<const Tensor&>(values[1], {signature, 1});
    const bool create_graph = read<bool>(values[3], {signature, 3});
    const bool retain_graph = read_optional<bool>(values[2], {signature, 2}).value_or(create_graph);
    if (values[4] == Py_None) [[likely]] {
      autograd::backward(tensor_of(self), grad, retain_graph, create_graph);
      Py_RETURN_NONE;
    }
    const auto inputs = backward_inputs(values[4], {signature, 4});
    autograd::backward(std::span(&tensor_of(self), 1), std::span(&grad, grad.defined() ? 1 : 0), retain_graph,
                       create_graph, inputs);
    Py_RETURN_NONE;
  });
}

PyMethodDef* autograd_functions() { return autograd_method_defs; }

}  // namespace lamella::python

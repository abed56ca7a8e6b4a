#include "python/bindings/autograd.h"

#include "engine/autograd/backward.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_type.h"

namespace lamella::python {
namespace {

/// A tensor, or a list or tuple of tensors.
std::vector<Tensor> one_or_more(PyObject* object, const Argument& argument) {
  if (is_tensor(object)) return {tensor_of(object)};
  return read_tensors(object, argument);
}

/// The same where None may stand for any of them, or for all.
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

PyObject* grad(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature(
        "grad", "outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False");
    PyObject* values[6];
    signature.bind(args, count, keywords, values);
    const std::vector<Tensor> outputs = one_or_more(values[0], {signature, 0});
    const std::vector<Tensor> inputs = one_or_more(values[1], {signature, 1});
    const std::vector<Tensor> grad_outputs = gradients(values[2], {signature, 2});
    autograd::GradOptions options;
    options.create_graph = read<bool>(values[4], {signature, 4});
    options.retain_graph = read_optional<bool>(values[3], {signature, 3}).value_or(options.create_graph);
    options.allow_unused = read<bool>(values[5], {signature, 5});
    std::vector<Tensor> results = autograd::grad(outputs, inputs, grad_outputs, options);
    if (is_tensor(values[1])) return wrap(std::move(results[0]));
    PyRef tuple = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(results.size()))));
    for (std::size_t i = 0; i < results.size(); ++i) {
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(std::move(results[i]))));
    }
    return tuple.release();
  });
}

PyObject* backward(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("backward", "tensors, grad_tensors=None, retain_graph=False, create_graph=False");
    PyObject* values[4];
    signature.bind(args, count, keywords, values);
    const std::vector<Tensor> tensors = one_or_more(values[0], {signature, 0});
    const std::vector<Tensor> grads = gradients(values[1], {signature, 1});
    autograd::backward(tensors, grads, read<bool>(values[2], {signature, 2}), read<bool>(values[3], {signature, 3}));
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"grad", as_c_function(grad), METH_FASTCALL | METH_KEYWORDS,
     "grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False)\n--\n\n"
     "The gradients of `outputs` with respect to `inputs`: a tensor for a tensor, a tuple for a list or tuple. No "
     "tensor's grad is\n"
     "touched.\n\n"
     "`grad_outputs` are the gradients to begin with. create_graph records the pass, for higher derivatives; "
     "retain_graph (by default\n"
     "what create_graph is) keeps what was saved for another pass. allow_unused gives None for inputs that the outputs "
     "do not depend\n"
     "on, in place of a RuntimeError."},
    {"backward", as_c_function(backward), METH_FASTCALL | METH_KEYWORDS,
     "backward(tensors, grad_tensors=None, retain_graph=False, create_graph=False)\n--\n\n"
     "Computes the gradients of all leaves that the tensors depend on, in one pass, and adds them to their grad."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("backward", "self, grad=None, retain_graph=False, create_graph=False");
    PyObject* values[4] = {self};
    signature.bind(args, count, keywords, values, 1);
    Tensor grad;
    if (values[1] != Py_None) grad = read<const Tensor&>(values[1], {signature, 1});
    autograd::backward(tensor_of(self), grad, read<bool>(values[2], {signature, 2}),
                       read<bool>(values[3], {signature, 3}));
    Py_RETURN_NONE;
  });
}

PyMethodDef* autograd_functions() { return functions; }

}  // namespace lamella::python

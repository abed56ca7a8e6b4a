#include "python/bindings/optimizer.h"

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/optim/steps.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"

namespace lamella::python {
namespace {

/// Reads a list of tensors, one for each of `count` parameters.
std::vector<Tensor> read_beside(PyObject* object, const Argument& argument, std::size_t count) {
  std::vector<Tensor> tensors = read_tensors(object, argument);
  if (tensors.size() != count)
    argument.wrong_value(str("expected ", count, " tensors, one for each parameter, got ", tensors.size()));
  return tensors;
}

/// Returns the items of a list or tuple, borrowed.
std::span<PyObject* const> items_of(PyObject* object, const Argument& argument, const char* expected) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) argument.wrong_type(expected, object);
  return {PySequence_Fast_ITEMS(object), static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object))};
}

PyObject* optimizer_step(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_optimizer_step",
                                     "formula, parameters, gradients, states, numbers, weight_decay, shrink, maximize");
    const auto values = signature.bound<8>(args, count, keywords);
    // A negative number is none of a formula either.
    const auto formula = static_cast<std::size_t>(read<std::int64_t>(values[0], {signature, 0}));
    std::vector<Tensor> parameters = read_tensors(values[1], {signature, 1});
    const std::size_t n = parameters.size();
    std::vector<Tensor> gradients = read_beside(values[2], {signature, 2}, n);
    std::vector<optim::Target> targets(n);
    for (std::size_t i = 0; i < n; ++i) {
      targets[i].parameter = std::move(parameters[i]);
      targets[i].gradient = std::move(gradients[i]);
    }
    const Argument of_states{signature, 3};
    const auto states = items_of(values[3], of_states, "a list of lists of Tensors");
    if (const std::size_t expected = optim::states_of(formula); states.size() != expected)
      of_states.wrong_value(str("expected ", expected, " lists, got ", states.size()));
    for (std::size_t k = 0; k < states.size(); ++k) {
      if (states[k] == Py_None) continue;
      std::vector<Tensor> tensors = read_beside(states[k], of_states, n);
      for (std::size_t i = 0; i < n; ++i) targets[i].states[k] = std::move(tensors[i]);
    }
    const auto given = items_of(values[4], {signature, 4}, "a list or tuple of numbers");
    std::vector<double> numbers(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) numbers[i] = read<double>(given[i], {signature, 4});
    optim::step(formula, targets, numbers,
                {.weight_decay = read<double>(values[5], {signature, 5}),
                 .shrink = read<double>(values[6], {signature, 6}),
                 .maximize = read<bool>(values[7], {signature, 7})});
    Py_RETURN_NONE;
  });
}

PyObject* optimizer_formula(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t size = 0;
    const char* const text = checked(PyUnicode_AsUTF8AndSize(name, &size));
    return PyLong_FromSize_t(optim::formula_of_name({text, static_cast<std::size_t>(size)}));
  });
}

}  // namespace

PyMethodDef* optimizer_functions() {
  static PyMethodDef functions[] = {
      {"_optimizer_formula", optimizer_formula, METH_O,
       "_optimizer_formula(name, /)\n--\n\n"
       "Returns the number of a formula of ops/optim/formulas.h."},
      {"_optimizer_step", as_c_function(optimizer_step), METH_FASTCALL | METH_KEYWORDS,
       "_optimizer_step(formula, parameters, gradients, states, numbers, weight_decay, shrink, maximize)\n--\n\n"
       "A step of a formula, in place, of all tensors at once. `states` has a list of tensors, "
       "or None, for each state of the formula."},
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python

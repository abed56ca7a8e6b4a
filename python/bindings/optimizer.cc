#include "python/bindings/optimizer.h"

#include <vector>

#include "ops/optim/steps.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"

namespace lamella::python {
namespace {

/// Reads a list of tensors, one for each of `count` parameters. With `may_be_empty`, an empty list stands for undefined
/// tensors.
std::vector<Tensor> read_beside(PyObject* object, const Argument& argument, std::size_t count, bool may_be_empty) {
  std::vector<Tensor> tensors = read_tensors(object, argument);
  if (tensors.empty() && may_be_empty) tensors.resize(count);
  if (tensors.size() != count)
    argument.wrong_value(str("expected ", count, " tensors, one for each parameter, got ", tensors.size()));
  return tensors;
}

PyObject* sgd_step(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature(
        "_sgd_step",
        "parameters, gradients, velocities, first, lr, momentum, dampening, weight_decay, nesterov, maximize");
    const auto values = signature.bound<10>(args, count, keywords);
    const std::vector<Tensor> parameters = read_tensors(values[0], {signature, 0});
    const std::size_t n = parameters.size();
    const std::vector<Tensor> gradients = read_beside(values[1], {signature, 1}, n, false);
    const std::vector<Tensor> velocities = read_beside(values[2], {signature, 2}, n, true);
    const optim::SgdOptions options{.lr = read<double>(values[4], {signature, 4}),
                                    .momentum = read<double>(values[5], {signature, 5}),
                                    .dampening = read<double>(values[6], {signature, 6}),
                                    .weight_decay = read<double>(values[7], {signature, 7}),
                                    .nesterov = read<bool>(values[8], {signature, 8}),
                                    .maximize = read<bool>(values[9], {signature, 9}),
                                    .first = read<bool>(values[3], {signature, 3})};
    std::vector<optim::SgdTarget> targets;
    targets.reserve(n);
    for (std::size_t i = 0; i < n; ++i) targets.push_back({parameters[i], gradients[i], velocities[i]});
    optim::sgd_step(targets, options);
    Py_RETURN_NONE;
  });
}

PyObject* adam_step(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_adam_step",
                                     "parameters, gradients, means, squares, largest, step, lr, beta1, beta2, eps, "
                                     "weight_decay, decoupled, maximize");
    const auto values = signature.bound<13>(args, count, keywords);
    const std::vector<Tensor> parameters = read_tensors(values[0], {signature, 0});
    const std::size_t n = parameters.size();
    const std::vector<Tensor> gradients = read_beside(values[1], {signature, 1}, n, false);
    const std::vector<Tensor> means = read_beside(values[2], {signature, 2}, n, false);
    const std::vector<Tensor> squares = read_beside(values[3], {signature, 3}, n, false);
    const std::vector<Tensor> largest = read_beside(values[4], {signature, 4}, n, true);
    const optim::AdamOptions options{.step = read<std::int64_t>(values[5], {signature, 5}),
                                     .lr = read<double>(values[6], {signature, 6}),
                                     .beta1 = read<double>(values[7], {signature, 7}),
                                     .beta2 = read<double>(values[8], {signature, 8}),
                                     .eps = read<double>(values[9], {signature, 9}),
                                     .weight_decay = read<double>(values[10], {signature, 10}),
                                     .decoupled = read<bool>(values[11], {signature, 11}),
                                     .maximize = read<bool>(values[12], {signature, 12})};
    std::vector<optim::AdamTarget> targets;
    targets.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      targets.push_back({parameters[i], gradients[i], means[i], squares[i], largest[i]});
    }
    optim::adam_step(targets, options);
    Py_RETURN_NONE;
  });
}

}  // namespace

PyMethodDef* optimizer_functions() {
  static PyMethodDef functions[] = {
      {"_sgd_step", as_c_function(sgd_step), METH_FASTCALL | METH_KEYWORDS,
       "_sgd_step(parameters, gradients, velocities, first, lr, momentum, dampening, weight_decay, nesterov, "
       "maximize)\n--\n\nA step of stochastic gradient descent, in place; no velocities without momentum."},
      {"_adam_step", as_c_function(adam_step), METH_FASTCALL | METH_KEYWORDS,
       "_adam_step(parameters, gradients, means, squares, largest, step, lr, beta1, beta2, eps, weight_decay, "
       "decoupled, maximize)\n--\n\nA step of Adam, in place; nothing in `largest` without amsgrad."},
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python

#include "python/bindings/transforms.h"

#include <array>
#include <string>
#include <vector>

#include "ops/transforms/functional.h"
#include "ops/transforms/gradcheck.h"
#include "ops/transforms/own_inputs.h"
#include "python/bindings/containers.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

PyRef nested_tuple_of(const std::vector<std::vector<Tensor>>& rows) {
  return tuple_from(rows, [](const std::vector<Tensor>& row) { return wrap_all(row); });
}

/// Wraps a Python function that takes a tuple of tensors and returns a list or tuple of tensors. Valid while `function`
/// is.
autograd::TensorFunction read_function(PyObject* function, const Argument& argument) {
  if (!PyCallable_Check(function)) argument.wrong_type("a function", function);
  return [function, &argument](std::span<const Tensor> inputs) {
    const PyRef args = wrap_all(inputs);
    const PyRef result = PyRef::adopt(checked(PyObject_CallOneArg(function, args.get())));
    return read_tensors(result.get(), argument);
  };
}

PyObject* own_inputs(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_own_inputs", "inputs, connected, op");
    const auto values = signature.bound<3>(args, count, keywords);
    const std::vector<Tensor> inputs = read_tensors(values[0], {signature, 0});
    const std::string op(read_text(values[2], {signature, 2}));
    return wrap_all(autograd::own_inputs(inputs, read<bool>(values[1], {signature, 1}), op.c_str())).release();
  });
}

PyObject* depends_on_others(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_depends_on_others", "outputs, own");
    const auto values = signature.bound<2>(args, count, keywords);
    const std::vector<Tensor> outputs = read_tensors(values[0], {signature, 0});
    return PyBool_FromLong(autograd::depends_on_others(outputs, read_tensors(values[1], {signature, 1})));
  });
}

template <auto Derivatives>
PyObject* matrices(const Signature& signature, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const auto values = signature.bound<6>(args, count, keywords);
    const Argument function_argument{signature, 0};
    const autograd::TensorFunction function = read_function(values[0], function_argument);
    const std::vector<Tensor> inputs = read_tensors(values[1], {signature, 1});
    const autograd::JacobianOptions options{
        .create_graph = read_optional<bool>(values[2], {signature, 2}),
        .strict = read<bool>(values[3], {signature, 3}),
        .vectorize = read<bool>(values[4], {signature, 4}),
        .strategy = read<bool>(values[5], {signature, 5}) ? autograd::JacobianStrategy::Forward
                                                          : autograd::JacobianStrategy::Reverse,
    };
    return nested_tuple_of(Derivatives(function, inputs, options)).release();
  });
}

PyObject* jacobian(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static const Signature signature("jacobian", "func, inputs, create_graph, strict, vectorize, forward");
  return matrices<autograd::jacobian>(signature, args, count, keywords);
}

PyObject* hessian(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static const Signature signature("hessian", "func, inputs, create_graph, strict, vectorize, forward");
  return matrices<autograd::hessian>(signature, args, count, keywords);
}

template <auto Product>
PyObject* products(const Signature& signature, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    const auto values = signature.bound<5>(args, count, keywords);
    const Argument function_argument{signature, 0};
    const autograd::TensorFunction function = read_function(values[0], function_argument);
    const std::vector<Tensor> inputs = read_tensors(values[1], {signature, 1});
    const std::vector<Tensor> v = read_tensors(values[2], {signature, 2});
    const autograd::ProductOptions options{.create_graph = read<bool>(values[3], {signature, 3}),
                                           .strict = read<bool>(values[4], {signature, 4})};
    auto [output, product] = Product(function, inputs, v, options);
    const PyRef first = wrap_ref(std::move(output));
    const PyRef second = wrap_all(product);
    return checked(PyTuple_Pack(2, first.get(), second.get()));
  });
}

PyObject* hvp(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static const Signature signature("hvp", "func, inputs, v, create_graph, strict");
  return products<autograd::hvp>(signature, args, count, keywords);
}

PyObject* vhp(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static const Signature signature("vhp", "func, inputs, v, create_graph, strict");
  return products<autograd::vhp>(signature, args, count, keywords);
}

/// Returns the items of a tuple of N objects, the only argument that the package passes.
template <std::size_t N>
std::array<PyObject*, N> items_of(PyObject* tuple, const Argument& argument) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != N) argument.wrong_type("a tuple of the options", tuple);
  std::array<PyObject*, N> items;
  for (std::size_t i = 0; i < N; ++i) items[i] = PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i));
  return items;
}

std::vector<std::string> read_names(PyObject* tuple, const Argument& argument) {
  std::vector<std::string> names;
  if (!PyTuple_Check(tuple)) argument.wrong_type("a tuple of str", tuple);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    names.emplace_back(read_text(PyTuple_GET_ITEM(tuple, i), argument));
  }
  return names;
}

/// Returns "ValueError: ..." for a Python exception.
std::string error_text(const std::exception& error) {
  const auto* raised = dynamic_cast<const PythonError*>(&error);
  if (!raised) return error.what();
  const PyRef text = PyRef::adopt(PyObject_Str(raised->value()));
  const char* characters = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!characters) PyErr_Clear();
  return str(type_name(raised->value()), ": ", characters ? characters : "?");
}

PyObject* gradcheck(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("gradcheck",
                                     "func, inputs, second, grad_outputs, tolerances, switches, name, input_names");
    const auto values = signature.bound<8>(args, count, keywords);
    const Argument function_argument{signature, 0};
    const autograd::TensorFunction function = read_function(values[0], function_argument);
    const std::vector<Tensor> inputs = read_tensors(values[1], {signature, 1});
    const std::vector<Tensor> grad_outputs = read_tensors(values[3], {signature, 3});
    const auto tolerances = items_of<4>(values[4], {signature, 4});
    const auto switches = items_of<5>(values[5], {signature, 5});
    const auto tolerance = [&](std::size_t i) { return read<double>(tolerances[i], {signature, 4}); };
    const auto is_on = [&](std::size_t i) { return read<bool>(switches[i], {signature, 5}); };
    const autograd::GradcheckOptions options{
        .eps = tolerance(0),
        .atol = tolerance(1),
        .rtol = tolerance(2),
        .nondet_tol = tolerance(3),
        .check_undefined_grad = is_on(0),
        .check_grad_dtypes = is_on(1),
        .fast_mode = is_on(2),
        .check_batched_grad = is_on(3),
        .check_forward_ad = is_on(4),
        .name = std::string(read_text(values[6], {signature, 6})),
        .input_names = read_names(values[7], {signature, 7}),
        .output_names = {},
        .error_text = error_text,
    };
    const autograd::GradcheckResult result = read<bool>(values[2], {signature, 2})
                                                 ? autograd::gradgradcheck(function, inputs, grad_outputs, options)
                                                 : autograd::gradcheck(function, inputs, options);
    if (result) Py_RETURN_NONE;
    return PyUnicode_FromStringAndSize(result.message.data(), static_cast<Py_ssize_t>(result.message.size()));
  });
}

PyMethodDef transform_method_defs[] = {
    {"_own_inputs", as_c_function(own_inputs), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_depends_on_others", as_c_function(depends_on_others), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_jacobian", as_c_function(jacobian), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_hessian", as_c_function(hessian), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_hvp", as_c_function(hvp), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_vhp", as_c_function(vhp), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_gradcheck", as_c_function(gradcheck), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* transform_functions() { return transform_method_defs; }

}  // namespace lamella::python

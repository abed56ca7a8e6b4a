// Implements the module's part of lamella.autograd.forward_ad: dual levels, and making and unpacking dual tensors.

#include "engine/autograd/forward_mode/forward_ad.h"

#include "python/bindings/autograd.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

std::optional<std::uint64_t> read_level(PyObject* object, const Argument& argument) {
  const auto level = read_optional<std::int64_t>(object, argument);
  if (!level) return std::nullopt;
  if (*level < 0) argument.wrong_value(str("expected a level that enter_dual_level() returned, got ", *level));
  return static_cast<std::uint64_t>(*level);
}

PyObject* enter_dual_level(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* { return PyLong_FromUnsignedLongLong(autograd::enter_dual_level()); });
}

PyObject* exit_dual_level(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("exit_dual_level", "level, /");
    const auto values = signature.bound<1>(args, count, keywords);
    const auto level = read_level(values[0], {signature, 0});
    if (!level) Argument{signature, 0}.wrong_type("an int", values[0]);
    autograd::exit_dual_level(*level);
    Py_RETURN_NONE;
  });
}

PyObject* make_dual(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("make_dual", "tensor, tangent, level=None");
    const auto values = signature.bound<3>(args, count, keywords);
    return wrap(autograd::make_dual(read<const Tensor&>(values[0], {signature, 0}),
                                    read<const Tensor&>(values[1], {signature, 1}),
                                    read_level(values[2], {signature, 2})));
  });
}

PyObject* unpack_dual(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("unpack_dual", "tensor, level=None");
    const auto values = signature.bound<2>(args, count, keywords);
    const Tensor& x = read<const Tensor&>(values[0], {signature, 0});
    autograd::UnpackedDual parts = autograd::unpack_dual(x, read_level(values[1], {signature, 1}));
    const PyRef primal =
        parts.primal.same(x) ? PyRef::share(values[0]) : PyRef::adopt(checked(wrap(std::move(parts.primal))));
    const PyRef tangent = PyRef::adopt(checked(wrap(std::move(parts.tangent))));
    return PyTuple_Pack(2, primal.get(), tangent.get());
  });
}

PyObject* off_tape(PyObject*, PyObject* x) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_off_tape", "x, /");
    return wrap(autograd::off_tape(read<const Tensor&>(x, {signature, 0})));
  });
}

PyMethodDef forward_ad_method_defs[] = {
    {"_enter_dual_level", enter_dual_level, METH_NOARGS,
     "_enter_dual_level()\n--\n\nBegins a level of forward mode on this thread; its number."},
    {"_exit_dual_level", as_c_function(exit_dual_level), METH_FASTCALL | METH_KEYWORDS,
     "_exit_dual_level(level, /)\n--\n\nEnds the innermost level. RuntimeError where `level` is another one."},
    {"_make_dual", as_c_function(make_dual), METH_FASTCALL | METH_KEYWORDS,
     "_make_dual(tensor, tangent, level=None)\n--\n\nA tensor on tensor's memory that has `tangent`."},
    {"_unpack_dual", as_c_function(unpack_dual), METH_FASTCALL | METH_KEYWORDS,
     "_unpack_dual(tensor, level=None)\n--\n\nThe tensor without its tangent, and the tangent or None."},
    {"_off_tape", off_tape, METH_O,
     "_off_tape(x, /)\n--\n\nThe tensor without a place on the tape, with the tangents that detach() drops."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* forward_ad_functions() { return forward_ad_method_defs; }

}  // namespace lamella::python

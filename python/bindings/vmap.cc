#include "python/bindings/vmap.h"

#include <array>
#include <string_view>

#include "engine/core/error.h"
#include "ops/shape/hide.h"
#include "python/bindings/containers.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

using autograd::Randomness;

constexpr std::array<const char*, 3> kRandomness = {"error", "different", "same"};

Randomness read_randomness(std::string_view text) {
  for (std::size_t i = 0; i < kRandomness.size(); ++i) {
    if (text == kRandomness[i]) return static_cast<Randomness>(i);
  }
  fail<ValueError>("[vmap] randomness must be 'error', 'different' or 'same', got '", text, "'");
}

std::uint64_t read_level(PyObject* object, const Argument& argument) {
  return static_cast<std::uint64_t>(read_int(object, argument));
}

PyObject* enter(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_vmap_enter", "size, randomness, /");
    const auto values = signature.bound<2>(args, count, keywords);
    const std::int64_t size = read_int(values[0], {signature, 0});
    return checked(
        PyLong_FromUnsignedLongLong(autograd::enter_vmap(size, read_randomness(read_text(values[1], {signature, 1})))));
  });
}

PyObject* leave(PyObject*, PyObject* level) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_vmap_leave", "level, /");
    autograd::leave_vmap(read_level(level, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* hide(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_hide_axis", "x, axis, level, /");
    const auto values = signature.bound<3>(args, count, keywords);
    return wrap(hide_axis(read<const Tensor&>(values[0], {signature, 0}), read_int(values[1], {signature, 1}),
                          read_level(values[2], {signature, 2})));
  });
}

PyObject* show(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_show_axis", "x, axis, level, size, /");
    const auto values = signature.bound<4>(args, count, keywords);
    const Tensor shown = show_axis(read<const Tensor&>(values[0], {signature, 0}),
                                   read_level(values[2], {signature, 2}), read_int(values[3], {signature, 3}));
    return wrap(move_axis(shown, 0, read_int(values[1], {signature, 1}), "vmap"));
  });
}

PyObject* is_mapped(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_is_mapped", "x, level, /");
    const auto values = signature.bound<2>(args, count, keywords);
    return PyBool_FromLong(autograd::VmapRule::is_mapped(read<const Tensor&>(values[0], {signature, 0}),
                                                         read_level(values[1], {signature, 1})));
  });
}

PyObject* hidden_axes(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("_hidden_axes", "x, /");
    const Tensor& x = read<const Tensor&>(object, {signature, 0});
    const auto pair = [](const HiddenAxis& axis) {
      return Py_BuildValue("(KL)", static_cast<unsigned long long>(axis.level), static_cast<long long>(axis.size));
    };
    return tuple_from(x->hidden ? *x->hidden : HiddenAxes(), pair).release();
  });
}

PyMethodDef vmap_method_defs[] = {
    {"_vmap_enter", as_c_function(enter), METH_FASTCALL | METH_KEYWORDS,
     "_vmap_enter(size, randomness, /)\n--\n\nBegins a call of vmap over `size` examples; returns its level."},
    {"_vmap_leave", leave, METH_O, "_vmap_leave(level, /)\n--\n\nEnds a call of vmap."},
    {"_hide_axis", as_c_function(hide), METH_FASTCALL | METH_KEYWORDS,
     "_hide_axis(x, axis, level, /)\n--\n\nA view of x without an axis, which is hidden at `level`."},
    {"_show_axis", as_c_function(show), METH_FASTCALL | METH_KEYWORDS,
     "_show_axis(x, axis, level, size, /)\n--\n\n"
     "A view of x with the axis that `level` hides at `axis`; broadcast to `size` where there is none."},
    {"_is_mapped", as_c_function(is_mapped), METH_FASTCALL | METH_KEYWORDS,
     "_is_mapped(x, level, /)\n--\n\nTrue if a layer's own rule gets x with the axis of `level`."},
    {"_hidden_axes", hidden_axes, METH_O, "_hidden_axes(x, /)\n--\n\nLevel and size of each axis that x hides."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* vmap_functions() { return vmap_method_defs; }

PyObject* call_vmap_rule(PyObject* layer, PyObject* function, const autograd::VmapRule& rule, PyObject* args,
                         PyObject* keywords) {
  const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("lamella.autograd._vmap")));
  const autograd::VmapInfo& info = rule.info();
  const autograd::VmapRule::Left left(rule);
  return checked(PyObject_CallMethod(
      module.get(), "call_rule", "OOKLsOO", layer, function, static_cast<unsigned long long>(rule.level()),
      static_cast<long long>(info.batch_size), kRandomness[static_cast<std::size_t>(info.randomness)], args, keywords));
}

}  // namespace lamella::python

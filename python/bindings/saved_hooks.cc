#include "python/bindings/saved_hooks.h"

#include <string>

#include "engine/core/thread_state.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

PyObject* push_hooks(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("saved_tensors_hooks", "pack, unpack, /");
    const auto values = signature.bound<2>(args, count, keywords);
    for (std::size_t i = 0; i < 2; ++i) {
      if (!PyCallable_Check(values[i])) Argument{signature, i}.wrong_type("a function", values[i]);
    }
    autograd::check_saved_tensor_hooks_enabled();
    autograd::push_saved_tensor_hooks(std::make_shared<const PythonSavedTensorHooks>(values[0], values[1]));
    Py_RETURN_NONE;
  });
}

PyObject* pop_hooks(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("saved_tensors_hooks", "pack, unpack, /");
    const auto values = signature.bound<2>(args, count, keywords);
    const auto& stack = autograd::thread_state().saved_tensor_hooks;
    for (auto entry = stack.rbegin(); entry != stack.rend(); ++entry) {
      const auto* hooks = dynamic_cast<const PythonSavedTensorHooks*>(entry->get());
      if (!hooks || !hooks->is(values[0], values[1])) continue;
      autograd::pop_saved_tensor_hooks(hooks);
      Py_RETURN_NONE;
    }
    fail<RuntimeError>("[saved_tensors_hooks] left on a thread where it was not entered");
  });
}

PyObject* push_disabled(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("disable_saved_tensors_hooks", "message, /");
    std::string text(read_text(message, {signature, 0}));
    if (autograd::modes().interceptors & autograd::Modes::kPacking) throw RuntimeError(text);
    autograd::thread_state().saved_tensor_hooks_disabled.push_back(std::move(text));
    Py_RETURN_NONE;
  });
}

PyObject* pop_disabled(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    auto& messages = autograd::thread_state().saved_tensor_hooks_disabled;
    if (messages.empty()) {
      fail<RuntimeError>("[disable_saved_tensors_hooks] left on a thread where it was not entered");
    }
    messages.pop_back();
    Py_RETURN_NONE;
  });
}

PyMethodDef saved_hooks_method_defs[] = {
    {"_push_saved_tensors_hooks", as_c_function(push_hooks), METH_FASTCALL | METH_KEYWORDS,
     "_push_saved_tensors_hooks(pack, unpack, /)\n--\n\nEnters saved_tensors_hooks."},
    {"_pop_saved_tensors_hooks", as_c_function(pop_hooks), METH_FASTCALL | METH_KEYWORDS,
     "_pop_saved_tensors_hooks(pack, unpack, /)\n--\n\nLeaves saved_tensors_hooks."},
    {"_push_saved_tensors_hooks_disabled", push_disabled, METH_O,
     "_push_saved_tensors_hooks_disabled(message, /)\n--\n\nEnters disable_saved_tensors_hooks."},
    {"_pop_saved_tensors_hooks_disabled", pop_disabled, METH_NOARGS,
     "_pop_saved_tensors_hooks_disabled()\n--\n\nLeaves disable_saved_tensors_hooks."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

std::any PythonSavedTensorHooks::pack(const Tensor& x, const Node&) const {
  const GilHold gil;
  const PyRef argument = wrap_ref(x);
  const PyRef result = PyRef::adopt(checked(PyObject_CallOneArg(pack_.get(), argument.get())));
  return share_object(result.get());
}

Tensor PythonSavedTensorHooks::unpack(const std::any& packed, const Node& owner) const {
  const GilHold gil;
  const SharedObject object = std::any_cast<const SharedObject&>(packed);
  const PyRef result = PyRef::adopt(checked(PyObject_CallOneArg(unpack_.get(), object.get())));
  if (!is_tensor(result.get())) {
    fail<TypeError>("[", owner.name(), "] unpack of saved_tensors_hooks must return a Tensor, got ",
                    type_name(result.get()));
  }
  return tensor_of(result.get());
}

const Tensor* PythonSavedTensorHooks::tensor_in(const std::any& packed) const {
  PyObject* object = std::any_cast<const SharedObject&>(packed).get();
  return is_tensor(object) ? &as_object(object)->tensor : nullptr;
}

int PythonSavedTensorHooks::visit(visitproc visit, void* arg) const {
  if (pack_.use_count() == 1) Py_VISIT(pack_.get());
  if (unpack_.use_count() == 1) Py_VISIT(unpack_.get());
  return 0;
}

int visit_packed(const Context& context, visitproc visit, void* arg) {
  int stop = 0;
  context.for_each_saved([&](const autograd::SavedTensor& saved) {
    const autograd::Packed* packed = saved.packed();
    if (stop || !packed || packed->use_count() != 1) return;
    const auto* hooks = dynamic_cast<const PythonSavedTensorHooks*>(packed->hooks.get());
    if (!hooks) return;
    const auto& object = std::any_cast<const SharedObject&>(packed->value);
    if (object.use_count() == 1) stop = visit(object.get(), arg);
    if (!stop && packed->hooks.use_count() == 1) stop = hooks->visit(visit, arg);
  });
  return stop;
}

PyMethodDef* saved_hooks_functions() { return saved_hooks_method_defs; }

}  // namespace lamella::python

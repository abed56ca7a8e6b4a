#include "python/bindings/hooks.h"

#include <algorithm>
#include <string_view>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/backward/multi_grad_hook.h"
#include "engine/autograd/graph/hook_table.h"
#include "engine/autograd/graph/running_pass.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

struct HandleObject {
  PyObject_HEAD autograd::HookHandle handle;
};

PyTypeObject* handle_type = nullptr;

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  reinterpret_cast<HandleObject*>(object)->handle.~HookHandle();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* remove(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    reinterpret_cast<HandleObject*>(self)->handle.remove();
    Py_RETURN_NONE;
  });
}

PyObject* enter(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) { return remove(self, nullptr); }

PyMethodDef methods[] = {
    {"remove", remove, METH_NOARGS,
     "remove($self, /)\n--\n\nTakes the hook away. Doing so twice, or after the graph was freed, is fine."},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", as_c_function(leave), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* wrap_handle(autograd::HookHandle handle) {
  auto* object = checked(PyObject_New(HandleObject, handle_type));
  new (&object->handle) autograd::HookHandle(std::move(handle));
  return reinterpret_cast<PyObject*>(object);
}

void check_callable(PyObject* function, const char* op, const char* of_what) {
  if (!PyCallable_Check(function))
    fail<TypeError>("[", op, "] expected a function ", of_what, ", got ", type_name(function));
}

/// Reads what a hook on a node returned: nothing for None, or gradients in the place of the `count` given to it.
std::optional<TensorList> gradients_from(PyObject* result, std::size_t count, const char* op) {
  if (result == Py_None) return std::nullopt;
  TensorList grads;
  if (is_tensor(result) && count == 1) {
    grads.push_back(tensor_of(result));
    return grads;
  }
  if (!PyTuple_Check(result) && !PyList_Check(result)) {
    fail<TypeError>("[", op, "] a hook returns None or a tuple with a Tensor or None for each of the ", count,
                    " gradients, not ", type_name(result));
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(result, i);
    if (item != Py_None && !is_tensor(item)) {
      fail<TypeError>("[", op, "] a hook returned ", type_name(item), " as item ", i,
                      " of its tuple, expected a Tensor or None");
    }
    grads.push_back(item == Py_None ? Tensor() : tensor_of(item));
  }
  return grads;
}

PyRef call(PyObject* function, PyObject* argument) {
  return PyRef::adopt(checked(PyObject_CallOneArg(function, argument)));
}

/// Wraps the user's function for the engine. The tensors' hooks own the function; it is gone once the last of them is.
struct MultiHook {
  std::vector<std::weak_ptr<PyObject>> owners;
  autograd::MultiGradMode mode;

  void operator()(const std::vector<Tensor>& grads) const {
    const GilHold gil;
    for (const auto& owner : owners) {
      const SharedObject function = owner.lock();
      if (!function) continue;
      if (mode == autograd::MultiGradMode::All) {
        const PyRef list = PyRef::adopt(checked(PySequence_List(wrap_all(grads).get())));
        call(function.get(), list.get());
        return;
      }
      const auto first = std::ranges::find_if(grads, [](const Tensor& grad) { return grad.defined(); });
      call(function.get(), wrap_ref(*first).get());
      return;
    }
  }
};

autograd::MultiGradMode read_mode(PyObject* object, const Argument& argument) {
  const std::string_view mode = read_text(object, argument);
  if (mode == "all") return autograd::MultiGradMode::All;
  if (mode == "any") return autograd::MultiGradMode::Any;
  argument.wrong_value("expected 'all' or 'any', got '" + std::string(mode) + "'");
}

PyObject* register_multi_grad_hook(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("register_multi_grad_hook", "tensors, fn, *, mode='all'");
    const auto values = signature.bound<3>(args, count, keywords);
    const std::vector<Tensor> tensors = read_tensors(values[0], {signature, 0});
    PyObject* const function = values[1];
    check_callable(function, "register_multi_grad_hook", "of the gradients");
    // Each tensor's hook holds one reference, and the shared MultiHook none.
    std::vector<SharedObject> owned;
    for (std::size_t i = 0; i < tensors.size(); ++i) owned.push_back(share_object(function));
    MultiHook hook{{owned.begin(), owned.end()}, read_mode(values[2], {signature, 2})};
    const autograd::MultiGradMode mode = hook.mode;
    std::size_t next = 0;
    const auto wrap_member = [&](autograd::TensorHook member) -> autograd::TensorHook {
      return PythonMemberHook{std::move(owned[next++]), std::move(member)};
    };
    autograd::HookHandle handle = autograd::register_multi_grad_hook(tensors, std::move(hook), mode, wrap_member);
    for (const Tensor& x : tensors) track(wrap_ref(x).get());
    return wrap_handle(std::move(handle));
  });
}

PyObject* queue_callback(PyObject*, PyObject* function) {
  return guarded([&]() -> PyObject* {
    check_callable(function, "queue_callback", "without arguments");
    autograd::queue_callback([shared = share_object(function)] {
      const GilHold gil;
      PyRef::adopt(checked(PyObject_CallNoArgs(shared.get())));
    });
    Py_RETURN_NONE;
  });
}

PyMethodDef hook_method_defs[] = {
    {"register_multi_grad_hook", as_c_function(register_multi_grad_hook), METH_FASTCALL | METH_KEYWORDS,
     "register_multi_grad_hook(tensors, fn, *, mode='all')\n--\n\n"
     "Has fn called once in each backward pass that reaches any of the tensors, and returns a handle with remove().\n\n"
     "With mode 'all', fn gets the list of their gradients when the last of them is there, with None for those that "
     "the pass does not\n"
     "compute. With 'any', fn gets the first gradient as soon as it is there. Like all hooks on tensors it stays with "
     "what they are now,\n"
     "whatever is written into them later. What fn returns is ignored. RuntimeError where a tensor wants no gradient, "
     "ValueError for none, or\n"
     "for one that is given twice."},
    {"queue_callback", queue_callback, METH_O,
     "queue_callback(fn, /)\n--\n\n"
     "Has fn() called at the end of the backward pass that runs now on this thread, after all of its nodes and hooks, "
     "in the modes that the\n"
     "pass was called in. A pass that fails drops what it has queued; a pass within another has a queue of its own. "
     "RuntimeError outside of a pass."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Tensor PythonHook::operator()(const Tensor& grad) const {
  const GilHold gil;
  const PyRef result = call(function.get(), wrap_ref(grad).get());
  if (result.get() == Py_None) return {};
  if (!is_tensor(result.get())) {
    fail<TypeError>("[register_hook] a hook returns a Tensor or None, not ", type_name(result.get()));
  }
  return tensor_of(result.get());
}

void PythonAccumulatedHook::operator()(const Tensor& leaf) const {
  const GilHold gil;
  const PyRef result = call(function.get(), wrap_ref(leaf).get());
  if (result.get() != Py_None) {
    fail<TypeError>("[register_post_accumulate_grad_hook] a hook returns None, not ", type_name(result.get()),
                    "; assign to the tensor's grad to change it");
  }
}

std::optional<TensorList> PythonPreHook::operator()(const TensorList& grad_outputs) const {
  const GilHold gil;
  const PyRef result = call(function.get(), wrap_all(grad_outputs).get());
  return gradients_from(result.get(), grad_outputs.size(), "Node.register_prehook");
}

std::optional<TensorList> PythonPostHook::operator()(const TensorList& grad_inputs,
                                                     const TensorList& grad_outputs) const {
  const GilHold gil;
  const PyRef inputs = wrap_all(grad_inputs);
  const PyRef outputs = wrap_all(grad_outputs);
  PyObject* arguments[] = {inputs.get(), outputs.get()};
  const PyRef result = PyRef::adopt(checked(PyObject_Vectorcall(function.get(), arguments, 2, nullptr)));
  return gradients_from(result.get(), grad_inputs.size(), "Node.register_hook");
}

PyObject* register_hook(PyObject* tensor, PyObject* function) {
  check_callable(function, "register_hook", "of the gradient");
  autograd::HookHandle handle = autograd::register_hook(tensor_of(tensor), PythonHook{share_object(function)});
  track(tensor);
  return wrap_handle(std::move(handle));
}

PyObject* register_post_accumulate_grad_hook(PyObject* tensor, PyObject* function) {
  check_callable(function, "register_post_accumulate_grad_hook", "of the tensor");
  autograd::HookHandle handle =
      autograd::register_post_accumulate_grad_hook(tensor_of(tensor), PythonAccumulatedHook{share_object(function)});
  track(tensor);
  return wrap_handle(std::move(handle));
}

PyObject* register_prehook(Node& node, PyObject* function) {
  check_callable(function, "Node.register_prehook", "of the gradients of the outputs");
  return wrap_handle(autograd::register_prehook(node, PythonPreHook{share_object(function)}));
}

PyObject* register_posthook(Node& node, PyObject* function) {
  check_callable(function, "Node.register_hook", "of the gradients of the inputs and of the outputs");
  return wrap_handle(autograd::register_posthook(node, PythonPostHook{share_object(function)}));
}

PyMethodDef* hook_functions() { return hook_method_defs; }

PyTypeObject* make_hook_handle_type() {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char*>("Takes a hook away again: what the functions that register one return. As a context "
                         "manager it does so\nwhen the block ends.")},
      {0, nullptr},
  };
  return handle_type = new_type<HandleObject>("lamella.autograd.HookHandle", slots, Py_TPFLAGS_DISALLOW_INSTANTIATION);
}

}  // namespace lamella::python

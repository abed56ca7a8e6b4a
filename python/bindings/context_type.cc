#include "python/bindings/context_type.h"

#include <structmember.h>

#include "engine/core/modes.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/free_list.h"
#include "python/bindings/likeness.h"
#include "python/bindings/method.h"
#include "python/bindings/node_type.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

PyTypeObject* context_type = nullptr;

FreeList<ContextObject, 64> free_objects;

ContextObject* as_context(PyObject* self) { return reinterpret_cast<ContextObject*>(self); }

/// Returns the C++ context of the call; RuntimeError that names `what` if the call's graph has been freed.
Context& context_of(PyObject* self, const char* what) {
  Context* context = as_context(self)->context;
  if (!context) {
    fail<RuntimeError>("[PyLayerContext] ", what,
                       ": this context belongs to no call of a layer, or to one whose graph has been freed");
  }
  return *context;
}

const Tensor& tensor_argument(PyObject* object, Py_ssize_t i, const char* what) {
  if (!is_tensor(object))
    fail<TypeError>("[", what, "] argument ", i, " is ", type_name(object), ", expected a Tensor");
  return tensor_of(object);
}

PyObject* save_for_backward(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Context& context = context_of(self, "save_for_backward");
    TensorList tensors;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (args[i] == Py_None) {
        tensors.emplace_back();
      } else if (is_tensor(args[i])) {
        tensors.push_back(tensor_of(args[i]));
      } else {
        fail<TypeError>("[save_for_backward] argument ", i, " is ", type_name(args[i]),
                        ": only tensors and None can be saved; keep other things as attributes of ctx");
      }
    }
    context.save_for_backward(std::span<const Tensor>(tensors));
    if (autograd::modes().interceptors & autograd::Modes::kPacking) [[unlikely]]
      as_context(self)->originals = weak_references_to({args, static_cast<std::size_t>(count)}).release();
    Py_RETURN_NONE;
  });
}

PyObject* saved_tensors(PyObject* self) {
  const TensorList tensors = context_of(self, "saved_tensors").saved_tensors();
  const PyRef originals = PyRef::share(as_context(self)->originals);
  return (originals ? wrap_all_like(originals.get(), tensors) : wrap_all(tensors)).release();
}

PyObject* saved_tensor_method(PyObject* self, PyObject*) {
  return guarded([&] { return saved_tensors(self); });
}

PyObject* get_saved_tensors(PyObject* self, void*) {
  return guarded([&] { return saved_tensors(self); });
}

PyObject* get_needs_input_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Context& context = context_of(self, "needs_input_grad");
    const auto is_needed = [&](std::size_t i) { return PyBool_FromLong(context.needs_input_grad(i)); };
    return tuple_from(std::views::iota(std::size_t{0}, context.arguments.size()), is_needed).release();
  });
}

PyObject* get_node(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    // Weakly, because another thread may have begun to destroy the node, which waits for the GIL to detach its context.
    return wrap_node(WeakNode(context_of(self, "node").node()).lock());
  });
}

/// Implements mark_dirty and the like: methods that pass their tensors to `Mark`.
template <auto Mark, const auto& kName>
PyObject* mark(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Context& context = context_of(self, kName);
    for (Py_ssize_t i = 0; i < count; ++i) Mark(context, tensor_argument(args[i], i, kName));
    Py_RETURN_NONE;
  });
}

constexpr char kDirty[] = "mark_dirty";
constexpr char kNotInplace[] = "mark_not_inplace";
constexpr char kNonDifferentiable[] = "mark_non_differentiable";

bool flag_argument(PyObject* value, const char* what) {
  if (value != Py_True && value != Py_False)
    fail<TypeError>("[", what, "] expected True or False, got ", type_name(value));
  return value == Py_True;
}

PyObject* set_materialize_grads(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    context_of(self, "set_materialize_grads").set_materialize_grads(flag_argument(value, "set_materialize_grads"));
    Py_RETURN_NONE;
  });
}

PyObject* set_grad_in_dtype_consistent(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    context_of(self, "set_grad_in_dtype_consistent")
        .set_grad_in_dtype_consistent(flag_argument(value, "set_grad_in_dtype_consistent"));
    Py_RETURN_NONE;
  });
}

PyObject* create(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs)))
      fail<TypeError>("[PyLayerContext] takes no arguments");
    return new_context(nullptr);
  });
}

void dealloc(PyObject* object) {
  ContextObject* self = as_context(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->attributes);
  Py_CLEAR(self->originals);
  free_objects.give(self, type, true);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(as_context(object)->attributes);
  return 0;
}

int clear(PyObject* object) {
  Py_CLEAR(as_context(object)->attributes);
  return 0;
}

PyMethodDef methods[] = {
    {"save_for_backward", as_c_function(save_for_backward), METH_FASTCALL,
     "save_for_backward($self, /, *tensors)\n--\n\n"
     "Keeps tensors (or None) for backward. Once, and only in forward or setup_context: RuntimeError otherwise."},
    {"saved_tensor", saved_tensor_method, METH_NOARGS,
     "saved_tensor($self, /)\n--\n\n"
     "The tuple of tensors that forward saved. RuntimeError where the graph was freed, or where one was overwritten "
     "since."},
    {"mark_dirty", as_c_function(mark<[](Context& c, const Tensor& x) { c.mark_dirty(x); }, kDirty>), METH_FASTCALL,
     "mark_dirty($self, /, *tensors)\n--\n\nDeclares that forward wrote into these inputs in place and returns them."},
    {"mark_not_inplace", as_c_function(mark<[](Context& c, const Tensor& x) { c.mark_not_inplace(x); }, kNotInplace>),
     METH_FASTCALL,
     "mark_not_inplace($self, /, *tensors)\n--\n\nDeclares that these inputs, returned as outputs, become new tensors "
     "on the same memory."},
    {"mark_non_differentiable",
     as_c_function(mark<[](Context& c, const Tensor& x) { c.mark_non_differentiable(x); }, kNonDifferentiable>),
     METH_FASTCALL, "mark_non_differentiable($self, /, *tensors)\n--\n\nDeclares that these outputs have no gradient."},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "set_materialize_grads($self, value, /)\n--\n\nFalse: an output that got no gradient gives None to backward, "
     "instead of zeros."},
    {"set_grad_in_dtype_consistent", set_grad_in_dtype_consistent, METH_O,
     "set_grad_in_dtype_consistent($self, value, /)\n--\n\nFalse: an incoming gradient is not cast to its output's "
     "dtype."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef attributes[] = {
    {"saved_tensors", get_saved_tensors, nullptr,
     "The tuple of tensors that forward saved: saved_tensor() as an attribute.", nullptr},
    {"needs_input_grad", get_needs_input_grad, nullptr,
     "For each argument of the call, whether its gradient is wanted: in backward, by the pass that runs.", nullptr},
    {"node", get_node, nullptr, "The node of the call; None where nothing is recorded.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContextObject, weak_references), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, attributes), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

PyTypeObject* make_context_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_methods, methods},
      {Py_tp_getset, attributes},
      {Py_tp_members, members},
      {Py_tp_doc,
       const_cast<char*>(
           "What a PyLayer's forward leaves for its backward: saved tensors, attributes of the user's, and marks on\n"
           "inputs and outputs. `apply` makes one for each call.")},
      {0, nullptr},
  };
  return context_type = new_type<ContextObject>("lamella.autograd.PyLayerContext", slots, Py_TPFLAGS_HAVE_GC);
}

PyObject* new_context(Context* context) {
  ContextObject* const self = checked(free_objects.take(context_type));
  self->context = context;
  self->attributes = nullptr;
  self->originals = nullptr;
  self->weak_references = nullptr;
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace lamella::python

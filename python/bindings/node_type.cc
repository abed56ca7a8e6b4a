#include "python/bindings/node_type.h"

#include <structmember.h>

#include <any>
#include <mutex>
#include <unordered_map>

#include "engine/autograd/diagnosis/inspect.h"
#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/origin.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/hooks.h"
#include "python/bindings/layer_node.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/visit.h"

namespace lamella::python {
namespace {

struct NodeObject {
  PyObject_HEAD Ref<Node> node;
  PyObject* weak_references;
};

PyTypeObject* node_type = nullptr;

Ref<Node>& field(PyObject* self) { return reinterpret_cast<NodeObject*>(self)->node; }

/// Table of the Python objects of nodes. An object keeps its node alive, and a node has one object as long as somebody
/// holds it.
struct Objects {
  StateMutex mutex;
  std::unordered_map<const Node*, PyObject*> by_node;
};

Objects& objects() {
  static auto* const made = new Objects;
  return *made;
}

/// Removes the object from the table, so that its node gets another one.
void forget(PyObject* object) {
  const Node* const node = field(object).get();
  if (!node) return;
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().by_node.find(node);
  if (found != objects().by_node.end() && found->second == object) objects().by_node.erase(found);
}

Node& alive(PyObject* self) { return *node_of(self); }

void dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  // forget() comes first: code that runs from here on must not find this object through the node.
  forget(object);
  if (reinterpret_cast<NodeObject*>(object)->weak_references) PyObject_ClearWeakRefs(object);
  field(object).~Ref<Node>();
  type->tp_free(object);
  Py_DECREF(type);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  return field(object) ? visit_node(*field(object), visit, arg) : 0;
}

int clear(PyObject* object) {
  forget(object);
  const Ref<Node> dropped = std::move(field(object));
  return 0;
}

PyObject* text(const std::string& value) {
  return checked(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
}

PyObject* get_name(PyObject* self, void*) {
  return guarded([&] { return text(alive(self).name()); });
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const auto pair = [](const Edge& edge) {
      return Py_BuildValue("(OI)", PyRef::adopt(wrap_node(edge.node)).get(), edge.input_nr);
    };
    return tuple_from(alive(self).edges(), pair).release();
  });
}

PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    alive(self);
    autograd::NodeExtras& extras = node_of(self)->make_extras();
    const PyRef fresh = PyRef::adopt(checked(PyDict_New()));
    const std::lock_guard lock(extras.lock);
    if (!extras.host_metadata.has_value()) extras.host_metadata = share_object(fresh.get());
    return Py_NewRef(std::any_cast<const SharedObject&>(extras.host_metadata).get());
  });
}

PyObject* get_saved_tensors(PyObject* self, void*) {
  return guarded([&] { return wrap_all(autograd::saved_tensors(alive(self))).release(); });
}

PyObject* get_context(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const auto* const layer = dynamic_cast<const PyLayerNode*>(&alive(self));
    return Py_NewRef(layer ? layer->context_object() : Py_None);
  });
}

PyObject* get_variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const auto* const leaf = dynamic_cast<const autograd::AccumulateGrad*>(&alive(self));
    if (leaf) return wrap(leaf->leaf());
    PyErr_SetString(PyExc_AttributeError, "[Node] variable: only the node of a leaf (AccumulateGrad) has one");
    return nullptr;
  });
}

PyObject* get_sequence_nr(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return checked(PyLong_FromUnsignedLongLong(alive(self).sequence())); });
}

PyObject* get_origin(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const auto origin = autograd::origin_of(alive(self));
    if (!origin) Py_RETURN_NONE;
    return text(autograd::long_place(*origin, ""));
  });
}

PyObject* repr(PyObject* self) {
  return guarded([&] { return text("<" + alive(self).name() + " node>"); });
}

// Equality and hash go by the node, not by the object: a program may keep the hash of a node whose object it drops.
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !is_node(b)) Py_RETURN_NOTIMPLEMENTED;
  const bool same = a == b || (field(a) && field(a) == field(b));
  return PyBool_FromLong(same == (op == Py_EQ));
}

Py_hash_t hash(PyObject* self) {
  const auto value = static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(field(self).get()) >> 4);
  return value == -1 ? -2 : value;
}

PyObject* register_hook_method(PyObject* self, PyObject* function) {
  return guarded([&] { return register_posthook(alive(self), function); });
}

PyObject* register_prehook_method(PyObject* self, PyObject* function) {
  return guarded([&] { return register_prehook(alive(self), function); });
}

PyMethodDef methods[] = {
    {"register_hook", register_hook_method, METH_O,
     "register_hook($self, hook, /)\n--\n\n"
     "Has hook(grad_inputs, grad_outputs) called after the node ran in a backward pass: tuples with the gradients of "
     "the "
     "operation's\n"
     "inputs and outputs, None where there is none. A tuple that it returns takes the place of grad_inputs; it must "
     "not "
     "change them in\n"
     "place. Returns a handle with remove(). The node of a leaf (AccumulateGrad) comes and goes with the graphs that "
     "use it: keep it, or\n"
     "use the tensor's register_post_accumulate_grad_hook."},
    {"register_prehook", register_prehook_method, METH_O,
     "register_prehook($self, hook, /)\n--\n\n"
     "Has hook(grad_outputs) called before the node runs, after the hooks on the operation's results. A tuple that it "
     "returns takes the\n"
     "place of grad_outputs. Returns a handle with remove()."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef attributes[] = {
    {"name", get_name, nullptr, "The name of the operation or of the layer.", nullptr},
    {"next_functions", get_next_functions, nullptr,
     "For each input of the operation, the node that its gradient goes to (or None) and which of that node's outputs "
     "it was.",
     nullptr},
    {"metadata", get_metadata, nullptr, "A dict for notes of one's own, which lasts as long as the operation does.",
     nullptr},
    {"saved_tensors", get_saved_tensors, nullptr,
     "The tensors that the operation saved for backward, as they are kept: to look at. None stands for what is not "
     "kept "
     "as a tensor. Empty once the graph was freed.",
     nullptr},
    {"context", get_context, nullptr,
     "The ctx of a call of a PyLayer, with all that forward set on it; None for other nodes.", nullptr},
    {"variable", get_variable, nullptr,
     "The leaf whose gradient the node adds to; AttributeError for nodes of operations.", nullptr},
    {"sequence_nr", get_sequence_nr, nullptr,
     "Grows with every operation that a thread records: backward passes run larger ones first.", nullptr},
    {"origin", get_origin, nullptr,
     "Where the operation was called, a line of text for each call of the user's; None where it was not recorded under "
     "trace().",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

PyTypeObject* make_node_type() {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_getset, attributes},
      {Py_tp_doc, const_cast<char*>("A recorded operation, as Tensor.grad_fn shows it.")},
      {0, nullptr},
  };
  return node_type = new_type<NodeObject>("lamella.autograd.Node", slots,
                                          Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION);
}

bool is_node(PyObject* object) noexcept { return PyObject_TypeCheck(object, node_type) != 0; }

const Ref<Node>& node_of(PyObject* object) {
  const Ref<Node>& node = field(object);
  if (!node) fail<RuntimeError>("[Node] this node was never initialized");
  return node;
}

PyObject* wrap_node(Ref<Node> node) {
  if (!node) Py_RETURN_NONE;
  const Node* const key = node.get();
  {
    const std::lock_guard lock(objects().mutex);
    const auto found = objects().by_node.find(key);
    if (found != objects().by_node.end() && try_retain(found->second)) return found->second;
  }
  auto* const made = checked(PyObject_GC_New(NodeObject, node_type));
  new (&made->node) Ref<Node>(std::move(node));
  made->weak_references = nullptr;
  auto* const object = reinterpret_cast<PyObject*>(made);
  expect_try_retain(object);
  PyObject* other = nullptr;
  {
    // Another thread, or a collection that the allocation set off, may have made the node's object meanwhile.
    const std::lock_guard lock(objects().mutex);
    PyObject*& entry = objects().by_node.try_emplace(key, object).first->second;
    if (entry != object && try_retain(entry)) {
      other = entry;
    } else {
      entry = object;
    }
  }
  PyObject_GC_Track(object);
  if (!other) return object;
  Py_DECREF(object);
  return other;
}

}  // namespace lamella::python

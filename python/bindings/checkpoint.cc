#include "python/bindings/checkpoint.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/autograd/checkpoint/read_watch.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/saved/context.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/random_lease.h"
#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/likeness.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

constexpr const char* kStateCapsule = "lamella.RandomState";
constexpr const char* kReadsCapsule = "lamella.ReadLog";

PyObject* stop_type = nullptr;

/// Sets the Python exception for a StopRecomputation that is being handled; false for other exceptions. It is no
/// Exception, so that `except Exception` does not catch it.
bool set_stop_recomputation() noexcept {
  try {
    throw;
  } catch (const autograd::StopRecomputation& stop) {
    const PyRef run = PyRef::adopt(PyLong_FromVoidPtr(const_cast<void*>(stop.run)));
    if (run) PyErr_SetObject(stop_type, run.get());
    return true;
  } catch (...) {
    return false;
  }
}

/// Throws the Python exception that is set; one that stands for a StopRecomputation is thrown as that C++ type again.
[[noreturn]] void throw_from_python() {
  const PythonError error;
  if (PyErr_GivenExceptionMatches(error.value(), stop_type)) {
    const PyRef args = PyRef::adopt(checked(PyObject_GetAttrString(error.value(), "args")));
    if (PyTuple_Check(args.get()) && PyTuple_GET_SIZE(args.get()) == 1) {
      throw autograd::StopRecomputation{PyLong_AsVoidPtr(PyTuple_GET_ITEM(args.get(), 0))};
    }
  }
  throw error;
}

/// Recomputes a checkpoint: calls the Python function with the tensors in the places of the first call's arguments.
struct Recompute {
  SharedObject function;
  /// Weak references to the arguments of the first call, see Note [Likenesses]; null if all are plain tensors.
  SharedObject originals;

  void operator()(std::span<const Tensor> inputs) const {
    const GilHold gil;
    const PyRef args = originals ? wrap_all_like(originals.get(), inputs) : wrap_all(inputs);
    const PyRef result = PyRef::adopt(PyObject_CallObject(function.get(), args.get()));
    if (!result) throw_from_python();
  }
};

struct Policy {
  SharedObject function;

  bool operator()(std::string_view op, std::span<const Tensor* const> inputs) const {
    const GilHold gil;
    const PyRef args = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(inputs.size()) + 1)));
    PyTuple_SET_ITEM(args.get(), 0,
                     checked(PyUnicode_FromStringAndSize(op.data(), static_cast<Py_ssize_t>(op.size()))));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i) + 1, checked(wrap(*inputs[i])));
    }
    const PyRef result = PyRef::adopt(checked(PyObject_CallObject(function.get(), args.get())));
    return checked(PyObject_IsTrue(result.get())) != 0;
  }
};

/// Returns weak_references_to() the Python objects of `tensors`.
PyRef likenesses_of(std::span<const Tensor> tensors) {
  const PyRef objects = wrap_all(tensors);
  return weak_references_to({PySequence_Fast_ITEMS(objects.get()), tensors.size()});
}

PyObject* checkpoint(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature(
        "checkpoint", "function, args, kwargs, tensors, recompute, preserve_rng_state, check, early_stop, policy, /");
    const auto values = signature.bound<9>(args, count, keywords);
    if (!PyTuple_Check(values[1])) Argument{signature, 1}.wrong_type("a tuple", values[1]);
    if (!PyDict_Check(values[2])) Argument{signature, 2}.wrong_type("a dict", values[2]);
    autograd::CheckpointOptions options{.preserve_rng_state = read<bool>(values[5], {signature, 5}),
                                        .check = read<bool>(values[6], {signature, 6}),
                                        .early_stop = read<bool>(values[7], {signature, 7}),
                                        .policy = {}};
    if (values[8] != Py_None) options.policy = Policy{share_object(values[8])};
    const auto tensors = read<std::vector<Tensor>>(values[3], {signature, 3});
    std::vector<const Tensor*> inputs;
    for (const Tensor& x : tensors) inputs.push_back(&x);

    const PyRef originals = likenesses_of(tensors);
    autograd::CheckpointScope scope(
        Recompute{share_object(values[4]), originals ? share_object(originals.get()) : SharedObject()}, inputs,
        options);
    PyRef result = PyRef::adopt(checked(PyObject_Call(values[0], values[1], values[2])));
    scope.complete();
    return result.release();
  });
}

PyObject* call_with_random_lease(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("call_with_random_lease", "function, args, /");
    const auto values = signature.bound<2>(args, count, keywords);
    if (!PyTuple_Check(values[1])) Argument{signature, 1}.wrong_type("a tuple", values[1]);
    const RandomLease lease;
    auto state = std::make_unique<RandomState>(RandomState::now());
    const PyRef capsule = PyRef::adopt(checked(PyCapsule_New(state.get(), kStateCapsule, [](PyObject* self) {
      delete static_cast<RandomState*>(PyCapsule_GetPointer(self, kStateCapsule));
    })));
    state.release();
    const PyRef result = PyRef::adopt(checked(PyObject_CallObject(values[0], values[1])));
    return checked(PyTuple_Pack(2, capsule.get(), result.get()));
  });
}

PyObject* call_with_random_state(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("call_with_random_state", "state, function, args, /");
    const auto values = signature.bound<3>(args, count, keywords);
    const auto* state = static_cast<const RandomState*>(checked(PyCapsule_GetPointer(values[0], kStateCapsule)));
    if (!PyTuple_Check(values[2])) Argument{signature, 2}.wrong_type("a tuple", values[2]);
    const RandomReplay replay(*state);
    return checked(PyObject_CallObject(values[1], values[2]));
  });
}

PyObject* detach_like(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("detach_like", "tensor, /");
    if (!is_tensor(tensor)) Argument{signature, 0}.wrong_type("a Tensor", tensor);
    return Py_IS_TYPE(tensor, tensor_type) ? checked(wrap(tensor_of(tensor).detach()))
                                           : wrap_like(tensor, tensor_of(tensor).detach()).release();
  });
}

PyObject* call_noting_reads(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("call_noting_reads", "function, args, /");
    const auto values = signature.bound<2>(args, count, keywords);
    if (!PyTuple_Check(values[1])) Argument{signature, 1}.wrong_type("a tuple", values[1]);
    auto log = std::make_unique<std::shared_ptr<autograd::ReadLog>>(std::make_shared<autograd::ReadLog>());
    const PyRef capsule = PyRef::adopt(checked(PyCapsule_New(log.get(), kReadsCapsule, [](PyObject* self) {
      delete static_cast<std::shared_ptr<autograd::ReadLog>*>(PyCapsule_GetPointer(self, kReadsCapsule));
    })));
    const autograd::WatchReads watch(std::make_shared<autograd::ReadWatch>(*log.release(), false));
    const PyRef result = PyRef::adopt(checked(PyObject_CallObject(values[0], values[1])));
    return checked(PyTuple_Pack(2, capsule.get(), result.get()));
  });
}

PyObject* call_comparing_reads(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("call_comparing_reads", "reads, function, args, /");
    const auto values = signature.bound<3>(args, count, keywords);
    if (!PyTuple_Check(values[2])) Argument{signature, 2}.wrong_type("a tuple", values[2]);
    const auto* log =
        static_cast<const std::shared_ptr<autograd::ReadLog>*>(checked(PyCapsule_GetPointer(values[0], kReadsCapsule)));
    const autograd::WatchReads watch(std::make_shared<autograd::ReadWatch>(*log, true));
    return checked(PyObject_CallObject(values[1], values[2]));
  });
}

PyObject* pass_is_for_all_leaves(PyObject*, PyObject*) { return PyBool_FromLong(autograd::pass_is_for_all_leaves()); }

PyMethodDef checkpoint_method_defs[] = {
    {"_checkpoint", as_c_function(checkpoint), METH_FASTCALL | METH_KEYWORDS,
     "_checkpoint(function, args, kwargs, tensors, recompute, preserve_rng_state, check, early_stop, policy, /)\n--\n\n"
     "Calls function(*args, **kwargs) so that backward calls recompute(*tensors) instead of finding saved tensors."},
    {"_call_with_random_lease", as_c_function(call_with_random_lease), METH_FASTCALL | METH_KEYWORDS,
     "_call_with_random_lease(function, args, /)\n--\n\n"
     "Where random numbers stand, and function(*args), which draws from there whatever others draw meanwhile."},
    {"_call_with_random_state", as_c_function(call_with_random_state), METH_FASTCALL | METH_KEYWORDS,
     "_call_with_random_state(state, function, args, /)\n--\n\n"
     "Calls function(*args) with the random numbers that come after state; those of others are not touched."},
    {"_detach_like", detach_like, METH_O,
     "_detach_like(tensor, /)\n--\n\ntensor.detach() as an object of the tensor's class that shares its attributes."},
    {"_call_noting_reads", as_c_function(call_noting_reads), METH_FASTCALL | METH_KEYWORDS,
     "_call_noting_reads(function, args, /)\n--\n\nWhich tensors function(*args) reads, and what it returns."},
    {"_call_comparing_reads", as_c_function(call_comparing_reads), METH_FASTCALL | METH_KEYWORDS,
     "_call_comparing_reads(reads, function, args, /)\n--\n\n"
     "Calls function(*args); RuntimeError where a tensor that it reads was written to since reads were noted."},
    {"_pass_is_for_all_leaves", pass_is_for_all_leaves, METH_NOARGS,
     "_pass_is_for_all_leaves()\n--\n\nTrue if the backward pass on this thread is for all leaves, not named inputs."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyRef select_layer_call(const char* layer, std::span<const Tensor* const> inputs,
                        const std::function<PyRef()>& compute) {
  const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("lamella._tree")));
  autograd::SelectedCall selected(layer, inputs);
  if (selected.is_replayed()) {
    const PyRef tensors = wrap_all(selected.results());
    const auto& form = std::any_cast<const SharedObject&>(selected.form());
    return PyRef::adopt(checked(PyObject_CallMethod(module.get(), "rebuild", "OO", form.get(), tensors.get())));
  }
  PyRef result = compute();
  if (selected.is_keeping()) {
    const PyRef pair = PyRef::adopt(checked(PyObject_CallMethod(module.get(), "flatten", "O", result.get())));
    PyObject* tensors = nullptr;
    PyObject* form = nullptr;
    if (!PyArg_ParseTuple(pair.get(), "O!O", &PyList_Type, &tensors, &form)) throw_python_error();
    std::vector<const Tensor*> results;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i) {
      results.push_back(&tensor_of(PyList_GET_ITEM(tensors, i)));
    }
    selected.keep(results, share_object(form));
  }
  return result;
}

int visit_checkpoints(const Ref<Node>& node, visitproc visit, void* arg) {
  if (!autograd::CheckpointReferences::any()) return 0;
  autograd::CheckpointReferences checkpoints;
  // A node is owned by `node` alone if as many references to it were found as it has; what it holds is then owned
  // alone, too.
  std::unordered_map<const Node*, std::uint32_t> nodes;
  std::unordered_map<const TensorImpl*, std::uint32_t> tensors;
  std::vector<const Node*> owned;
  const auto found = [&](const Ref<Node>& other) {
    if (other && ++nodes[other.get()] == other->use_count()) owned.push_back(other.get());
  };
  found(node);
  while (!owned.empty()) {
    const Node* next = owned.back();
    owned.pop_back();
    for (const Edge& edge : next->edges()) found(edge.node);
    if (!next->context()) continue;
    next->context()->for_each_saved([&](const autograd::SavedTensor& saved) {
      if (const autograd::Packed* packed = saved.packed()) {
        if (packed->use_count() != 1) return;
        found(packed->edge.node);
        checkpoints.add(*packed);
      } else if (const Tensor& x = saved.tensor(); x.defined() && ++tensors[x.impl()] == x->use_count()) {
        if (const autograd::AutogradMeta* meta = autograd::peek_meta(x)) found(meta->grad_fn);
      }
    });
  }
  int stop = 0;
  checkpoints.for_each_owned([&](const autograd::CheckpointScope::Recompute& function) {
    const auto* recompute = function.target<Recompute>();
    if (!stop && recompute && recompute->function.use_count() == 1) stop = visit(recompute->function.get(), arg);
  });
  return stop;
}

void add_stop_recomputation(PyObject* module) {
  stop_type = checked(PyErr_NewExceptionWithDoc(
      "lamella._C._StopRecomputation",
      "Leaves a checkpoint's function when backward has what it needs. No Exception: functions must let it pass.",
      PyExc_BaseException, nullptr));
  checked(PyModule_AddObjectRef(module, "_StopRecomputation", stop_type));
  translate_other_exceptions(set_stop_recomputation);
}

PyMethodDef* checkpoint_functions() { return checkpoint_method_defs; }

}  // namespace lamella::python

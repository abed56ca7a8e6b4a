#include "python/bindings/capture.h"

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/autograd/recording/capture.h"
#include "engine/autograd/trace/profile.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"
#include "engine/registry/entry.h"
#include "python/bindings/adapted.h"
#include "python/bindings/containers.h"
#include "python/bindings/definition.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/method.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

thread_local PyObject* recorder = nullptr;
/// Number of threads that have a recorder or are profiled.
int watched_threads = 0;

/// A function of a method table, and the one that stands in its place while somebody records.
struct CapturePoint {
  PyMethodDef* def;
  FastCall original;
  FastCall capturing;
  /// The operator and its form; null for a function that `handler` takes.
  const Definition* op;
  bool method;
  bool in_place;
  const char* handler;
};

std::vector<CapturePoint>& points() {
  static auto* all = new std::vector<CapturePoint>;
  return *all;
}

/// Makes an object this thread's recorder, or takes the recorder away; returns the one before. References move along.
PyObject* exchange_recorder(PyObject* next) noexcept;

/// Takes the recorder away from this thread while it works.
class Suspended {
 public:
  Suspended() noexcept : recorder_(exchange_recorder(nullptr)) {}
  ~Suspended() { exchange_recorder(recorder_); }
  Suspended(const Suspended&) = delete;
  Suspended& operator=(const Suspended&) = delete;

  PyObject* held() const noexcept { return recorder_; }

 private:
  PyObject* recorder_;
};

PyRef arguments_of(std::span<PyObject* const> items) {
  return tuple_from(items, [](PyObject* item) { return Py_NewRef(item); });
}

/// Returns null in place of NotImplemented.
PyRef answer(PyObject* result) {
  PyRef owned = PyRef::adopt(checked(result));
  return owned.get() == Py_NotImplemented ? PyRef() : std::move(owned);
}

/// Calls a capsule's function with a list of tensors.
PyObject* run_captured(PyObject* capsule, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    const auto* const run = static_cast<autograd::CallCapture::Run*>(checked(PyCapsule_GetPointer(capsule, nullptr)));
    return Adapted<std::vector<Tensor>>::to((*run)(Adapted<std::vector<Tensor>>::from(tensors))).release();
  });
}

/// Hands the recorder calls of C++ layers.
class LayerCapture final : public autograd::CallCapture {
 public:
  std::optional<std::vector<Tensor>> capture(const std::string& name, std::span<const Tensor* const> inputs,
                                             Run run) override {
    const GilHold gil;
    const PyRef tensors = list_from(inputs, [](const Tensor* x) { return wrap_ref(*x); });
    static PyMethodDef function{"layer", run_captured, METH_O, nullptr};
    const PyRef capsule = PyRef::adopt(checked(PyCapsule_New(new Run(std::move(run)), nullptr, [](PyObject* object) {
      delete static_cast<Run*>(PyCapsule_GetPointer(object, nullptr));
    })));
    const PyRef call = PyRef::adopt(checked(PyCFunction_New(&function, capsule.get())));
    const Suspended suspended;
    const PyRef results =
        answer(PyObject_CallMethod(suspended.held(), "cpp_layer", "sOO", name.c_str(), tensors.get(), call.get()));
    if (!results) return {};
    return Adapted<std::vector<Tensor>>::from(results.get());
  }
};

LayerCapture layer_capture;

PyObject* exchange_recorder(PyObject* next) noexcept {
  auto& bits = autograd::modes().interceptors;
  constexpr auto kCapture = autograd::Modes::kCapture;
  bits = static_cast<std::uint8_t>(next ? bits | kCapture : bits & ~kCapture);
  autograd::thread_state().capture = next ? &layer_capture : nullptr;
  return std::exchange(recorder, next);
}

/// Hands the recorder an operator's name and its arguments, one for each parameter.
PyRef capture_operator(const CapturePoint& point, PyObject* self, PyObject* const* args, Py_ssize_t count,
                       PyObject* keywords) {
  const EntryPoints& form = point.in_place ? point.op->in_place : point.op->form;
  const Signature& signature = **form.signature;
  std::vector<PyObject*> values(signature.size());
  std::size_t bound = 0;
  if (point.method) values[bound++] = self;
  PyRef gathered;
  const bool variadic = !point.method && point.op->parameters[0] == '*' && point.op->parameters[1] != ',';
  if (variadic || (point.method && point.op->takes_sizes_apart && count > 1)) {
    gathered = arguments_of({args, static_cast<std::size_t>(count)});
    values[bound++] = gathered.get();
    args += count;
    count = 0;
  }
  signature.bind(args, count, keywords, values.data(), bound);
  const PyRef arguments = arguments_of(values);
  const Suspended suspended;
  return answer(PyObject_CallMethod(suspended.held(), "operator", "sOO", point.op->info->name,
                                    point.in_place ? Py_True : Py_False, arguments.get()));
}

/// Returns a call's name in profiles: a layer's own for that of a layer.
std::string_view name_of(const CapturePoint& point, PyObject* self) {
  if (!point.op && self && PyType_Check(self)) return reinterpret_cast<PyTypeObject*>(self)->tp_name;
  return point.def->ml_name;
}

PyObject* capture(std::size_t i, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const CapturePoint& point = points()[i];
  if (!recorder) {
    const autograd::ProfileSpan span(autograd::ProfileEvent::Kind::Operator, name_of(point, self));
    return point.original(self, args, count, keywords);
  }
  PyObject* const result = guarded(
      [&]() -> PyObject* {
        PyRef recorded = point.op ? capture_operator(point, self, args, count, keywords)
                                  : capture_call(point.handler, self, args, count, keywords);
        return recorded ? recorded.release() : Py_NewRef(Py_NotImplemented);
      },
      point.op ? point.op->info->name : point.handler);
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  return point.original(self, args, count, keywords);
}

template <std::size_t I>
PyObject* capture_at(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return capture(I, self, args, count, keywords);
}

/// One function for each point: a function that Python calls is told nothing else that would identify its point.
constexpr std::size_t kMaxPoints = 2560;
constexpr auto kCapturing = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<FastCall, sizeof...(I)>{capture_at<I>...};
}(std::make_index_sequence<kMaxPoints>());

void exchange_tables(bool capturing) {
  for (const CapturePoint& point : points())
    point.def->ml_meth = as_c_function(capturing ? point.capturing : point.original);
}

void add(CapturePoint point) {
  const std::size_t i = points().size();
  if (i == kMaxPoints) fail<RuntimeError>("[capture] there are more than ", kMaxPoints, " functions of operators");
  point.original = reinterpret_cast<FastCall>(reinterpret_cast<void (*)()>(point.def->ml_meth));
  point.capturing = kCapturing[i];
  points().push_back(point);
}

PyObject* set_recorder(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    PyObject* const next = object == Py_None ? nullptr : Py_NewRef(object);
    PyObject* const before = exchange_recorder(next);
    watch_calls((next != nullptr) - (before != nullptr));
    return before ? before : Py_NewRef(Py_None);
  });
}

PyObject* get_recorder(PyObject*, PyObject*) { return Py_NewRef(recorder ? recorder : Py_None); }

/// Python takes a type's restored __iadd__ for that of sequences, too, whose NotImplemented would be a result.
PyObject* mend_slots(PyObject*, PyObject* type) {
  return guarded([&]() -> PyObject* {
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type))
      fail<TypeError>("expected a class of tensors, got ", type_name(type));
    reinterpret_cast<PyTypeObject*>(type)->tp_as_sequence->sq_inplace_concat = nullptr;
    Py_RETURN_NONE;
  });
}

PyMethodDef capture_method_defs[] = {
    {"_mend_slots", mend_slots, METH_O, nullptr},
    {"_recorder", get_recorder, METH_NOARGS, nullptr},
    {"_set_recorder", set_recorder, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_capturing() noexcept { return recorder != nullptr; }
bool are_calls_watched() noexcept { return watched_threads > 0; }

void watch_calls(int change) {
  const int before = std::exchange(watched_threads, watched_threads + change);
  if ((before == 0) == (watched_threads == 0)) return;
  exchange_tables(before == 0);
  if (before == 0) registry::advance_generation();  // so that calls of registered operators ask, too
}

PyRef capture_call(const char* method, PyObject* callable, PyObject* const* args, Py_ssize_t count,
                   PyObject* keywords) {
  const PyRef positional = arguments_of({args, static_cast<std::size_t>(count)});
  const PyRef named = PyRef::adopt(checked(PyDict_New()));
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k)
    checked(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(keywords, k), args[count + k]));
  const Suspended suspended;
  return answer(PyObject_CallMethod(suspended.held(), method, "OOO", callable, positional.get(), named.get()));
}

void add_capture_points(std::vector<PyMethodDef>& table, bool methods) {
  std::unordered_map<std::string_view, CapturePoint> known;
  for (const Definition& op : operator_definitions()) {
    CapturePoint point{.def = nullptr,
                       .original = nullptr,
                       .capturing = nullptr,
                       .op = &op,
                       .method = methods,
                       .in_place = false,
                       .handler = nullptr};
    known.emplace((*op.form.signature)->function(), point);
    if (!has_in_place_form(op) || !*op.in_place.signature) continue;
    point.in_place = true;
    known.emplace((*op.in_place.signature)->function(), point);
  }
  for (PyMethodDef& def : table) {
    const auto found = def.ml_name ? known.find(def.ml_name) : known.end();
    if (found == known.end()) continue;
    const EntryPoints& form = found->second.in_place ? found->second.op->in_place : found->second.op->form;
    // A method of the same name may be one of Tensor's own.
    if (def.ml_meth != as_c_function(methods ? form.method : form.function)) continue;
    found->second.def = &def;
    add(found->second);
  }
}

void add_capture_point(PyMethodDef& function, const char* handler) {
  add({.def = &function,
       .original = nullptr,
       .capturing = nullptr,
       .op = nullptr,
       .method = true,
       .in_place = false,
       .handler = handler});
}

PyMethodDef* capture_functions() { return capture_method_defs; }

}  // namespace lamella::python

#include "python/bindings/native_programs.h"

#include "engine/core/host.h"
#include "ops/fusion/native/native.h"
#include "python/bindings/adapted.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"

namespace lamella::python {
namespace {

namespace native = fusion::native;

constexpr const char* kModes[] = {"off", "background", "wait"};
/// Work that is worth letting other threads run.
constexpr std::int64_t kLong = std::int64_t{1} << 30;

native::Mode to_mode(const std::string& name) {
  for (const native::Mode mode : {native::Mode::Off, native::Mode::Background, native::Mode::Wait}) {
    if (name == kModes[static_cast<std::size_t>(mode)]) return mode;
  }
  fail<ValueError>("[set_native] mode is 'off', 'background' or 'wait', got '", name, "'");
}

/// Functions of the module, which have no object.
PyObject* no_object(PyObject*) { return nullptr; }

PyRef settings(PyObject*) {
  const native::Settings now = native::settings();
  return adapted_tuple(std::string(kModes[static_cast<std::size_t>(now.mode)]), now.compiler, now.cache,
                       PyRef::adopt(checked(PyFloat_FromDouble(now.seconds))));
}

void set_settings(PyObject*, const std::string& mode, const std::string& compiler, const std::string& cache,
                  PyObject* seconds) {
  native::Settings next{
      .mode = to_mode(mode), .compiler = compiler, .cache = cache, .seconds = PyFloat_AsDouble(seconds)};
  if (PyErr_Occurred()) throw_python_error();
  if (!(next.seconds > 0 && next.seconds <= 3600))
    fail<ValueError>("[set_native] seconds is above 0 and at most 3600, got ", next.seconds);
  const HostRelease release(kLong);
  native::set_settings(std::move(next));
}

PyRef status(PyObject*) {
  const native::Status now = native::status();
  return adapted_tuple(now.compiler, now.cache, std::int64_t{now.compiled}, std::int64_t{now.loaded},
                       std::int64_t{now.waiting}, now.problems, now.gave_up);
}

void wait(PyObject*) {
  const HostRelease release(kLong);
  native::wait_for_all();
}

template <auto F>
PyMethodDef def(const char* name) {
  return {name, as_c_function(adapted_method<F, no_object>), METH_FASTCALL, nullptr};
}

PyMethodDef native_defs[] = {
    def<settings>("_native_settings"), def<set_settings>("_set_native_settings"),
    def<status>("_native_status"),     def<wait>("_wait_for_native"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef* native_program_functions() { return native_defs; }

void tell_native_problems() {
  for (const std::string& problem : native::untold_problems())
    checked(PyErr_WarnEx(PyExc_RuntimeWarning, ("[graph] " + problem).c_str(), 2));
}

}  // namespace lamella::python

#include "python/bindings/host.h"

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "engine/core/host.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

/// Cache entry for the line number of an instruction in a code object: finding it means reading the line table from its
/// start.
struct KnownLine {
  PyCodeObject* code = nullptr;  ///< owned, so that no other code object can reuse its address
  int instruction = -1;
  SourceLine line;
};

StateMutex known_lines_mutex;
std::array<KnownLine, 128>& known_lines() {
  static auto* lines = new std::array<KnownLine, 128>;  // never destroyed: it holds Python objects
  return *lines;
}

const char* intern_file(PyObject* name) {
  static std::mutex mutex;
  static auto* names = new std::unordered_set<std::string>;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  const std::lock_guard lock(mutex);
  return names->emplace(text ? text : "?").first->c_str();
}

SourceLine current_line() {
  if (!PyGILState_Check()) return {};
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return {};
  PyCodeObject* code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  KnownLine& known =
      known_lines()[(reinterpret_cast<std::uintptr_t>(code) / 64 + static_cast<unsigned>(instruction) / 2) % 128];
  KnownLine found;
  {
    const std::lock_guard lock(known_lines_mutex);
    if (known.code == code && known.instruction == instruction) [[likely]]
      found.line = known.line;
  }
  if (found.line) [[likely]] {
    Py_DECREF(code);
    return found.line;
  }
  found = {code, instruction, {intern_file(code->co_filename), PyFrame_GetLineNumber(frame)}};
  const SourceLine line = found.line;
  {
    const std::lock_guard lock(known_lines_mutex);
    std::swap(known, found);  // the entry owns the reference now
  }
  Py_XDECREF(found.code);
  return line;
}

/// Returns the folder of the package with a slash behind it; empty if it is not known.
std::string package_folder() {
  const PyRef package = PyRef::share(PyImport_AddModule("lamella"));
  const PyRef file = PyRef::adopt(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
  const char* const path = file && PyUnicode_Check(file.get()) ? PyUnicode_AsUTF8(file.get()) : nullptr;
  PyErr_Clear();
  const std::string text = path ? path : "";
  return text.substr(0, text.rfind('/') + 1);
}

std::size_t stack(HostFrame* frames, std::size_t capacity) {
  if (!PyGILState_Check()) return 0;
  static const auto* const folder = new std::string(package_folder());
  std::size_t count = 0;
  PyRef frame = PyRef::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && count < capacity) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.get());
    const PyRef code = PyRef::adopt(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const auto* const body = reinterpret_cast<PyCodeObject*>(code.get());
    const char* const file = intern_file(body->co_filename);
    if (folder->empty() || std::string_view(file).substr(0, folder->size()) != *folder) {
      frames[count++] = {file, intern_file(body->co_name), PyFrame_GetLineNumber(raw)};
    }
    frame = PyRef::adopt(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return count;
}

bool annotate(const std::string& note) {
  try {
    throw;
  } catch (const PythonError& error) {
    if (!python_is_alive()) return true;
    const GilHold gil;
    error.restore();
    add_note(note);
    PyErr_Clear();  // the thrown PythonError holds the same exception
    return true;
  } catch (...) {
    return false;
  }
}

void* release() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }

void restore(void* state) { restore_thread(static_cast<PyThreadState*>(state)); }

void check_interrupt() {
  if (!python_is_alive()) return;
  const GilHold gil;
  checked(PyErr_CheckSignals());
}

int recursion_limit() { return Py_GetRecursionLimit(); }

void fail_recursion(const std::string& message) {
  const GilHold gil;
  PyErr_SetString(PyExc_RecursionError, message.c_str());
  throw_python_error();
}

void warn(const std::string& message) {
  if (!python_is_alive()) return;
  const GilHold gil;
  checked(PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1));
}

}  // namespace

void install_host_hooks() {
  host_hooks() = {.current_line = current_line,
                  .release = release,
                  .restore = restore,
                  .check_interrupt = check_interrupt,
                  .stack = stack,
                  .recursion_limit = recursion_limit,
                  .fail_recursion = fail_recursion,
                  .annotate = annotate,
                  .warn = warn};
}

}  // namespace lamella::python

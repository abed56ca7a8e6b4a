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

/// Cache entry for an instruction of a code object: to find its line number, the line table is read from its start.
struct KnownInstruction {
  PyCodeObject* code = nullptr;  ///< owned, so that no other code object can reuse its address
  int instruction = -1;
  HostFrame frame{};
  bool in_package = false;
};

StateMutex known_mutex;
std::array<KnownInstruction, 256>& known_instructions() {
  static auto* known = new std::array<KnownInstruction, 256>;  // never destroyed: it holds Python objects
  return *known;
}

const char* intern(PyObject* name) {
  static std::mutex mutex;
  static auto* names = new std::unordered_set<std::string>;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  const std::lock_guard lock(mutex);
  return names->emplace(text ? text : "?").first->c_str();
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

/// Fills the entry of an instruction that is not known yet, and returns a copy.
[[gnu::noinline]] KnownInstruction learned(KnownInstruction& entry, PyCodeObject* code, int instruction,
                                           PyFrameObject* frame) {
  static const auto* const folder = new std::string(package_folder());
  const char* const file = intern(code->co_filename);
  KnownInstruction found{code, instruction, {file, intern(code->co_name), PyFrame_GetLineNumber(frame)}};
  found.in_package = !folder->empty() && std::string_view(file).starts_with(*folder);
  const KnownInstruction copy = found;
  {
    const std::lock_guard lock(known_mutex);
    std::swap(entry, found);  // the entry owns the reference now
  }
  Py_XDECREF(found.code);
  return copy;
}

/// Returns what `read` takes from the entry of the instruction that a frame of Python is at.
template <class Read>
auto at_instruction(PyFrameObject* frame, Read read) {
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  auto& known = known_instructions();
  KnownInstruction& entry =
      known[(reinterpret_cast<std::uintptr_t>(code) / 64 + static_cast<unsigned>(instruction) / 2) % known.size()];
  {
    const std::lock_guard lock(known_mutex);
    if (entry.code == code && entry.instruction == instruction) [[likely]] {
      const auto result = read(std::as_const(entry));
      Py_DECREF(code);
      return result;
    }
  }
  return read(learned(entry, code, instruction, frame));
}

SourceLine current_line() {
  if (!PyGILState_Check()) return {};
  PyFrameObject* const frame = PyEval_GetFrame();
  if (!frame) return {};
  return at_instruction(frame, [](const KnownInstruction& at) { return SourceLine{at.frame.file, at.frame.line}; });
}

std::size_t stack(HostFrame* frames, std::size_t capacity) {
  if (!PyGILState_Check()) return 0;
  std::size_t count = 0;
  PyRef frame = PyRef::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && count < capacity) {
    auto* const raw = reinterpret_cast<PyFrameObject*>(frame.get());
    const KnownInstruction at = at_instruction(raw, [](const KnownInstruction& known) { return known; });
    if (!at.in_package) frames[count++] = at.frame;
    if (count < capacity) frame = PyRef::adopt(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
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

#include "python/bindings/host.h"

#include <Python.h>
#include <frameobject.h>

#include <array>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/core/host.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"

namespace lamella::python {
namespace {

/// The line of a place in a code object, remembered: finding it means reading the function's line table from its start.
struct KnownLine {
  PyCodeObject* code = nullptr;  ///< held, so that no other code can come to lie at its address
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
    std::swap(known, found);  // the entry keeps the reference
  }
  Py_XDECREF(found.code);
  return line;
}

void* release() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }

void restore(void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }

void check_interrupt() {
  if (!python_is_alive()) return;
  const GilHold gil;
  checked(PyErr_CheckSignals());
}

}  // namespace

void install_host_hooks() {
  host_hooks() = {
      .current_line = current_line, .release = release, .restore = restore, .check_interrupt = check_interrupt};
}

}  // namespace lamella::python

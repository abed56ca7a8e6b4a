#pragma once

#include <Python.h>

#include <cstddef>
#include <vector>

#include "python/bindings/layer_info.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// Arguments of one call of apply, in Python's vectorcall convention.
struct Call {
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* keywords;

  std::size_t named() const { return keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0; }
  std::size_t size() const { return static_cast<std::size_t>(count) + named(); }
};

/// Call with every argument of forward in the order of its signature: defaults are filled in, and keywords become
/// positional where the signature allows. A call that does not fit the signature is left as it is, so that Python
/// raises the error.
class BoundCall {
 public:
  /// True if binding would change the call.
  static bool changes(const Call& call, const LayerInfo& info) {
    return call.named() != 0 || static_cast<std::size_t>(call.count) < info.positional ||
           info.names.size() != info.positional;
  }
  BoundCall(const Call& call, const LayerInfo& info);
  BoundCall(const BoundCall&) = delete;
  BoundCall& operator=(const BoundCall&) = delete;

  const Call& call() const noexcept { return call_; }

 private:
  bool bind(const Call& call, const LayerInfo& info);

  Call call_;
  /// Holds the arguments; the first slot is scratch space that a vectorcall may use.
  std::vector<PyObject*> args_;
  std::vector<PyRef> defaults_;
  PyRef keywords_;
};

}  // namespace lamella::python

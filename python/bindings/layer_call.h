#pragma once

#include <Python.h>

#include <cstddef>
#include <vector>

#include "python/bindings/layer_info.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {

/// The arguments of one call of apply, as Python's vectorcall gives them.
struct Call {
  PyObject* const* args;
  Py_ssize_t count;
  PyObject* keywords;

  std::size_t named() const { return keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0; }
  std::size_t size() const { return static_cast<std::size_t>(count) + named(); }
};

/// A call with all arguments of forward, in the order of its signature: those that were left at their defaults are
/// added, and those that may stand by position do. A call that does not fit the signature stays as it is, for Python to
/// refuse.
class BoundCall {
 public:
  /// Whether the call is one that binding changes.
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
  /// The first is room that a vectorcall may use.
  std::vector<PyObject*> args_;
  std::vector<PyRef> defaults_;
  PyRef keywords_;
};

}  // namespace lamella::python

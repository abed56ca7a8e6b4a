#include "python/bindings/layer_call.h"

#include <string_view>

#include "python/bindings/errors.h"

namespace lamella::python {

BoundCall::BoundCall(const Call& call, const LayerInfo& info) : call_(call) {
  if (!bind(call, info)) return;
  const auto named = keywords_ ? PyTuple_GET_SIZE(keywords_.get()) : 0;
  call_ = {args_.data() + 1, static_cast<Py_ssize_t>(args_.size()) - 1 - named, keywords_.get()};
}

bool BoundCall::bind(const Call& call, const LayerInfo& info) {
  const auto count = static_cast<std::size_t>(call.count);
  std::vector<PyObject*> by_name(info.names.size(), nullptr);
  std::vector<std::size_t> others;  // keywords that go to **kwargs
  for (std::size_t k = 0; k < call.named(); ++k) {
    const char* const key = checked(PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.keywords, static_cast<Py_ssize_t>(k))));
    std::size_t at = 0;
    while (at < info.names.size() && std::string_view(info.names[at]) != key) ++at;
    if (at == info.names.size()) {
      others.push_back(k);
    } else if (at < count && at < info.positional) {
      return false;  // given by position and by keyword
    } else {
      by_name[at] = call.args[count + k];
    }
  }
  const auto value_of = [&](std::size_t i) {
    if (by_name[i]) return by_name[i];
    defaults_.push_back(default_of(info, i));
    return defaults_.back().get();
  };

  args_.push_back(nullptr);
  args_.insert(args_.end(), call.args, call.args + count);
  for (std::size_t i = count; i < info.positional; ++i) {
    PyObject* const value = value_of(i);
    if (!value) return false;
    args_.push_back(value);
  }
  const std::size_t keyword_only = info.names.size() - info.positional;
  if (keyword_only + others.size() == 0) return true;
  keywords_ = PyRef::adopt(checked(PyTuple_New(static_cast<Py_ssize_t>(keyword_only + others.size()))));
  Py_ssize_t next = 0;
  for (std::size_t i = info.positional; i < info.names.size(); ++i) {
    PyObject* const value = value_of(i);
    if (!value) return false;
    args_.push_back(value);
    PyTuple_SET_ITEM(keywords_.get(), next++, checked(PyUnicode_InternFromString(info.names[i].c_str())));
  }
  for (const std::size_t k : others) {
    args_.push_back(call.args[count + k]);
    PyTuple_SET_ITEM(keywords_.get(), next++, Py_NewRef(PyTuple_GET_ITEM(call.keywords, static_cast<Py_ssize_t>(k))));
  }
  return true;
}

}  // namespace lamella::python

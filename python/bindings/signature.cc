#include "python/bindings/signature.h"

#include <charconv>

#include "ops/support/parameter_text.h"
#include "python/bindings/containers.h"
#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

PyObject* parse_default(const char* function, std::string_view text) {
  if (text == "None") return Py_NewRef(Py_None);
  if (text == "True") return Py_NewRef(Py_True);
  if (text == "False") return Py_NewRef(Py_False);
  if (text == "()") return checked(PyTuple_New(0));
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    return checked(PyUnicode_FromStringAndSize(text.data() + 1, static_cast<Py_ssize_t>(text.size()) - 2));
  }
  long long integer = 0;
  const char* end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, integer); read.ec == std::errc() && read.ptr == end) {
    return checked(PyLong_FromLongLong(integer));
  }
  double real = 0;
  if (const auto read = std::from_chars(text.data(), end, real); read.ec == std::errc() && read.ptr == end) {
    return checked(PyFloat_FromDouble(real));
  }
  fail<RuntimeError>("[", function, "] the default '", text, "' cannot be read");
}

}  // namespace

Signature::Signature(const char* function, std::string_view text) : function_(function), text_(text) {
  bool positional = true;
  while (!text.empty()) {
    const std::string_view item = take_parameter(text);
    if (item == "/") {
      for (Parameter& parameter : parameters_) parameter.keyword = false;
    } else if (item == "*") {
      positional = false;
    } else {
      // "*arrays" stands for all positional arguments, which the operator's function collects.
      const bool variadic = item[0] == '*';
      const std::size_t equals = item.find('=');
      Parameter parameter;
      parameter.name = trimmed(item.substr(variadic ? 1 : 0, variadic ? item.npos : equals));
      parameter.keyword = !variadic;
      parameter.positional = positional;
      parameter.key = checked(PyUnicode_InternFromString(parameter.name.c_str()));
      if (equals != std::string_view::npos) {
        const std::string_view value = trimmed(item.substr(equals + 1));
        if (value != "...") parameter.default_value = parse_default(function, value);
      }
      parameters_.push_back(std::move(parameter));
      if (positional) positional_ = parameters_.size();
      positional &= !variadic;
    }
  }
  if (parameters_.size() > kMaxParameters) fail<RuntimeError>("[", function, "] has too many parameters");
}

std::string Signature::text_signature(bool method) const {
  if (!method) return "(" + text_ + ")";
  const std::size_t comma = text_.find(',');
  if (comma == std::string::npos) return "($self, /)";
  std::string rest = text_.substr(comma);
  // "$self" alone is positional-only; parameters after a lone "/" may be given by name.
  if (rest.find('/') == std::string::npos) rest = ", /" + rest;
  return "($self" + rest + ")";
}

void Signature::fail_missing(std::size_t i) const {
  fail<TypeError>("[", function_, "] missing argument '", parameters_[i].name, "'");
}

void Signature::fail_unexpected(PyObject* key) const {
  const std::string name = checked(PyUnicode_AsUTF8(key));
  const PyRef names = list_from(parameters_, [](const Parameter& parameter) { return Py_NewRef(parameter.key); });
  const PyRef table = PyRef::adopt(checked(PyImport_ImportModule("lamella._names")));
  const PyRef sentence =
      PyRef::adopt(checked(PyObject_CallMethod(table.get(), "of_argument", "OOs", key, names.get(), function_)));
  std::string hint = checked(PyUnicode_AsUTF8(sentence.get()));
  if (!hint.empty()) hint = ": " + hint;
  fail<TypeError>("[", function_, "] got an unexpected argument '", name, "'", hint, "; its parameters are (", text_,
                  ")");
}

void Signature::fail_too_many(PyObject* const* args, std::size_t given) const {
  // Sizes one by one, as PyTorch takes them.
  const bool sizes = positional_ > 0 && (parameters_[0].name == "shape" || parameters_[0].name == "size") &&
                     PyLong_Check(args[0]) != 0;
  fail<TypeError>("[", function_, "] takes ", positional_,
                  positional_ == 1 ? " positional argument, " : " positional arguments, ", given, " were given",
                  sizes ? ": sizes are one list, as in " : "", sizes ? function_ : "", sizes ? "([2, 3])" : "",
                  "; its parameters are (", text_, ")");
}

void Signature::bind_slowly(PyObject* const* args, Py_ssize_t count, PyObject* keywords, PyObject** values,
                            std::size_t bound) const {
  for (std::size_t i = bound; i < size(); ++i) values[i] = nullptr;
  const std::size_t given = bound + static_cast<std::size_t>(count);
  if (given > positional_) fail_too_many(bound > 0 ? values : args, given);
  for (Py_ssize_t k = 0; k < count; ++k) values[bound + static_cast<std::size_t>(k)] = args[k];
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const key = PyTuple_GET_ITEM(keywords, k);
    std::size_t found = size();
    for (std::size_t i = 0; i < size() && found == size(); ++i) {
      if (parameters_[i].key == key) found = i;
    }
    // The keywords of a call are interned strings, except those from a dict made at run time.
    for (std::size_t i = 0; i < size() && found == size(); ++i) {
      if (PyUnicode_Compare(parameters_[i].key, key) == 0) found = i;
    }
    if (found == size()) fail_unexpected(key);
    if (!parameters_[found].keyword) {
      fail<TypeError>("[", function_, "] '", parameters_[found].name, "' is positional only; its parameters are (",
                      text_, ")");
    }
    if (values[found]) fail<TypeError>("[", function_, "] got two values for '", parameters_[found].name, "'");
    values[found] = args[count + k];
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (!values[i] && !(values[i] = parameters_[i].default_value)) fail_missing(i);
  }
}

std::string Argument::str() const {
  return lamella::str("[", signature.function(), "] ", signature.parameter(index).name);
}

void Argument::wrong_type(const char* expected, PyObject* got) const {
  fail<TypeError>(str(), ": expected ", expected, ", got ", type_name(got));
}

void Argument::wrong_value(const std::string& what) const { fail<ValueError>(str(), ": ", what); }

}  // namespace lamella::python

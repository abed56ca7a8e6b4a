#pragma once

#include <Python.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lamella::python {

/// Parameter of a function, with its default.
struct Parameter {
  std::string name;
  PyObject* key = nullptr;            ///< the name, interned
  PyObject* default_value = nullptr;  ///< null for a required one
  bool positional = true;
  bool keyword = true;
};

/// Parameters of a function, read from a text as in a `def`; binds the arguments of a call to them.
///
/// It lives as long as the process: the objects it holds are never freed.
class Signature {
 public:
  static constexpr std::size_t kMaxParameters = 13;

  /// `text` is "x, /, *, axis=None": defaults are None, True, False, numbers, 'strings' and (); `...` marks a required
  /// one. A first parameter "*arrays" stands for all positional arguments; what is after it is given by keyword.
  Signature(const char* function, std::string_view text);

  const char* function() const noexcept { return function_; }
  std::size_t size() const noexcept { return parameters_.size(); }
  const Parameter& parameter(std::size_t i) const noexcept { return parameters_[i]; }
  /// "(x, /, *, axis=None)"; for a method the first one is "$self".
  std::string text_signature(bool method) const;

  /// Fills `values`, one borrowed object for each parameter, from a vectorcall's arguments. The first `bound` values
  /// are set already. TypeError if an argument is missing, unexpected or given twice.
  void bind(PyObject* const* args, Py_ssize_t count, PyObject* keywords, PyObject** values,
            std::size_t bound = 0) const {
    if (!keywords && bound + static_cast<std::size_t>(count) <= positional_) [[likely]] {
      std::size_t i = bound;
      for (Py_ssize_t k = 0; k < count; ++k) values[i++] = args[k];
      for (; i < parameters_.size(); ++i) {
        if (!(values[i] = parameters_[i].default_value)) [[unlikely]]
          fail_missing(i);
      }
      return;
    }
    bind_slowly(args, count, keywords, values, bound);
  }

  /// Returns N values as bind() fills them; the first ones are `given`.
  template <std::size_t N, class... Given>
  std::array<PyObject*, N> bound(PyObject* const* args, Py_ssize_t count, PyObject* keywords, Given*... given) const {
    std::array<PyObject*, N> values{given...};
    bind(args, count, keywords, values.data(), sizeof...(Given));
    return values;
  }

 private:
  void bind_slowly(PyObject* const* args, Py_ssize_t count, PyObject* keywords, PyObject** values,
                   std::size_t bound) const;
  [[noreturn, gnu::cold]] void fail_missing(std::size_t i) const;
  /// Says what the argument is called here if it is one of PyTorch's.
  [[noreturn, gnu::cold]] void fail_unexpected(PyObject* key) const;
  [[noreturn, gnu::cold]] void fail_too_many(PyObject* const* args, std::size_t given) const;

  const char* function_;
  std::string text_;
  std::vector<Parameter> parameters_;
  std::size_t positional_ = 0;
};

/// Names an argument in messages while it is converted to C++.
struct Argument {
  const Signature& signature;
  std::size_t index;

  /// Raises TypeError "[sum] axis: expected an int, a tuple of ints or None, got str".
  [[noreturn, gnu::cold]] void wrong_type(const char* expected, PyObject* got) const;
  /// Raises ValueError "[sum] axis: ...".
  [[noreturn, gnu::cold]] void wrong_value(const std::string& what) const;
  /// Returns "[sum] axis".
  std::string str() const;
};

}  // namespace lamella::python

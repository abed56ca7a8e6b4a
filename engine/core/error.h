#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace lamella {

/// Base of every exception the library raises on purpose. Python sees the builtin exception that each subclass is named
/// after.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value of the right type that the operation cannot take (a shape, an axis count, a probability).
class ValueError : public Error {
 public:
  using Error::Error;
};

/// An argument of the wrong type or dtype.
class TypeError : public Error {
 public:
  using Error::Error;
};

/// An index or axis that is out of range.
class IndexError : public Error {
 public:
  using Error::Error;
};

/// A valid call in a state that forbids it (a freed graph, an overwritten saved tensor, another device).
class RuntimeError : public Error {
 public:
  using Error::Error;
};

/// Something the operation, the device or the user's class does not implement.
class NotImplementedError : public Error {
 public:
  using Error::Error;
};

/// Lack of memory; the message says how much was requested and how much is held. MemoryError in Python.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// Returns the concatenation of all parts, each formatted by operator<<.
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// Throws E with the concatenation of all parts as its message.
template <class E, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  throw E(str(parts...));
}

}  // namespace lamella

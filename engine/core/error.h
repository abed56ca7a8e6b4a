#pragma once

#include <array>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
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

/// A part of a message and the function that writes it: the code that joins parts is the same for all messages, as it
/// would take long to compile for each.
struct MessagePart {
  const void* value;
  void (*write)(std::ostream& out, const void* value);
};

template <class T>
void write_message_part(std::ostream& out, const void* value) {
  if constexpr (std::is_function_v<T>) {  // a manipulator, such as std::hex
    out << reinterpret_cast<T*>(const_cast<void*>(value));
  } else {
    out << *static_cast<const T*>(value);
  }
}
void write_message_text(std::ostream& out, const void* text);

template <class T>
MessagePart message_part(const T& value) {
  if constexpr (std::is_array_v<T>) {  // a literal, as text of any length
    return {value, write_message_text};
  } else if constexpr (std::is_function_v<T>) {
    return {reinterpret_cast<const void*>(&value), write_message_part<T>};
  } else {
    return {&value, write_message_part<T>};
  }
}

std::string join_message(std::span<const MessagePart> parts);

/// Returns the concatenation of all parts, each formatted by operator<<.
template <class... Parts>
std::string str(const Parts&... parts) {
  return join_message(std::array<MessagePart, sizeof...(Parts)>{message_part(parts)...});
}

template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(std::span<const MessagePart> parts) {
  throw E(join_message(parts));
}

/// Throws E with the concatenation of all parts as its message.
template <class E, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  fail_with<E>(std::array<MessagePart, sizeof...(Parts)>{message_part(parts)...});
}

}  // namespace lamella

#pragma once

// Results that may be errors, and the checks that create them.

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace lamella::user_op {

/// An error with the text that is streamed to it: `return Error::CheckFailed() << "axis " << axis;`. Python gets a
/// ValueError for CheckFailed, a NotImplementedError for Unimplemented, those of that name for TypeError and
/// IndexError, and a RuntimeError otherwise. An error that is streamed to another one gives it its kind.
class Error {
 public:
  enum class Kind { kCheckFailed, kUnimplemented, kType, kIndex, kOther };

  static Error CheckFailed() { return Error(Kind::kCheckFailed); }
  static Error CheckFailedError() { return Error(Kind::kCheckFailed); }
  static Error InvalidValueError() { return Error(Kind::kCheckFailed); }
  static Error Unimplemented() { return Error(Kind::kUnimplemented); }
  static Error UnimplementedError() { return Error(Kind::kUnimplemented); }
  static Error TypeError() { return Error(Kind::kType); }
  static Error IndexError() { return Error(Kind::kIndex); }
  static Error RuntimeError() { return Error(Kind::kOther); }

  Kind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  template <class T>
  Error&& operator<<(const T& part) && {
    add(part);
    return std::move(*this);
  }
  template <class T>
  Error& operator<<(const T& part) & {
    add(part);
    return *this;
  }
  /// Throws the exception that Python gets, prefixed by `where`.
  [[noreturn]] void Throw(const std::string& where) const;

 private:
  explicit Error(Kind kind) : kind_(kind) {}
  template <class T>
  void add(const T& part) {
    std::ostringstream out;
    out << part;
    message_ += out.str();
  }
  void add(const Error& other) {
    kind_ = other.kind_;
    message_ += other.message_;
  }

  Kind kind_;
  std::string message_;
};

namespace detail {
template <class T>
inline constexpr bool kIsShared = false;
template <class T>
inline constexpr bool kIsShared<std::shared_ptr<T>> = true;
}  // namespace detail

/// A T, or an error.
template <class T>
class [[nodiscard]] Maybe {
 public:
  /// Value of JUST(): an object is shared, as in OneFlow's sources, and a number or a pointer is itself.
  using Taken = std::conditional_t<std::is_class_v<T> && !detail::kIsShared<T>, std::shared_ptr<T>, T>;

  Maybe(T value) : value_(std::move(value)) {}
  Maybe(const std::shared_ptr<T>& value)
    requires(std::is_class_v<T>)
      : value_(*value) {}
  /// Converts from types that convert to T, such as a text to a string.
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Maybe> && !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Maybe(U&& value) : value_(std::forward<U>(value)) {}
  Maybe(Error error) : error_(std::move(error)) {}

  bool IsOk() const { return value_.has_value(); }
  /// Returns the error, without a text if there is none.
  const Error& error() const { return error_; }
  /// Returns the value; throws the error if there is none.
  const T& value() const {
    if (!value_) error_.Throw("[Maybe]");
    return *value_;
  }
  Taken take() {
    if (!value_) error_.Throw("[Maybe]");
    if constexpr (std::is_same_v<Taken, T>) {
      return std::move(*value_);
    } else {
      return std::make_shared<T>(std::move(*value_));
    }
  }

 private:
  std::optional<T> value_;
  Error error_ = Error::CheckFailed();
};
template <>
class [[nodiscard]] Maybe<void> {
 public:
  Maybe(Error error) : ok_(false), error_(std::move(error)) {}
  static Maybe Ok() { return Maybe(); }

  bool IsOk() const { return ok_; }
  /// Returns the error, without a text if there is none.
  const Error& error() const { return error_; }
  void take() const {}

 private:
  Maybe() = default;
  bool ok_ = true;
  Error error_ = Error::CheckFailed();
};

namespace detail {

/// Collects the text of a statement `Statement(...) << part << part`, which its destructor acts on.
class Statement {
 public:
  template <class T>
  Statement& operator<<(const T& part) {
    text_ << part;
    return *this;
  }

 protected:
  Statement() = default;
  std::ostringstream text_;
};

/// Throws the text of a CHECK that failed.
class FailedCheck : public Statement {
 public:
  FailedCheck(const char* condition, const char* file, int line);
  [[noreturn]] ~FailedCheck() noexcept(false);
};

/// Throws the text of an UNIMPLEMENTED().
class NotReached : public Statement {
 public:
  NotReached(const char* file, int line);
  [[noreturn]] ~NotReached() noexcept(false);
};

/// Writes a line to the standard error.
class LogLine : public Statement {
 public:
  LogLine(const char* severity, const char* file, int line) { text_ << severity << ' ' << file << ':' << line << "] "; }
  ~LogLine();
};

/// Returns what a Maybe holds; throws its error if there is one.
template <class M>
auto checked_just(M maybe, const char* file, int line) {
  if (!maybe.IsOk()) maybe.error().Throw(std::string("check failed: (") + file + ":" + std::to_string(line) + ")");
  return maybe.take();
}

}  // namespace detail
}  // namespace lamella::user_op

// The dialect's macros, under the names that its sources use.

#define CHECK(condition) \
  if (condition) {       \
  } else                 \
    ::lamella::user_op::detail::FailedCheck(#condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_NE(a, b) CHECK((a) != (b))
#define CHECK_LT(a, b) CHECK((a) < (b))
#define CHECK_LE(a, b) CHECK((a) <= (b))
#define CHECK_GT(a, b) CHECK((a) > (b))
#define CHECK_GE(a, b) CHECK((a) >= (b))

#define CHECK_OR_RETURN(condition) \
  if (condition) {                 \
  } else                           \
    return ::lamella::user_op::Error::CheckFailed() << "check failed: " #condition " "
#define CHECK_EQ_OR_RETURN(a, b) CHECK_OR_RETURN((a) == (b))
#define CHECK_NE_OR_RETURN(a, b) CHECK_OR_RETURN((a) != (b))
#define CHECK_LT_OR_RETURN(a, b) CHECK_OR_RETURN((a) < (b))
#define CHECK_LE_OR_RETURN(a, b) CHECK_OR_RETURN((a) <= (b))
#define CHECK_GT_OR_RETURN(a, b) CHECK_OR_RETURN((a) > (b))
#define CHECK_GE_OR_RETURN(a, b) CHECK_OR_RETURN((a) >= (b))

/// Evaluates to the value of a Maybe; returns its error from the enclosing function if there is one.
#define JUST(...)                                            \
  __extension__({                                            \
    auto lamella_maybe = (__VA_ARGS__);                      \
    if (!lamella_maybe.IsOk()) return lamella_maybe.error(); \
    lamella_maybe.take();                                    \
  })

/// Evaluates to the value of a Maybe; throws its error if there is one.
#define CHECK_JUST(...) ::lamella::user_op::detail::checked_just((__VA_ARGS__), __FILE__, __LINE__)

#define FOR_RANGE(type, i, begin, end) for (type i = (begin); i < (end); ++i)

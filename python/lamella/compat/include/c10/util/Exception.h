#pragma once

#include <cstdio>
#include <string>

#include "engine/core/error.h"

namespace c10 {

/// Exception of TORCH_CHECK: RuntimeError in Python.
class Error : public lamella::RuntimeError {
 public:
  using RuntimeError::RuntimeError;
  const char* what_without_backtrace() const noexcept { return what(); }
  std::string msg() const { return what(); }
};
using ValueError = lamella::ValueError;
using TypeError = lamella::TypeError;
using IndexError = lamella::IndexError;
using NotImplementedError = lamella::NotImplementedError;
using OutOfMemoryError = lamella::OutOfMemoryError;

namespace detail {
template <class E, class... Parts>
[[noreturn, gnu::cold]] void check_failed(const char* condition, const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 0) {
    lamella::fail<E>("Expected ", condition, " to be true, but got false.");
  } else {
    lamella::fail<E>(parts...);
  }
}
/// Prints a warning to stderr.
inline void warn(const std::string& text) { std::fputs(("Warning: " + text + "\n").c_str(), stderr); }
}  // namespace detail

}  // namespace c10

#define C10_CHECK_WITH_(E, condition, ...)                                   \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::c10::detail::check_failed<E>(#condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
#define TORCH_CHECK(condition, ...) C10_CHECK_WITH_(::c10::Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_WITH(type, condition, ...) C10_CHECK_WITH_(::c10::type, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) C10_CHECK_WITH_(::c10::Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) C10_CHECK_WITH_(::c10::ValueError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) C10_CHECK_WITH_(::c10::TypeError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) C10_CHECK_WITH_(::c10::IndexError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  C10_CHECK_WITH_(::c10::NotImplementedError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) C10_CHECK_WITH_(::c10::Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) TORCH_INTERNAL_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERT(condition, ...) TORCH_INTERNAL_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define C10_THROW_ERROR(type, text) throw ::c10::type(text)
#define AT_ERROR(...) ::c10::detail::check_failed<::c10::Error>("false" __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) ::c10::detail::warn(::lamella::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                                    \
  do {                                                          \
    static const bool warned = (TORCH_WARN(__VA_ARGS__), true); \
    (void)warned;                                               \
  } while (false)

#pragma once

// Division that rounds. PyTorch refuses integers divided by 0 on the CPU, where Lamella's operators return 0.

#include <optional>
#include <string_view>

#include "c10/core/Scalar.h"
#include "ops/registration/all_ops.h"

namespace at::detail {

inline bool is_integer(lamella::DType dtype) { return lamella::is_integral(dtype) || dtype == lamella::DType::Bool; }

/// Throws RuntimeError if x and the divisor are integers and the divisor has a 0.
inline void check_divisor(const lamella::Tensor& x, const c10::Scalar& divisor, const char* op) {
  if (!x.defined() || !is_integer(x.dtype()) || !divisor.isIntegral(true) || divisor.toBool()) return;
  lamella::fail<lamella::RuntimeError>("[", op, "] ZeroDivisionError: ", lamella::describe(x), " divided by 0");
}
inline void check_divisor(const lamella::Tensor& x, const lamella::Tensor& divisor, const char* op) {
  if (!x.defined() || !divisor.defined() || !divisor.device().is_cpu()) return;
  if (!is_integer(x.dtype()) || !is_integer(divisor.dtype()) || divisor.impl()->hidden) return;
  if (*static_cast<const bool*>(lamella::all(divisor).raw_data())) return;
  lamella::fail<lamella::RuntimeError>("[", op, "] ZeroDivisionError: ", lamella::describe(x), " divided by 0");
}

inline lamella::Tensor checked_floor_divide(const lamella::Tensor& x, const auto& divisor) {
  check_divisor(x, divisor, "floor_divide");
  return lamella::floor_divide(x, divisor);
}
inline lamella::Tensor checked_remainder(const lamella::Tensor& x, const auto& divisor) {
  check_divisor(x, divisor, "remainder");
  return lamella::remainder(x, divisor);
}
inline lamella::Tensor checked_fmod(const lamella::Tensor& x, const auto& divisor) {
  check_divisor(x, divisor, "fmod");
  return lamella::fmod(x, divisor);
}
/// Returns x / divisor, rounded as `mode` says.
inline lamella::Tensor rounded_quotient(const lamella::Tensor& x, const auto& divisor,
                                        std::optional<std::string_view> mode) {
  if (!mode) return lamella::divide(x, divisor);
  if (*mode == "floor") return checked_floor_divide(x, divisor);
  if (*mode != "trunc") {
    lamella::fail<lamella::RuntimeError>("[div] expected a rounding_mode of \"trunc\" or \"floor\", got \"", *mode,
                                         "\"");
  }
  check_divisor(x, divisor, "div");
  // A quotient of integers is exact here: what fmod leaves can be taken away before the division.
  const bool integers = lamella::is_integral(lamella::subtract(x, divisor).dtype());
  if (!integers) return lamella::trunc(lamella::divide(x, divisor));
  return lamella::floor_divide(lamella::subtract(x, lamella::fmod(x, divisor)), divisor);
}

}  // namespace at::detail

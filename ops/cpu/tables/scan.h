#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// Elements along one axis of a contiguous tensor: n of them, `step` apart, for `width` neighbors at once. With a step
/// of 1 there are `rows` contiguous rows; a recurrence takes a single one.
struct ScanArgs {
  const void* x = nullptr;
  void* out = nullptr;
  /// Receives the extremes of Scan::Max and Scan::Min besides their positions; null if they are not wanted.
  void* values = nullptr;
  std::int64_t n = 0;
  std::int64_t step = 1;
  std::int64_t width = 1;
  std::int64_t rows = 1;
  /// True if the scan goes from the last element to the first.
  bool reverse = false;
};

enum class Scan : std::uint8_t { Sum, Prod, LogSumExp, Max, Min };
inline constexpr int kScanCount = 5;

struct ScanKernels {
  /// Computes out[i] = op(x[0], ... x[i]). Sums, products and log-sum-exps of floats are carried in float64. Max and
  /// Min write positions as int64, the last of equal ones; NaN is greater than any number.
  void (*scan[kScanCount][kDTypeCount])(const ScanArgs&) = {};
  /// Computes out[i] = b[i] + a[i] * out[i - 1], with out[0] = b[0]; `x` is a.
  void (*recurrence[kDTypeCount])(const ScanArgs&, const void* b) = {};
};

/// Returns the dtype of a scan's output.
constexpr DType scan_result(Scan scan, DType dtype) {
  if (scan == Scan::Max || scan == Scan::Min) return DType::Int64;
  if (is_floating(dtype) || is_complex(dtype)) return dtype;
  return UnsignedInteger.contains(dtype) ? DType::UInt64 : DType::Int64;
}

void fill_scan(ScanKernels& kernels);
void fill_scan_positions(ScanKernels& kernels);

}  // namespace lamella::cpu

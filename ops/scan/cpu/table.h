#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// Elements along one axis of a contiguous tensor: n of them, `step` apart; `width` neighbors at once. Where the step
/// is 1 it is `rows` of them, one behind the other, but for recurrences, which take one.
struct ScanArgs {
  const void* x = nullptr;
  void* out = nullptr;
  /// For the extremes themselves, beside their positions; null where nobody wants them.
  void* values = nullptr;
  std::int64_t n = 0;
  std::int64_t step = 1;
  std::int64_t width = 1;
  std::int64_t rows = 1;
  /// From the last element to the first.
  bool reverse = false;
};

enum class Scan : std::uint8_t { Sum, Prod, LogSumExp, Max, Min };
inline constexpr int kScanCount = 5;

struct ScanKernels {
  /// out[i] = op(x[0], ... x[i]). Sums, products and logarithms of sums of floats are carried along in float64. Of the
  /// extremes the positions, as int64, the last of equal ones; NaN is more than anything.
  void (*scan[kScanCount][kDTypeCount])(const ScanArgs&) = {};
  /// out[i] = b[i] + a[i] * out[i - 1], with nothing before the first: `x` is a.
  void (*recurrence[kDTypeCount])(const ScanArgs&, const void* b) = {};
};

/// The dtype of what a scan writes.
constexpr DType scan_result(Scan scan, DType dtype) {
  if (scan == Scan::Max || scan == Scan::Min) return DType::Int64;
  if (is_floating(dtype) || is_complex(dtype)) return dtype;
  return UnsignedInteger.contains(dtype) ? DType::UInt64 : DType::Int64;
}

void fill_scan(ScanKernels& kernels);
void fill_scan_positions(ScanKernels& kernels);

}  // namespace lamella::cpu

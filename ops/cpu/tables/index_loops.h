#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella {

/// The operation between an element x of the indexed side and the value v that corresponds to it.
enum class PickAction : std::uint8_t {
  Read,      ///< v = x
  Write,     ///< x = v
  Add,       ///< x += v; logical or for bools
  Multiply,  ///< x *= v; logical and for bools
  Max,       ///< x = max(x, v); NaN wins
  Min,
};
inline constexpr int kPickActionCount = 6;

/// An axis that both sides share; strides are in bytes.
struct PickAxis {
  std::int64_t size = 1;
  std::int64_t data = 0;
  std::int64_t values = 0;
  std::int64_t numbers = 0;
};

}  // namespace lamella

namespace lamella::cpu {

/// The picks [first, last); pick p is the row of `inner` elements at data + numbers[p] * step.
struct PickedRows {
  char* data;
  char* values;
  const std::int64_t* numbers;
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;
  std::int64_t value_step;
  PickAxis inner;
  bool far;  ///< true if rows are to be prefetched
  /// True if only the rows with numbers in [lowest, end) are processed.
  bool some_rows = false;
  std::int64_t lowest = 0;
  std::int64_t end = 0;
};

/// A line of numbers: element k lies at data + numbers[k * inner.numbers] * step + k * inner.data.
struct PickedLine {
  char* data;
  char* values;
  const std::int64_t* numbers;
  std::int64_t step;
  PickAxis inner;
};

/// The kernels of ops/index/loops.h. Add and Multiply exist for all dtypes except float16 and bfloat16, Max and Min for
/// those of them that are ordered.
struct IndexKernels {
  void (*rows[kPickActionCount][kDTypeCount])(const PickedRows&) = {};
  void (*line[kPickActionCount][kDTypeCount])(const PickedLine&) = {};
  /// Sets values[k] = data[numbers[k]], or 0 if a later number is the same; the elements of the line are adjacent.
  /// `winners` has room for one number per element of `data`.
  void (*last[kDTypeCount])(const PickedLine&, std::int64_t* winners) = {};
  /// True if all `count` numbers are in [0, size).
  bool (*in_range)(const std::int64_t* numbers, std::int64_t count, std::int64_t size) = nullptr;
};

void fill_index(IndexKernels& kernels);

}  // namespace lamella::cpu

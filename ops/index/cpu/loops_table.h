#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella {

/// What is done with an element of the indexed side, x, and the value v that belongs to it.
enum class PickAction : std::uint8_t {
  Read,      ///< v = x
  Write,     ///< x = v
  Add,       ///< x += v; for bools, or
  Multiply,  ///< x *= v; for bools, and
  Max,       ///< x = the larger one; NaN wins
  Min,
};
inline constexpr int kPickActionCount = 6;

/// One axis that both sides share; strides in bytes.
struct PickAxis {
  std::int64_t size = 1;
  std::int64_t data = 0;
  std::int64_t values = 0;
  std::int64_t numbers = 0;
};

}  // namespace lamella

namespace lamella::cpu {

/// The picks [first, last), each of a row of `inner` elements at data + numbers[p] * step.
struct PickedRows {
  char* data;
  char* values;
  const std::int64_t* numbers;
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;
  std::int64_t value_step;
  PickAxis inner;
  bool far;  ///< whether the elements are to be asked for before they are needed
  /// Where only some rows are meant: those of numbers in [lowest, end).
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

/// The loops of ops/index/loops.h. Add and Multiply are there for all dtypes but float16 and bfloat16, Max and Min for
/// those of them that have an order.
struct IndexKernels {
  void (*rows[kPickActionCount][kDTypeCount])(const PickedRows&) = {};
  void (*line[kPickActionCount][kDTypeCount])(const PickedLine&) = {};
  /// values[k] = data[numbers[k]], but 0 where a later number is the same; the line's elements lie side by side.
  /// `winners` has room for a number for each element of `data`.
  void (*last[kDTypeCount])(const PickedLine&, std::int64_t* winners) = {};
  /// Whether all of some numbers lie in [0, size).
  bool (*in_range)(const std::int64_t* numbers, std::int64_t count, std::int64_t size) = nullptr;
};

void fill_index(IndexKernels& kernels);

}  // namespace lamella::cpu

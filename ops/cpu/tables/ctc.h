#pragma once

#include <cstdint>

namespace lamella::cpu {

/// The logarithm of a probability of 0 in ctc_loss: finite, so that differences of two of them are defined.
constexpr double kCtcNever = -1e30;
/// The loss of a target that fits into its steps is below this bound.
constexpr double kCtcImpossible = -kCtcNever / 10;

/// A sequence and its target, whose paths go through 2 * labels + 1 states: the labels, and a blank around each. A row
/// of states is one padding number, then the labels, then the blanks, ctc_block(labels) of each; those beyond the last
/// are never reached.
template <class T>
struct CtcArgs {
  const T* log_p = nullptr;  ///< log_p[t * stride + class]
  std::int64_t stride = 0;
  std::int64_t steps = 0;  ///< at least 1
  std::int64_t classes = 0;
  const std::int64_t* targets = nullptr;
  std::int64_t labels = 0;  ///< number of labels
  std::int64_t blank = 0;
  T* alpha = nullptr;     ///< rows of the log-probability of a sequence's beginning, by the state that it has reached
  std::int64_t rows = 0;  ///< rows of alpha: `steps`, or two if only the loss is wanted
  T* scratch = nullptr;   ///< ctc_scratch(labels) elements
};

constexpr std::int64_t ctc_block(std::int64_t labels) {
  constexpr std::int64_t kLanes = 16;  // a multiple of any vector's lanes
  return (labels + 1 + kLanes - 1) / kLanes * kLanes;
}
constexpr std::int64_t ctc_row(std::int64_t labels) { return 2 * ctc_block(labels) + 1; }
constexpr std::int64_t ctc_scratch(std::int64_t labels) { return 7 * (ctc_block(labels) + 1); }

template <class T>
struct CtcKernels {
  /// Fills alpha; returns the loss, which is above kCtcImpossible if the target cannot be reached.
  T (*forward)(const CtcArgs<T>&) = nullptr;
  /// Writes `dy` times the loss's derivative by log_p into rows of dx, laid out as log_p, from the results of forward.
  void (*backward)(const CtcArgs<T>&, T loss, T dy, T* dx) = nullptr;
};

struct CtcTable {
  CtcKernels<float> float32;
  CtcKernels<double> float64;
};

void fill_ctc(CtcTable& table);

}  // namespace lamella::cpu

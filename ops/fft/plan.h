#pragma once

#include <cstdint>
#include <memory>

#include "ops/cpu/tables/fft.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella::fft {

/// Returns a plan for transforms of `length` complex numbers, with its tables, kept for later calls with that length.
/// Any length of at least 1; its largest prime factors determine the algorithm (ops/cpu/tables/fft.h). T is float or
/// double.
template <class T>
using PlanOf = std::shared_ptr<const cpu::FftPlan<T>>;
template <class T>
PlanOf<T> plan_of(std::int64_t length);

/// Returns the kernels for this processor.
template <class T>
const cpu::FftKernels<T>& kernels() {
  return cpu::kernels_of<T>(cpu_kernels().fft);
}

/// A long complex transform as `columns` transforms of length `rows`, of numbers `columns` apart, and `rows` transforms
/// of length `columns` of their results: each fits into the cache, and threads share both kinds (Bailey, FFTs in
/// external or hierarchical memory, 1990). Number k of row i of the second is number i + rows * k.
template <class T>
struct LongPlan {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::shared_ptr<const cpu::FftPlan<T>> of_columns;
  std::shared_ptr<const cpu::FftPlan<T>> of_rows;
  cpu::FftTurns<T> turns;
};
/// Returns null for a length for which this does not pay, or without two suitable factors.
template <class T>
std::shared_ptr<const LongPlan<T>> long_plan_of(std::int64_t length);

}  // namespace lamella::fft

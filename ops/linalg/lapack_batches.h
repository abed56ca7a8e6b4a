#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/core/tensor.h"
#include "engine/runtime/parallel.h"
#include "ops/linalg/lapack_routines.h"
#include "ops/linalg/openblas_buffers.h"

// Common parts of the calls of LAPACK: sizes, workspaces, threads and messages.

namespace lamella::linalg::lapack {

inline constexpr std::int64_t kGrain = 65536;  // multiplications per task
/// Multiplications in one matrix from which OpenBLAS may use threads; below, they cost more than they save.
inline constexpr std::int64_t kWorthSharing = 20'000'000;

/// Converts a size to LAPACK's 32-bit integers.
inline int to_int(std::int64_t value, const char* op) {
  if (value > std::numeric_limits<int>::max()) {
    fail<ValueError>("[", op, "] LAPACK takes matrices of at most 2^31 - 1 elements along an axis, got ", value);
  }
  return static_cast<int>(value);
}

/// Returns a leading dimension, which must be at least 1.
inline int leading(int rows) { return std::max(rows, 1); }

/// Returns the size of a workspace from a query's answer, rounded up because float does not hold large integers
/// exactly.
template <class T>
int workspace(T answer, const char* op) {
  const double size = std::ceil(static_cast<double>(std::real(answer)) * (1 + 1e-6));
  return to_int(std::max<std::int64_t>(1, static_cast<std::int64_t>(size)), op);
}

/// Returns call(workspace, its size) for a workspace of the size that call(answer, -1) asks for.
template <class T, class F>
auto with_workspace(const char* op, F&& call) {
  T answer(0);
  call(&answer, -1);
  std::vector<T> work(static_cast<std::size_t>(workspace(answer, op)));
  return call(work.data(), static_cast<int>(work.size()));
}

/// Restricts OpenBLAS to one thread if it has threads of its own, which do not know of ours.
inline void settle_threads() {
  constexpr int kOwnThreads = 1;
  [[maybe_unused]] static const bool settled = [] {
    constexpr Routine<"openblas_get_parallel", int()> get_parallel;
    constexpr Routine<"openblas_set_num_threads", void(int)> set_num_threads;
    if (get_parallel() == kOwnThreads) set_num_threads(1);
    return true;
  }();
}

struct Matrices {
  std::int64_t count;
  std::int64_t rows;
  std::int64_t columns;

  explicit Matrices(const Tensor& x)
      : count(count_elements(DimsView(x.shape()).first(x.ndim() - 2))), rows(x.size(-2)), columns(x.size(-1)) {}
  std::int64_t size() const { return rows * columns; }
  /// Returns the approximate work of a factorization.
  std::int64_t work() const { return size() * std::min(rows, columns); }
};

/// Calls f(i) for each matrix, many of them on several threads; OpenBLAS may parallelize a large one alone.
template <class F>
void for_each_matrix(const char* op, std::int64_t count, std::int64_t work, F&& f) {
  settle_threads();
  const HostRelease release(count * work);
  if (count == 1) {
    const int threads = detail::share_thread_count(work < kWorthSharing ? 1 : std::numeric_limits<int>::max());
    // Each thread of OpenBLAS has a buffer of its own, besides that of the caller.
    const OpenBlasBuffers buffers(threads == 1 ? 1 : threads + 1, op);
    f(std::int64_t{0});
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(work, 1));
  const OpenBlasBuffers buffers(
      static_cast<int>(std::clamp<std::int64_t>((count + grain - 1) / grain, 1, thread_count())), op);
  parallel_for(0, count, grain, [&](std::int64_t begin, std::int64_t end) {
    detail::share_thread_count(1);
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

/// Returns "matrix 3 of the batch", or "the matrix".
inline std::string which(std::int64_t i, std::int64_t count) {
  return count == 1 ? std::string("the matrix") : str("matrix ", i, " of the batch");
}

/// Throws ValueError if LAPACK's info says that an iteration for matrix i of a batch did not end.
inline void check_converged(int info, const char* values, std::int64_t i, std::int64_t count, const char* op) {
  if (info <= 0) return;
  fail<ValueError>("[", op, "] the ", values, " of ", which(i, count), " did not converge (LAPACK's info is ", info,
                   ")");
}

/// Calls f(lane, x) for all numbers, separately for the parts of complex ones; kLanes independent lanes hide the
/// latency.
inline constexpr std::int64_t kLanes = 8;
template <class T, class F>
void for_each_real(const T* values, std::int64_t count, F&& f) {
  using Real = typename Routines<T>::Real;
  const auto* const numbers = reinterpret_cast<const Real*>(values);
  const std::int64_t size = count * static_cast<std::int64_t>(sizeof(T) / sizeof(Real));
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) f(lane, numbers[i + lane]);
  }
  for (; i < size; ++i) f(0, numbers[i]);
}

template <class T>
bool is_finite(const T* values, std::int64_t count) {
  // Sums the numbers times 0: NaN if one is not finite.
  using Real = typename Routines<T>::Real;
  Real sums[kLanes] = {};
  for_each_real(values, count, [&](std::int64_t lane, Real x) { sums[lane] += x * Real(0); });
  return std::ranges::all_of(sums, [](Real sum) { return sum == Real(0); });
}

/// Returns the largest absolute value of the numbers, or of the parts of complex ones, which must be finite.
template <class T>
auto largest(const T* values, std::int64_t count) {
  using Real = typename Routines<T>::Real;
  Real most[kLanes] = {};
  for_each_real(values, count, [&](std::int64_t lane, Real x) { most[lane] = std::max(most[lane], std::abs(x)); });
  return *std::ranges::max_element(most);
}

/// Throws ValueError if an element is not finite: LAPACK's iterations would not end, or would return nonsense.
template <class T>
void check_finite(const T* values, std::int64_t size, std::int64_t i, std::int64_t count, const char* op) {
  if (is_finite(values, size)) return;
  fail<ValueError>("[", op, "] ", which(i, count), " has elements that are not finite (NaN or infinity)");
}

}  // namespace lamella::linalg::lapack

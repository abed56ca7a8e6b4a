#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cpu/fused.h"
#include "ops/cpu/tables/elimination.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

/// Gaussian elimination of one small matrix with partial pivoting (Golub and Van Loan, Matrix Computations, section
/// 3.4). The remaining rows are stored in whole vectors, and the multipliers separately, so that a step runs over whole
/// vectors.
template <class T>
class Elimination {
 public:
  Elimination(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), row_((columns + V::size - 1) / V::size * V::size) {}

  void run(T* matrix, std::int32_t* pivots) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      std::copy_n(matrix + i * columns_, columns_, left_ + i * row_);
      std::fill(left_ + i * row_ + columns_, left_ + (i + 1) * row_, T(0));
    }
    for (std::int64_t k = 0; k < std::min(rows_, columns_); ++k) pivots[k] = static_cast<std::int32_t>(step(k) + 1);
    for (std::int64_t i = 0; i < rows_; ++i) {
      const std::int64_t lower = std::min(i, columns_);
      std::copy_n(multipliers_ + i * kMostLuRows, lower, matrix + i * columns_);
      std::copy(left_ + i * row_ + lower, left_ + i * row_ + columns_, matrix + i * columns_ + lower);
    }
  }

 private:
  using V = simd::Vec<T>;

  /// Returns the row that row k is exchanged with.
  std::int64_t step(std::int64_t k) {
    std::int64_t chosen = k;
    T largest = std::abs(left_[k * row_ + k]);
    for (std::int64_t i = k + 1; i < rows_; ++i) {
      const T size = std::abs(left_[i * row_ + k]);
      const bool larger = size > largest;
      largest = larger ? size : largest;
      chosen = larger ? i : chosen;
    }
    const std::int64_t first = k / V::size * V::size;  // earlier columns are finished
    T* const upper = left_ + k * row_;
    if (chosen != k) {
      std::swap_ranges(upper + first, upper + row_, left_ + chosen * row_ + first);
      std::swap_ranges(multipliers_ + k * kMostLuRows, multipliers_ + k * kMostLuRows + k,
                       multipliers_ + chosen * kMostLuRows);
    }
    const T pivot = upper[k];
    // The inverse of a subnormal number may be infinite.
    const bool inverts = std::abs(pivot) >= std::numeric_limits<T>::min();
    const T inverse = inverts ? 1 / pivot : T(0);
    for (std::int64_t i = k + 1; i < rows_; ++i) {
      T* const lower = left_ + i * row_;
      const T multiplier = inverts ? lower[k] * inverse : pivot == 0 ? lower[k] : lower[k] / pivot;
      multipliers_[i * kMostLuRows + k] = multiplier;
      if (pivot == 0) continue;
      for (std::int64_t j = first; j < row_; j += V::size) {
        multiply_add(V(-multiplier), V::load(upper + j), V::load(lower + j)).store(lower + j);
      }
    }
    return chosen;
  }

  const std::int64_t rows_;
  const std::int64_t columns_;
  const std::int64_t row_;
  alignas(64) T left_[kMostLuRows * kMostLuRows];
  T multipliers_[kMostLuRows * kMostLuRows];
};

template <class T>
void factor(const LuArgs& args) {
  Elimination<T> elimination(args.rows, args.columns);
  const std::int64_t steps = std::min(args.rows, args.columns);
  for (std::int64_t i = 0; i < args.count; ++i) {
    elimination.run(static_cast<T*>(args.matrices) + i * args.rows * args.columns, args.pivots + i * steps);
  }
}

}  // namespace

void fill_elimination(EliminationKernels& kernels) {
  kernels.small[static_cast<std::size_t>(DType::Float32)] = factor<float>;
  kernels.small[static_cast<std::size_t>(DType::Float64)] = factor<double>;
}

}  // namespace lamella::cpu

#include <algorithm>
#include <cstring>

#include "ops/cpu/aligned.h"
#include "ops/cpu/tables/elimination.h"
#include "ops/linalg/cpu/transpose_into.h"
#include "ops/linalg/cpu/triangle_panel.h"

// Gaussian elimination with partial pivoting by blocks of columns (Golub and Van Loan, Matrix Computations, section
// 3.4.7; LAPACK's getrf). Each block, a panel, is factored in a transposed copy with contiguous columns, and in smaller
// blocks again.

namespace lamella::cpu {
namespace {

/// The largest magnitude of a column and the first row that has it, tracked per lane over rows that are whole vectors
/// apart.
template <class T>
class Largest {
 public:
  Largest() : values_(0), vectors_(0) {}
  /// Takes a vector of rows with the number `index`.
  void see(simd::Vec<T> x, T index) {
    const simd::Vec<T> size = abs(x);
    const auto larger = size > values_;
    values_ = where(larger, size, values_);
    vectors_ = where(larger, simd::Vec<T>(index), vectors_);
  }
  std::int64_t row() const {
    constexpr int kLanes = simd::Vec<T>::size;
    T values[kLanes];
    T vectors[kLanes];
    values_.store(values);
    vectors_.store(vectors);
    std::int64_t found = static_cast<std::int64_t>(vectors[0]) * kLanes;
    T most = values[0];
    for (int lane = 1; lane < kLanes; ++lane) {
      const std::int64_t row = static_cast<std::int64_t>(vectors[lane]) * kLanes + lane;
      // A lane whose numbers are all 0 yields its first row.
      if (values[lane] > most || (values[lane] == most && row < found)) {
        found = row;
        most = values[lane];
      }
    }
    return found;
  }

 private:
  simd::Vec<T> values_;
  simd::Vec<T> vectors_;
};

/// The columns of one step, transposed.
template <class T>
class Panel {
 public:
  explicit Panel(const LuStepArgs& args)
      : matrix_(static_cast<T*>(args.matrix) + args.first * args.row + args.first),
        panel_(static_cast<T*>(args.panel)),
        row_(args.row),
        rows_(args.rows - args.first),
        columns_(args.count),
        step_(lu_panel_row(rows_)),
        pivots_(args.pivots + args.first),
        first_(args.first) {}

  void run() {
    transpose_into(matrix_, row_, rows_, columns_, panel_, step_);
    for (std::int64_t j = 0; j < columns_; ++j) std::fill(column(j) + rows_, column(j) + step_, T(0));
    for (std::int64_t begin = 0; begin < columns_; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, columns_);
      for (std::int64_t k = begin; k < end; ++k) eliminate(begin, k, end);
      exchange_beside(begin, end);
      if (begin + kBlock < columns_) update(begin, end - begin);
    }
    transpose_into(panel_, step_, columns_, rows_, matrix_, row_);
  }

 private:
  using V = simd::Vec<T>;
  /// Number of columns that are factored one by one.
  static constexpr std::int64_t kBlock = std::max(V::size, 8);

  T* column(std::int64_t j) { return panel_ + j * step_; }

  /// Applies the block's earlier columns to column k, and divides it by its pivot.
  void eliminate(std::int64_t begin, std::int64_t k, std::int64_t end) {
    T* const own = column(k);
    T upper[kBlock];
    const auto before = static_cast<int>(k - begin);
    for (int i = 0; i < before; ++i) {
      T sum = own[begin + i];
      for (int j = 0; j < i; ++j) sum = multiply_add(-upper[j], column(begin + j)[begin + i], sum);
      own[begin + i] = sum;
      upper[i] = sum;
    }
    const T* const left = column(begin);
    Largest<T> largest;
    constexpr int kAtOnce = 4;
    std::int64_t i = k;
    for (; i + kAtOnce * V::size <= rows_; i += kAtOnce * V::size)
      subtract<kAtOnce>(left, upper, before, k, i, largest);
    for (; i < rows_; i += V::size) subtract<1>(left, upper, before, k, i, largest);

    const std::int64_t chosen = k + largest.row();
    pivots_[k] = static_cast<std::int32_t>(first_ + chosen + 1);
    if (chosen != k) {
      for (std::int64_t j = begin; j < end; ++j) std::swap(column(j)[k], column(j)[chosen]);
    }
    const T pivot = own[k];
    if (pivot == T(0)) return;
    const Divisor<T> divisor(pivot);
    for (i = k + 1; i < rows_; i += V::size) divisor.divide(V::load(own + i)).store(own + i);
  }
  /// Updates kVectors vectors of rows of column k, from row i on.
  template <int kVectors>
  void subtract(const T* left, const T* upper, int before, std::int64_t k, std::int64_t i, Largest<T>& largest) {
    T* const own = column(k) + i;
    V sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = V::load(own + v * V::size);
    for (int j = 0; j < before; ++j) {
      const T* const other = left + j * step_ + i;
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = subtract_product(V::load(other + v * V::size), V(upper[j]), sums[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      sums[v].store(own + v * V::size);
      largest.see(sums[v], static_cast<T>((i - k) / V::size + v));
    }
  }

  /// Exchanges the rows of the columns outside of a block.
  void exchange_beside(std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      if (j == begin) j = std::min(begin + kBlock, columns_);
      if (j == columns_) return;
      T* const own = column(j);
      for (std::int64_t k = begin; k < end; ++k) std::swap(own[k], own[pivots_[k] - 1 - first_]);
    }
  }

  /// Updates the columns to the right of a block.
  void update(std::int64_t begin, std::int64_t size) {
    const std::int64_t right = begin + kBlock;
    alignas(64) T upper[kBlock * V::size];
    const T* const corner = column(begin) + begin;
    for (std::int64_t j = right; j < columns_; j += V::size) {
      const std::int64_t count = std::min<std::int64_t>(V::size, columns_ - j);
      std::fill_n(upper, kBlock * V::size, T(0));
      transpose_into(column(j) + begin, step_, count, size, upper, V::size);
      solve_lower<1>(Steps<T>{corner, 1, step_}, true, size, upper, V::size);
      transpose_into(upper, V::size, size, count, column(j) + begin, step_);
    }
    const Steps<T> factors{column(right) + begin, step_, 1};
    for (std::int64_t i = begin + size; i < rows_; i += 2 * V::size) {
      subtract_products<2>(factors, column(begin) + i, step_, column(right) + i, step_, columns_ - right, size);
    }
  }

  T* const matrix_;
  T* const panel_;
  const std::int64_t row_;
  const std::int64_t rows_;
  const std::int64_t columns_;
  const std::int64_t step_;
  std::int32_t* const pivots_;
  const std::int64_t first_;
};

/// Exchanges rows of `columns` columns that begin at `matrix`.
template <class T>
void exchange_rows(const LuStepArgs& args, T* matrix, std::int64_t columns) {
  for (std::int64_t i = args.first; i < args.first + args.count; ++i) {
    const std::int64_t other = args.pivots[i] - 1;
    if (other != i) std::swap_ranges(matrix + i * args.row, matrix + i * args.row + columns, matrix + other * args.row);
  }
}

/// Updates kVectors vectors of columns to the right of a panel, from row args.first on.
template <int kVectors, class T>
void update_columns(const LuStepArgs& args, T* columns, std::int64_t row) {
  using V = simd::Vec<T>;
  constexpr int kRow = kVectors * V::size;
  const std::int64_t rows = args.rows - args.first;
  const std::int64_t step = lu_panel_row(rows);
  const auto* const panel = static_cast<const T*>(args.panel);
  alignas(64) T upper[kMostLuRows * kRow];
  for (std::int64_t i = 0; i < args.count; ++i) std::memcpy(upper + i * kRow, columns + i * row, sizeof(T) * kRow);
  solve_lower<kVectors>(Steps<T>{panel, 1, step}, true, args.count, upper, kRow);
  for (std::int64_t i = 0; i < args.count; ++i) std::memcpy(columns + i * row, upper + i * kRow, sizeof(T) * kRow);
  subtract_products<kVectors>(Steps<T>{panel + args.count, 1, step}, upper, kRow, columns + args.count * row, row,
                              rows - args.count, args.count);
}

template <class T>
void update(const LuStepArgs& args) {
  using V = simd::Vec<T>;
  constexpr std::int64_t kColumns = 2 * V::size;
  T* const matrix = static_cast<T*>(args.matrix);
  T* const corner = matrix + args.first * args.row;
  std::int64_t column = args.begin;
  exchange_rows(args, matrix + args.begin, args.end - args.begin);
  for (; column + kColumns <= args.end; column += kColumns) update_columns<2>(args, corner + column, args.row);
  for (; column + V::size <= args.end; column += V::size) update_columns<1>(args, corner + column, args.row);
  if (column == args.end) return;
  const auto count = static_cast<int>(args.end - column);
  const std::int64_t rows = args.rows - args.first;
  const Lines<T> copy = make_lines<T>(static_cast<std::size_t>(rows * V::size));
  for (std::int64_t i = 0; i < rows; ++i) {
    V::load_partial(corner + i * args.row + column, count, T(0)).store(copy.get() + i * V::size);
  }
  update_columns<1>(args, copy.get(), V::size);
  for (std::int64_t i = 0; i < rows; ++i) {
    V::load(copy.get() + i * V::size).store_partial(corner + i * args.row + column, count);
  }
}

template <class T>
void fill(EliminationKernels& kernels, DType dtype) {
  const auto column = static_cast<std::size_t>(dtype);
  kernels.panel[column] = [](const LuStepArgs& args) { Panel<T>(args).run(); };
  kernels.update[column] = update<T>;
  kernels.exchange[column] = [](const LuStepArgs& args) {
    exchange_rows(args, static_cast<T*>(args.matrix) + args.begin, args.end - args.begin);
  };
}

}  // namespace

void fill_elimination_steps(EliminationKernels& kernels) {
  fill<float>(kernels, DType::Float32);
  fill<double>(kernels, DType::Float64);
}

}  // namespace lamella::cpu

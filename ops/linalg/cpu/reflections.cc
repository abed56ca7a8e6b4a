#include <algorithm>

#include "ops/cpu/aligned.h"
#include "ops/cpu/tables/reflections.h"
#include "ops/linalg/cpu/transpose_into.h"
#include "ops/linalg/cpu/triangle_panel.h"

// A block of reflections is 1 - v s^-1 t v^T, where s is 1 + t triu(v^T v, 1) and t is the diagonal of their factors
// (Joffrain et al., Accumulating Householder transformations, revisited, 2006).

namespace lamella::cpu {
namespace {

/// Computes c = 0 - a @ b for `columns` columns, which fill whole vectors.
template <class T>
void negative_products(Steps<T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row, std::int64_t rows,
                       std::int64_t depth, std::int64_t columns) {
  std::fill_n(c, rows * c_row, T(0));
  for (std::int64_t j = 0; j < columns; j += simd::Vec<T>::size)
    subtract_products<1>(a, b + j, b_row, c + j, c_row, rows, depth);
}

template <class T>
void make_blocks(const ReflectionBlocksArgs& args) {
  const Steps<T> x{static_cast<const T*>(args.x), args.x_row, args.x_column};
  const auto* const factors = static_cast<const T*>(args.factors);
  auto* vectors = static_cast<T*>(args.vectors);
  auto* system = static_cast<T*>(args.systems);
  for (std::int64_t first = 0; first < args.count; first += kReflections) {
    const std::int64_t size = std::min(kReflections, args.count - first);
    const std::int64_t rows = args.m - first;
    for (std::int64_t i = 0; i < rows; ++i) {
      T* const row = vectors + i * kReflections;
      const std::int64_t below = std::min(i, size);
      for (std::int64_t j = 0; j < below; ++j) row[j] = *x.at(first + i, first + j);
      std::fill(row + below, row + kReflections, T(0));
      if (i < size) row[i] = T(1);
    }
    negative_products(Steps<T>{vectors, 1, kReflections}, vectors, kReflections, system, kReflections, size, rows,
                      kReflections);
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = i + 1; j < size; ++j) system[i * kReflections + j] *= -factors[first + i];
    }
    vectors += args.m * kReflections;
    system += kReflections * kReflections;
  }
}

/// Columns of c in a panel of whole vectors.
template <class T, int kVectors>
class Columns {
 public:
  Columns(const ReflectArgs& args, T* panel, T* products) : args_(args), panel_(panel), products_(products) {}

  void run(std::int64_t first, int count) const {
    T* const c = static_cast<T*>(args_.c) + first * args_.c_column;
    const std::int64_t blocks = (args_.count + kReflections - 1) / kReflections;
    if (args_.unit) {
      std::fill_n(panel_, args_.m * kRow, T(0));
      for (int j = 0; j < count; ++j) panel_[(first + j) * kRow + j] = T(1);
      // Skips blocks of reflections that begin below the ones of these unit columns, because they do not change them.
      for (std::int64_t block = std::min(blocks, (first + count - 1) / kReflections + 1); block-- > 0;) reflect(block);
    } else {
      read(c, count);
      for (std::int64_t i = 0; i < blocks; ++i) reflect(args_.transposed ? i : blocks - 1 - i);
    }
    write(c, count);
  }

 private:
  using V = simd::Vec<T>;
  static constexpr int kRow = kVectors * V::size;
  static constexpr int kFull = kRow - V::size;  ///< columns in front of the last vector

  void read(const T* c, int count) const {
    if (args_.c_column != 1) {
      std::fill_n(panel_, args_.m * kRow, T(0));
      transpose_into(c, args_.c_column, count, args_.m, panel_, kRow);
      return;
    }
    for (std::int64_t i = 0; i < args_.m; ++i) {
      if constexpr (kVectors > 1) V::load(c + i * args_.c_row).store(panel_ + i * kRow);
      V::load_partial(c + i * args_.c_row + kFull, count - kFull, T(0)).store(panel_ + i * kRow + kFull);
    }
  }
  void write(T* c, int count) const {
    if (args_.c_column != 1) return transpose_into(panel_, kRow, args_.m, count, c, args_.c_column);
    for (std::int64_t i = 0; i < args_.m; ++i) {
      if constexpr (kVectors > 1) V::load(panel_ + i * kRow).store(c + i * args_.c_row);
      V::load(panel_ + i * kRow + kFull).store_partial(c + i * args_.c_row + kFull, count - kFull);
    }
  }

  void reflect(std::int64_t block) const {
    const std::int64_t first = block * kReflections;
    const std::int64_t size = std::min(kReflections, args_.count - first);
    const std::int64_t rows = args_.m - first;
    const T* const vectors = static_cast<const T*>(args_.vectors) + block * args_.m * kReflections;
    const T* const system = static_cast<const T*>(args_.systems) + block * kReflections * kReflections;
    const T* const factors = static_cast<const T*>(args_.factors) + first;
    T* const below = panel_ + first * kRow;
    std::fill_n(products_, size * kRow, T(0));
    subtract_products<kVectors>(Steps<T>{vectors, 1, kReflections}, below, kRow, products_, kRow, size, rows);
    if (args_.transposed) {
      solve_lower<kVectors>(Steps<T>{system, 1, kReflections}, true, size, products_, kRow);
      scale(factors, size);
    } else {
      scale(factors, size);
      const Steps<T> backward{system + (size - 1) * (kReflections + 1), -kReflections, -1};
      solve_lower<kVectors>(backward, true, size, products_ + (size - 1) * kRow, -kRow);
    }
    subtract_products<kVectors>(Steps<T>{vectors, kReflections, 1}, products_, kRow, below, kRow, rows, size);
  }

  /// Negates, because the products were subtracted from 0.
  void scale(const T* factors, std::int64_t size) const {
    for (std::int64_t i = 0; i < size; ++i) {
      T* const row = products_ + i * kRow;
      for (int j = 0; j < kRow; j += V::size) (V::load(row + j) * V(-factors[i])).store(row + j);
    }
  }

  const ReflectArgs& args_;
  T* const panel_;
  T* const products_;
};

template <class T>
void reflect(const ReflectArgs& args) {
  constexpr int kVector = simd::Vec<T>::size;
  constexpr int kColumns = 2 * kVector;
  const Lines<T> panel = make_lines<T>(static_cast<std::size_t>((args.m + kReflections) * kColumns));
  T* const products = panel.get() + args.m * kColumns;
  for (std::int64_t column = args.begin; column < args.end; column += kColumns) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kColumns, args.end - column));
    if (count > kVector) {
      Columns<T, 2>(args, panel.get(), products).run(column, count);
    } else {
      Columns<T, 1>(args, panel.get(), products).run(column, count);
    }
  }
}

template <class T>
void fill(ReflectionKernels& kernels, DType dtype) {
  kernels.blocks[static_cast<std::size_t>(dtype)] = make_blocks<T>;
  kernels.reflect[static_cast<std::size_t>(dtype)] = reflect<T>;
}

}  // namespace

void fill_reflections(ReflectionKernels& kernels) {
  fill<float>(kernels, DType::Float32);
  fill<double>(kernels, DType::Float64);
}

}  // namespace lamella::cpu

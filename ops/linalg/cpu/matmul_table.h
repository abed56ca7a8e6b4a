#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// c = a @ b for one pair of matrices; strides in elements. c has unit column stride.
struct MatmulArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t a_row = 0;
  std::int64_t a_column = 0;
  std::int64_t b_row = 0;
  std::int64_t b_column = 0;
  std::int64_t c_row = 0;
};

/// A product of a matrix, whose rows are dense and `row` elements apart, and a dense vector.
struct MatrixVectorArgs {
  const void* matrix = nullptr;
  const void* vector = nullptr;
  void* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row = 0;
  /// Of matrix @ vector: where each `group` rows have a vector of their own, the elements from one of these to the
  /// next.
  std::int64_t vector_row = 0;
  std::int64_t group = 1;
  /// Of vector @ matrix: rows whose sum is made before it goes into the total.
  std::int64_t run = 0;
};

/// A column, whose elements are `step` apart, times a dense row, into dense rows.
struct OuterArgs {
  const void* column = nullptr;
  const void* row = nullptr;
  void* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t step = 0;
};

/// Many such products, of dense columns that are `column` elements apart and dense rows that are `row` apart; all
/// results are behind one another.
struct SmallOuterArgs {
  const void* columns = nullptr;
  const void* rows = nullptr;
  void* out = nullptr;
  std::int64_t count = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t column = 0;
  std::int64_t row = 0;
};

/// beta times a matrix plus alpha times such a product, all rows being dense and behind one another.
struct AddedOuterArgs {
  OuterArgs product;
  const void* input = nullptr;
  double beta = 1;
  double alpha = 1;
};

struct MatmulKernels {
  /// Any strides; meant for small matrices, and the only one for integers and complex numbers.
  void (*small[kDTypeCount])(const MatmulArgs&) = {};
  /// Eigen's product, for float32 and float64; in each of a and b one stride must be 1.
  void (*large[kDTypeCount])(const MatmulArgs&) = {};
  /// matrix @ vector, of `columns` elements, and vector @ matrix, the vector being of `rows` elements; for float32 and
  /// float64.
  void (*rows_times_vector[kDTypeCount])(const MatrixVectorArgs&) = {};
  void (*vector_times_rows[kDTypeCount])(const MatrixVectorArgs&) = {};
  /// out[j] = the product of column j of the matrix, of `rows` terms, with column j of another, whose rows are
  /// `vector_row` apart; for float32 and float64.
  void (*columns_by_columns[kDTypeCount])(const MatrixVectorArgs&) = {};
  /// For float32 and float64.
  void (*outer[kDTypeCount])(const OuterArgs&) = {};
  void (*small_outer[kDTypeCount])(const SmallOuterArgs&) = {};
  void (*added_outer[kDTypeCount])(const AddedOuterArgs&) = {};
};

void fill_matmul(MatmulKernels& kernels);
void fill_matmul_complex(MatmulKernels& kernels);
void fill_matmul_eigen(MatmulKernels& kernels);
void fill_matmul_vector(MatmulKernels& kernels);

}  // namespace lamella::cpu

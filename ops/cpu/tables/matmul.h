#pragma once

#include <cstdint>

#include "engine/core/dtype.h"

namespace lamella::cpu {

/// c = a @ b for one pair of matrices; strides in elements. c has a column stride of 1.
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

/// A product of a matrix, whose rows are contiguous and `row` elements apart, and a contiguous vector.
struct MatrixVectorArgs {
  const void* matrix = nullptr;
  const void* vector = nullptr;
  void* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row = 0;
  /// For matrix @ vector: if each `group` rows have a vector of their own, the distance between these vectors in
  /// elements.
  std::int64_t vector_row = 0;
  std::int64_t group = 1;
  /// For vector @ matrix: number of rows summed before the partial sum is added to the total.
  std::int64_t run = 0;
};

/// The product of a column, whose elements are `step` apart, and a contiguous row, written to contiguous rows.
struct OuterArgs {
  const void* column = nullptr;
  const void* row = nullptr;
  void* out = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t step = 0;
};

/// `count` outer products of contiguous columns, `column` elements apart, and contiguous rows, `row` elements apart;
/// the results are adjacent.
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

/// beta times a matrix plus alpha times an outer product; all rows are contiguous and adjacent.
struct AddedOuterArgs {
  OuterArgs product;
  const void* input = nullptr;
  double beta = 1;
  double alpha = 1;
};

struct MatmulKernels {
  /// Computes products with any strides; intended for small matrices, and the only kernel for integers and complex
  /// numbers.
  void (*small[kDTypeCount])(const MatmulArgs&) = {};
  /// Computes products with Eigen, for float32 and float64; a and b must each have a stride of 1.
  void (*large[kDTypeCount])(const MatmulArgs&) = {};
  /// Compute matrix @ vector (of `columns` elements) and vector (of `rows` elements) @ matrix; for float32 and float64.
  void (*rows_times_vector[kDTypeCount])(const MatrixVectorArgs&) = {};
  void (*vector_times_rows[kDTypeCount])(const MatrixVectorArgs&) = {};
  /// Computes out[j] = the dot product of column j of the matrix, of `rows` elements, with column j of another one,
  /// whose rows are `vector_row` apart; for float32 and float64.
  void (*columns_by_columns[kDTypeCount])(const MatrixVectorArgs&) = {};
  /// Kernels for outer products, for float32 and float64.
  void (*outer[kDTypeCount])(const OuterArgs&) = {};
  void (*small_outer[kDTypeCount])(const SmallOuterArgs&) = {};
  void (*added_outer[kDTypeCount])(const AddedOuterArgs&) = {};
};

void fill_matmul(MatmulKernels& kernels);
void fill_matmul_complex(MatmulKernels& kernels);
void fill_matmul_eigen(MatmulKernels& kernels);
void fill_matmul_vector(MatmulKernels& kernels);

}  // namespace lamella::cpu

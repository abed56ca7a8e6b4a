#pragma once

#include <cstdint>

namespace lamella::cpu {

/// Normalization of contiguous data, in two forms: of rows, each by its own mean and deviation, with weights along the
/// row; and of planes, by coefficients that the caller computes from the kernels' measurements.
template <class T>
struct NormKernels {
  /// Computes y = (x - mean) rstd w + b for rows of `width`; w and b may be null. Without `centered` the mean is taken
  /// as 0. Writes mean and rstd of each row. `past_caches`: see Note [Large outputs].
  void (*rows)(const T* x, const T* w, const T* b, T* y, T* mean, T* rstd, std::int64_t rows, std::int64_t width,
               double eps, bool centered, bool past_caches) = nullptr;
  /// Computes dx for rows(), and adds the rows' contributions to dw and db, of `width` each (null if not wanted).
  void (*rows_backward)(const T* x, const T* dy, const T* w, const T* mean, const T* rstd, T* dx, T* dw, T* db,
                        std::int64_t rows, std::int64_t width, bool centered) = nullptr;
  /// Computes y = (x - center) scale + shift, with one of each per plane.
  void (*scale_shift)(const T* x, const T* center, const T* scale, const T* shift, T* y, std::int64_t planes,
                      std::int64_t size) = nullptr;
  /// Computes sum(dy) and sum(dy h), with h = (x - center) rstd, of each plane.
  void (*dots)(const T* x, const T* dy, const double* center, const double* rstd, double* sum, double* dot,
               std::int64_t planes, std::int64_t size) = nullptr;
  /// Computes dx = a dy + b h + c with h = (x - center) rstd, with one of each per plane. The factors of b rstd stay
  /// apart, as their product may be below the range of numbers.
  void (*combine)(const T* x, const T* center, const T* rstd, const T* dy, const T* a, const T* b, const T* c, T* dx,
                  std::int64_t planes, std::int64_t size) = nullptr;

  // Like scale_shift, dots and combine, for planes that are the columns of a matrix: with one number per column.
  void (*scale_shift_columns)(const T* x, const T* center, const T* scale, const T* shift, T* y, std::int64_t rows,
                              std::int64_t columns) = nullptr;
  void (*dots_of_columns)(const T* x, const T* dy, const T* center, const T* rstd, T* sum, T* dot, std::int64_t rows,
                          std::int64_t columns) = nullptr;
  void (*combine_columns)(const T* x, const T* center, const T* rstd, const T* dy, const T* a, const T* b, const T* c,
                          T* dx, std::int64_t rows, std::int64_t columns) = nullptr;
};

struct NormTable {
  NormKernels<float> float32;
  NormKernels<double> float64;
};

void fill_norm(NormTable& table);
void fill_norm_columns(NormTable& table);

}  // namespace lamella::cpu

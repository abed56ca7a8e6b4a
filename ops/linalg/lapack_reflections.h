#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "ops/linalg/lapack_routines.h"

namespace lamella::linalg::lapack {

template <class T>
struct QrRoutines {
  static constexpr RoutineOf<T, "geqrt3", void(Size, Size, T*, Size, T*, Size, int*)> geqrt3{};
  static constexpr RoutineOf<T, "larft",
                             void(Option, Option, Size, Size, const T*, Size, const T*, T*, Size, Length, Length)>
      larft{};
  static constexpr RoutineOf<T, "gemm",
                             void(Option, Option, Size, Size, Size, const T*, const T*, Size, const T*, Size, const T*,
                                  T*, Size, Length, Length)>
      gemm{};
};

/// A product q of reflections, grouped in blocks of 1 - v t v^H (Schreiber and Van Loan, A storage-efficient WY
/// representation for products of Householder transformations, 1989) and applied by matrix products. LAPACK's own
/// routines do the same with loops between the products, which take as long as the products.
template <class T>
class Reflections {
 public:
  /// True if blocks pay.
  static bool takes(int m, int n) { return std::min(m, n) >= 32; }

  /// Prepares for `steps` reflections of m numbers, steps <= m, applied to at most `columns` columns.
  Reflections(int m, int steps, int columns)
      : m_(m),
        steps_(steps),
        block_(steps_ <= 128 ? 16 : 32),
        v_(new T[size_of(m, steps_)]),
        t_(new T[size_of(block_, steps_)]),
        products_(new T[2 * size_of(block_, columns)]),
        other_products_(products_.get() + size_of(block_, columns)) {}

  /// Computes the reflections that make a, of n columns of m numbers, upper triangular. a becomes r, with their vectors
  /// below, as LAPACK stores them.
  void factor(T* a, int n) {
    for_each_block([&](int start, int size) {
      const int rows = m_ - start;
      T* const corner = a + at(start, start);
      int info = 0;
      QrRoutines<T>::geqrt3(&rows, &size, corner, &m_, cleared(start, size), &block_, &info);
      copy_vectors(start, size, corner, m_);
      reflect(start, size, corner + at(0, size), m_, n - start - size, true);
    });
  }
  /// Reads the reflections that a LAPACK routine has left below the diagonal, with their factors.
  void take(const T* a, int step, const T* factors) {
    for_each_block([&](int start, int size) {
      const int rows = m_ - start;
      copy_vectors(start, size, a + static_cast<std::ptrdiff_t>(start) * step + start, step);
      QrRoutines<T>::larft("F", "C", &rows, &size, v_.get() + at(start, start), &m_, factors + start,
                           cleared(start, size), &block_, 1, 1);
    });
  }
  /// Writes the factors of the single reflections.
  void write_factors(T* to) const {
    for_each_block([&](int start, int size) {
      for (int j = 0; j < size; ++j) to[start + j] = t_.get()[static_cast<std::ptrdiff_t>(start + j) * block_ + j];
    });
  }
  /// Computes c = q^H c.
  void apply_adjoint(T* c, int step, int columns) const {
    for_each_block([&](int start, int size) { reflect(start, size, c + start, step, columns, true); });
  }
  /// Computes c = q c.
  void apply(T* c, int step, int columns) const {
    for_each_block_back([&](int start, int size) { reflect(start, size, c + start, step, columns, false); });
  }
  /// Computes the first columns of q, at least as many as there are reflections.
  void form(T* q, int columns) const {
    std::fill_n(q, size_of(m_, columns), T(0));
    for (int j = 0; j < columns; ++j) q[at(j, j)] = T(1);
    for_each_block_back(
        [&](int start, int size) { reflect(start, size, q + at(start, start), m_, columns - start, false); });
  }

 private:
  static std::size_t size_of(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  std::ptrdiff_t at(int row, int column) const { return static_cast<std::ptrdiff_t>(column) * m_ + row; }
  T* t_of(int start) const { return t_.get() + static_cast<std::ptrdiff_t>(start) * block_; }

  /// Returns the zeroed t of a block: all of it takes part in products, but only a triangle is written.
  T* cleared(int start, int size) {
    std::fill_n(t_of(start), size_of(block_, size), T(0));
    return t_of(start);
  }
  /// Copies the vectors of a block, with their ones and zeros.
  void copy_vectors(int start, int size, const T* from, int step) {
    for (int j = 0; j < size; ++j) {
      const T* const column = from + static_cast<std::ptrdiff_t>(j) * step;
      T* const v = v_.get() + at(start, start + j);
      std::fill_n(v, j, T(0));
      v[j] = T(1);
      std::copy(column + j + 1, column + m_ - start, v + j + 1);
    }
  }

  template <class F>
  void for_each_block(F&& f) const {
    for (int start = 0; start < steps_; start += block_) f(start, std::min(block_, steps_ - start));
  }

  template <class F>
  void for_each_block_back(F&& f) const {
    for (int start = (steps_ - 1) / block_ * block_; start >= 0; start -= block_) {
      f(start, std::min(block_, steps_ - start));
    }
  }

  /// Applies a block of reflections or its adjoint to the rows of c from `start` on; c points to row `start`.
  void reflect(int start, int size, T* c, int step, int columns, bool adjoint) const {
    if (columns == 0) return;
    const char* const turned = std::is_floating_point_v<T> ? "T" : "C";
    const int rows = m_ - start;
    const T* const v = v_.get() + at(start, start);
    const T one(1);
    const T minus(-1);
    const T zero(0);
    const auto gemm = QrRoutines<T>::gemm;
    gemm(turned, "N", &size, &columns, &rows, &one, v, &m_, c, &step, &zero, products_.get(), &block_, 1, 1);
    gemm(adjoint ? turned : "N", "N", &size, &columns, &size, &one, t_of(start), &block_, products_.get(), &block_,
         &zero, other_products_, &block_, 1, 1);
    gemm("N", "N", &rows, &columns, &size, &minus, v, &m_, other_products_, &block_, &one, c, &step, 1, 1);
  }

  int m_;
  int steps_;
  int block_;
  std::unique_ptr<T[]> v_;
  std::unique_ptr<T[]> t_;
  std::unique_ptr<T[]> products_;
  T* other_products_;
};

}  // namespace lamella::linalg::lapack

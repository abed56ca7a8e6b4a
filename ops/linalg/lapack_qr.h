#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "ops/linalg/lapack_routines.h"

extern "C" {
void sgeqrt3_(const int*, const int*, float*, const int*, float*, const int*, int*);
void dgeqrt3_(const int*, const int*, double*, const int*, double*, const int*, int*);
void cgeqrt3_(const int*, const int*, lapack_c*, const int*, lapack_c*, const int*, int*);
void zgeqrt3_(const int*, const int*, lapack_z*, const int*, lapack_z*, const int*, int*);

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*, std::size_t, std::size_t);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);
void cgemm_(const char*, const char*, const int*, const int*, const int*, const lapack_c*, const lapack_c*, const int*,
            const lapack_c*, const int*, const lapack_c*, lapack_c*, const int*, std::size_t, std::size_t);
void zgemm_(const char*, const char*, const int*, const int*, const int*, const lapack_z*, const lapack_z*, const int*,
            const lapack_z*, const int*, const lapack_z*, lapack_z*, const int*, std::size_t, std::size_t);
}

namespace lamella::linalg::lapack {

template <class T>
struct QrRoutines;
template <>
struct QrRoutines<float> {
  static constexpr auto geqrt3 = sgeqrt3_;
  static constexpr auto gemm = sgemm_;
};
template <>
struct QrRoutines<double> {
  static constexpr auto geqrt3 = dgeqrt3_;
  static constexpr auto gemm = dgemm_;
};
template <>
struct QrRoutines<std::complex<float>> {
  static constexpr auto geqrt3 = cgeqrt3_;
  static constexpr auto gemm = cgemm_;
};
template <>
struct QrRoutines<std::complex<double>> {
  static constexpr auto geqrt3 = zgeqrt3_;
  static constexpr auto gemm = zgemm_;
};

/// The factorization of a matrix of m x n numbers, column after column, by reflections, of which some at once are
/// q = 1 - v t v^H (Schreiber and Van Loan, A storage-efficient WY representation for products of Householder
/// transformations, 1989). Matrices with few columns are left to geqrf, which is faster there. What geqrf and its
/// neighbors do with blocks they do by loops of their own between the products, which take as long as these.
template <class T>
class BlockedQr {
 public:
  /// Where blocks pay.
  static bool takes(int m, int n) { return std::min(m, n) >= 32; }

  /// `most` columns are reflected at once at most.
  BlockedQr(int m, int n, int most)
      : m_(m),
        n_(n),
        steps_(std::min(m, n)),
        block_(steps_ <= 128 ? 16 : 32),
        v_(new T[size_of(m, steps_)]),
        t_(new T[size_of(block_, steps_)]),
        products_(new T[2 * size_of(block_, std::max(n, most))]),
        other_products_(products_.get() + size_of(block_, std::max(n, most))) {}

  /// The upper triangle of a becomes r; the rest is destroyed.
  void factor(T* a) {
    for_each_block([&](int start, int size) {
      const int rows = m_ - start;
      T* const corner = a + at(start, start);
      T* const t = t_of(start);
      int info = 0;
      // All of t takes part in products, of which only a triangle is written.
      std::fill_n(t, size_of(block_, size), T(0));
      QrRoutines<T>::geqrt3(&rows, &size, corner, &m_, t, &block_, &info);
      for (int j = 0; j < size; ++j) {
        T* const v = v_.get() + at(start, start + j);
        std::fill_n(v, j, T(0));
        v[j] = T(1);
        std::copy_n(corner + at(j + 1, j), rows - j - 1, v + j + 1);
      }
      reflect(start, size, corner + at(0, size), m_, n_ - start - size, true);
    });
  }
  /// c = q^H c
  void apply_adjoint(T* c, int step, int columns) const {
    for_each_block([&](int start, int size) { reflect(start, size, c + start, step, columns, true); });
  }
  /// The first columns of q, as many as steps at least.
  void form(T* q, int columns) const {
    std::fill_n(q, size_of(m_, columns), T(0));
    for (int j = 0; j < columns; ++j) q[at(j, j)] = T(1);
    for (int start = (steps_ - 1) / block_ * block_; start >= 0; start -= block_) {
      reflect(start, std::min(block_, steps_ - start), q + at(start, start), m_, columns - start, false);
    }
  }

 private:
  static std::size_t size_of(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  std::ptrdiff_t at(int row, int column) const { return static_cast<std::ptrdiff_t>(column) * m_ + row; }
  T* t_of(int start) const { return t_.get() + static_cast<std::ptrdiff_t>(start) * block_; }

  template <class F>
  void for_each_block(F&& f) const {
    for (int start = 0; start < steps_; start += block_) f(start, std::min(block_, steps_ - start));
  }

  /// The rows of c from `start` on, to which it points, by a block of reflections or its adjoint.
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
  int n_;
  int steps_;
  int block_;
  std::unique_ptr<T[]> v_;
  std::unique_ptr<T[]> t_;
  std::unique_ptr<T[]> products_;
  T* other_products_;
};

}  // namespace lamella::linalg::lapack

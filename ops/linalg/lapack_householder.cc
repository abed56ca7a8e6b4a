#ifdef LAMELLA_WITH_LAPACK

#include <algorithm>
#include <vector>

#include "ops/linalg/lapack.h"
#include "ops/linalg/lapack_batches.h"
#include "ops/linalg/lapack_reflections.h"

namespace lamella::linalg::lapack {

void geqrf(const Tensor& columns, const Tensor& tau, const char* op) {
  const Matrices all(columns);
  const int m = to_int(all.columns, op);
  const int n = to_int(all.rows, op);
  const int steps = std::min(m, n);
  const int lda = leading(m);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      T* const factors = tau.data<T>() + i * steps;
      if (Reflections<T>::takes(m, n)) {
        Reflections<T> reflections(m, steps, n);
        reflections.factor(a, n);
        reflections.write_factors(factors);
        return;
      }
      with_workspace<T>(op, [&](T* work, int size) {
        int info = 0;
        Routines<T>::geqrf(&m, &n, a, &lda, factors, work, &size, &info);
      });
    });
  });
}

void householder(const Tensor& columns, const Tensor& tau, const Tensor& q_columns, const char* op) {
  const Matrices all(columns);
  const int m = to_int(all.columns, op);
  const int n = to_int(all.rows, op);
  const int steps = to_int(tau.size(-1), op);
  const int lda = leading(m);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      const T* const a = columns.data<T>() + i * all.size();
      const T* const factors = tau.data<T>() + i * steps;
      T* const q = q_columns.data<T>() + i * all.size();
      if (Reflections<T>::takes(m, steps)) {
        Reflections<T> reflections(m, steps, n);
        reflections.take(a, m, factors);
        reflections.form(q, n);
        return;
      }
      std::copy_n(a, all.size(), q);
      with_workspace<T>(op, [&](T* work, int size) {
        int info = 0;
        Routines<T>::ungqr(&m, &n, &steps, q, &lda, factors, work, &size, &info);
      });
    });
  });
}

void reflect(const Tensor& columns, const Tensor& tau, const Tensor& c_columns, bool adjoint, const char* op) {
  const Matrices all(columns);
  const Matrices operands(c_columns);
  const int m = to_int(all.columns, op);
  const int count = to_int(operands.rows, op);
  const int steps = to_int(tau.size(-1), op);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, operands.size() * steps, [&](std::int64_t i) {
      Reflections<T> reflections(m, steps, count);
      reflections.take(columns.data<T>() + i * all.size(), m, tau.data<T>() + i * steps);
      T* const c = c_columns.data<T>() + i * operands.size();
      adjoint ? reflections.apply_adjoint(c, m, count) : reflections.apply(c, m, count);
    });
  });
}

}  // namespace lamella::linalg::lapack

#endif

#include "ops/linalg/lapack.h"

#ifdef LAMELLA_WITH_LAPACK
#include "ops/linalg/lapack_batches.h"
#include "ops/linalg/lapack_reflections.h"
#include "ops/linalg/lapack_triangles.h"
#else
#include "engine/core/error.h"
#endif

namespace lamella::linalg::lapack {

#ifdef LAMELLA_WITH_LAPACK

namespace {

template <class T>
void conjugate([[maybe_unused]] T* values, [[maybe_unused]] std::int64_t count) {
  if constexpr (!std::is_floating_point_v<T>) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = std::conj(values[i]);
  }
}

}  // namespace

void cholesky(const Tensor& a, const Tensor& infos, const char* op) {
  const Matrices all(a);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      T* const matrix = a.data<T>() + i * all.size();
      int info = 0;
      // LAPACK sees the transpose of a Hermitian matrix, which is u.mH @ u, with u the transpose of the lower triangle.
      Routines<T>::potrf("U", &n, matrix, &lda, &info, 1);
      // Some implementations of LAPACK go on with NaN.
      for (int row = 0; info == 0 && row < n; ++row) {
        if (matrix[row * all.rows + row] != matrix[row * all.rows + row]) info = row + 1;
      }
      if (infos.defined()) {
        infos.data<std::int32_t>()[i] = info;
      } else if (info > 0) {
        fail<ValueError>("[", op, "] ", which(i, all.count), " is not positive definite: its leading ", info, " x ",
                         info, " part is not");
      }
      for (std::int64_t row = 0; row < all.rows; ++row) {
        std::fill(matrix + row * all.rows + row + 1, matrix + (row + 1) * all.rows, T(0));
      }
    });
  });
}

void factor(const Tensor& a, const Tensor& pivots, Singular singular, const char* op) {
  const Matrices all(a);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      int info = 0;
      Routines<T>::getrf(&n, &n, a.data<T>() + i * all.size(), &lda, pivots.data<std::int32_t>() + i * all.rows, &info);
      if (info > 0 && singular == Singular::Refused)
        fail<ValueError>("[", op, "] ", which(i, all.count), " is singular");
    });
  });
}

void solve(const Factors& factors, const Tensor& columns, bool adjoint, const char* op) {
  const Matrices all(columns);
  const int n = to_int(all.columns, op);
  const int count = to_int(all.rows, op);
  const int lda = leading(n);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.size() * n, [&](std::int64_t i) {
      T* const b = columns.data<T>() + i * all.size();
      int info = 0;
      // The factors are those of the transpose. For the adjoint, b is conjugated before and after.
      if (adjoint) conjugate(b, all.size());
      Routines<T>::getrs(adjoint ? "N" : "T", &n, &count, factors.lu.data<T>() + i * n * n, &lda,
                         factors.pivots.data<std::int32_t>() + i * n, b, &lda, &info, 1);
      if (adjoint) conjugate(b, all.size());
    });
  });
}

void lu(const Tensor& columns, const Tensor& pivots, const char* op) {
  const Matrices all(columns);
  const int m = to_int(all.columns, op);
  const int n = to_int(all.rows, op);
  const int lda = leading(m);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      int info = 0;
      Routines<T>::getrf(&m, &n, columns.data<T>() + i * all.size(), &lda,
                         pivots.data<std::int32_t>() + i * std::min(m, n), &info);
    });
  });
}

void cholesky_inverse(const Tensor& a, bool upper, const char* op) {
  const Matrices all(a);
  const int n = to_int(all.rows, op);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      T* const matrix = a.data<T>() + i * all.size();
      // The transposed factor of a Hermitian matrix gives the transposed inverse.
      const char* const part = upper ? "L" : "U";
      int info = invert_triangle(part, n, matrix, n);
      if (info > 0) fail<ValueError>("[", op, "] ", which(i, all.count), " is singular");
      TriangleRoutines<T>::lauum(part, &n, matrix, &n, &info, 1);
      for (std::int64_t row = 0; row < n; ++row) {
        for (std::int64_t column = 0; column < row; ++column) {
          T& below = matrix[row * n + column];
          T& above = matrix[column * n + row];
          (upper ? below : above) = upper ? above : below;
          conjugate(upper ? &below : &above, 1);
        }
      }
    });
  });
}

void inverse(const Tensor& a, const Tensor& infos, const char* op) {
  const Matrices all(a);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, 3 * all.work(), [&](std::int64_t i) {
      T* const matrix = a.data<T>() + i * all.size();
      std::vector<int> pivots(static_cast<std::size_t>(n));
      int info = 0;
      Routines<T>::getrf(&n, &n, matrix, &lda, pivots.data(), &info);
      if (infos.defined()) infos.data<std::int32_t>()[i] = info;
      if (info > 0) {
        if (!infos.defined()) fail<ValueError>("[", op, "] ", which(i, all.count), " is singular");
        std::fill_n(matrix, all.size(), T(std::numeric_limits<typename Routines<T>::Real>::quiet_NaN()));
        return;
      }
      with_workspace<T>(
          op, [&](T* work, int size) { Routines<T>::getri(&n, matrix, &lda, pivots.data(), work, &size, &info); });
    });
  });
}

void triangular(const Tensor& a, const Tensor& b, Triangle triangle, const char* op) {
  const Matrices all(b);
  const int n = to_int(all.rows, op);
  const int count = to_int(all.columns, op);
  const int lda = leading(n);
  const int ldb = leading(count);
  // Solves the transposed equation, as LAPACK reads it: y.mT @ a.mT == b.mT, with the other triangle.
  const char* const part = triangle.upper ? "L" : "U";
  const char* const form = triangle.adjoint ? "C" : "N";
  const char* const diagonal = triangle.unit_diagonal ? "U" : "N";
  visit<Decomposable>(b.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.size() * n, [&](std::int64_t i) {
      const T one(1);
      Routines<T>::trsm("R", part, form, diagonal, &count, &n, &one, a.data<T>() + i * n * n, &lda,
                        b.data<T>() + i * all.size(), &ldb, 1, 1, 1, 1);
    });
  });
}

void qr(const Tensor& columns, const Tensor& q_columns, const Tensor& r, const char* op) {
  const Matrices all(columns);
  const int m = to_int(all.columns, op);
  const int n = to_int(all.rows, op);
  const int k = std::min(m, n);
  const int q_count = to_int(q_columns.size(-2), op);
  const int lda = leading(m);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, 2 * all.work(), [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      T* const q = q_columns.data<T>() + i * q_count * m;
      T* const to = r.data<T>() + i * q_count * n;
      const auto write_upper = [&] {
        for (std::int64_t row = 0; row < q_count; ++row) {
          for (std::int64_t column = 0; column < n; ++column) {
            to[row * n + column] = row <= column ? a[column * m + row] : T(0);
          }
        }
      };
      if (Reflections<T>::takes(m, n)) {
        Reflections<T> factors(m, k, std::max(n, q_count));
        factors.factor(a, n);
        write_upper();
        factors.form(q, q_count);
        return;
      }
      std::vector<T> tau(static_cast<std::size_t>(std::max(k, 1)));
      T answers[2] = {};
      int info = 0;
      int size = -1;
      Routines<T>::geqrf(&m, &n, a, &lda, tau.data(), &answers[0], &size, &info);
      Routines<T>::ungqr(&m, &q_count, &k, q, &lda, tau.data(), &answers[1], &size, &info);
      size = std::max(workspace(answers[0], op), workspace(answers[1], op));
      std::vector<T> work(static_cast<std::size_t>(size));
      Routines<T>::geqrf(&m, &n, a, &lda, tau.data(), work.data(), &size, &info);
      write_upper();
      std::copy_n(a, static_cast<std::int64_t>(k) * m, q);
      Routines<T>::ungqr(&m, &q_count, &k, q, &lda, tau.data(), work.data(), &size, &info);
    });
  });
}

void svd(const Tensor& a, const Singulars& to, SingularVectors vectors, const char* op) {
  const Matrices all(a);
  // The transpose is what LAPACK sees: the two sides change places.
  const int m = to_int(all.columns, op);
  const int n = to_int(all.rows, op);
  const int k = std::min(m, n);
  const int left = vectors == SingularVectors::Full ? m : k;
  const int right = vectors == SingularVectors::Full ? n : k;
  const char* const job = vectors == SingularVectors::None ? "N" : vectors == SingularVectors::Full ? "A" : "S";
  const int lda = leading(m);
  const int ldv = leading(right);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    using Real = typename Routines<T>::Real;
    for_each_matrix(op, all.count, 8 * all.work(), [&](std::int64_t i) {
      T* const matrix = a.data<T>() + i * all.size();
      Real* const s = to.s.data<Real>() + i * k;
      T unused(0);
      T* const u = to.vh.defined() ? to.vh.data<T>() + i * left * m : &unused;
      T* const v = to.u.defined() ? to.u.data<T>() + i * right * n : &unused;
      check_finite(matrix, all.size(), i, all.count, op);
      std::vector<int> integers(static_cast<std::size_t>(std::max(8 * k, 1)));
      std::vector<Real> real_work;
      if constexpr (!std::is_floating_point_v<T>) {
        const std::int64_t small = k;
        const std::int64_t large = std::max(m, n);
        real_work.resize(static_cast<std::size_t>(
            std::max<std::int64_t>(1, small * std::max(5 * small + 7, 2 * large + 2 * small + 1))));
      }
      const auto call = [&](T* work, int size) {
        int info = 0;
        if constexpr (std::is_floating_point_v<T>) {
          Routines<T>::gesdd(job, &m, &n, matrix, &lda, s, u, &lda, v, &ldv, work, &size, integers.data(), &info, 1);
        } else {
          Routines<T>::gesdd(job, &m, &n, matrix, &lda, s, u, &lda, v, &ldv, work, &size, real_work.data(),
                             integers.data(), &info, 1);
        }
        return info;
      };
      check_converged(with_workspace<T>(op, call), "singular values", i, all.count, op);
    });
  });
}

#else

namespace {

[[noreturn]] void refuse(const char* op) {
  fail<NotImplementedError>("[", op,
                            "] this build of Lamella has no LAPACK: install OpenBLAS (Debian's "
                            "libopenblas-openmp-dev) and build with LAMELLA_WITH_LAPACK=ON");
}

}  // namespace

void cholesky(const Tensor&, const Tensor&, const char* op) { refuse(op); }
void factor(const Tensor&, const Tensor&, Singular, const char* op) { refuse(op); }
void solve(const Factors&, const Tensor&, bool, const char* op) { refuse(op); }
void lu(const Tensor&, const Tensor&, const char* op) { refuse(op); }
void cholesky_inverse(const Tensor&, bool, const char* op) { refuse(op); }
void inverse(const Tensor&, const Tensor&, const char* op) { refuse(op); }
void triangular(const Tensor&, const Tensor&, Triangle, const char* op) { refuse(op); }
void qr(const Tensor&, const Tensor&, const Tensor&, const char* op) { refuse(op); }
void geqrf(const Tensor&, const Tensor&, const char* op) { refuse(op); }
void householder(const Tensor&, const Tensor&, const Tensor&, const char* op) { refuse(op); }
void reflect(const Tensor&, const Tensor&, const Tensor&, bool, const char* op) { refuse(op); }
void eigh(const Tensor&, const Tensor&, bool, const char* op) { refuse(op); }
void eig(const Tensor&, const Tensor&, const Tensor&, const char* op) { refuse(op); }
void svd(const Tensor&, const Singulars&, SingularVectors, const char* op) { refuse(op); }
void ldl(const Tensor&, const Tensor&, const Tensor&, bool, const char* op) { refuse(op); }
void ldl_solve(const Tensor&, const Tensor&, const Tensor&, bool, const char* op) { refuse(op); }
void least_squares(const Tensor&, const Tensor&, const Tensor&, LeastSquaresDriver, const LeastSquares&,
                   const char* op) {
  refuse(op);
}

#endif

}  // namespace lamella::linalg::lapack

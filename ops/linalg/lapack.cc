#include "ops/linalg/lapack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"

#ifdef LAMELLA_WITH_LAPACK
#include "ops/linalg/lapack_routines.h"
#endif

namespace lamella::linalg::lapack {

#ifdef LAMELLA_WITH_LAPACK

namespace {

constexpr std::int64_t kGrain = 65536;             // multiplications that one thread takes at a time
constexpr std::int64_t kWorthSharing = 4'000'000;  // multiplications in one matrix that OpenBLAS may share

/// LAPACK's integers are of 32 bits.
int to_int(std::int64_t value, const char* op) {
  if (value > std::numeric_limits<int>::max()) {
    fail<ValueError>("[", op, "] a matrix with an axis of ", value, " elements is more than LAPACK takes");
  }
  return static_cast<int>(value);
}

/// A leading dimension: at least 1.
int leading(int rows) { return std::max(rows, 1); }

/// What a query for the size of a workspace answered; float does not hold large integers exactly.
template <class T>
int workspace(T answer, const char* op) {
  const double size = std::ceil(static_cast<double>(std::real(answer)) * (1 + 1e-6));
  return to_int(std::max<std::int64_t>(1, static_cast<std::int64_t>(size)), op);
}

/// OpenBLAS with threads of its own does not know of ours: it is to have one.
void settle_threads() {
  constexpr int kOwnThreads = 1;
  [[maybe_unused]] static const bool settled = [] {
    if (openblas_get_parallel() == kOwnThreads) openblas_set_num_threads(1);
    return true;
  }();
}

struct Matrices {
  std::int64_t count;
  std::int64_t rows;
  std::int64_t columns;

  explicit Matrices(const Tensor& x)
      : count(count_elements(DimsView(x.shape()).first(x.ndim() - 2))), rows(x.size(-2)), columns(x.size(-1)) {}
  std::int64_t size() const { return rows * columns; }
  /// About what a factorization takes.
  std::int64_t work() const { return size() * std::min(rows, columns); }
};

/// Calls f(i) for each matrix, many of them on several threads; a large one alone is OpenBLAS's to share.
template <class F>
void for_each_matrix(std::int64_t count, std::int64_t work, F&& f) {
  settle_threads();
  const HostRelease release(count * work);
  if (count == 1) {
    detail::share_thread_count(work < kWorthSharing ? 1 : std::numeric_limits<int>::max());
    f(std::int64_t{0});
    return;
  }
  parallel_for(0, count, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(work, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 detail::share_thread_count(1);
                 for (std::int64_t i = begin; i < end; ++i) f(i);
               });
}

/// "matrix 3 of the batch", or "the matrix".
std::string which(std::int64_t i, std::int64_t count) {
  return count == 1 ? std::string("the matrix") : str("matrix ", i, " of the batch");
}

template <class T>
bool is_finite(const T* values, std::int64_t count) {
  // Sums of what is multiplied by 0: NaN where something is not finite.
  T sum(0);
  for (std::int64_t i = 0; i < count; ++i) sum += values[i] * T(0);
  return sum == T(0);
}

/// The iterations do not end, or end in nonsense, where something is not finite.
template <class T>
void check_finite(const T* values, std::int64_t size, std::int64_t i, std::int64_t count, const char* op) {
  if (is_finite(values, size)) return;
  fail<ValueError>("[", op, "] ", which(i, count), " has elements that are not finite (NaN or infinity)");
}

template <class T>
void conjugate([[maybe_unused]] T* values, [[maybe_unused]] std::int64_t count) {
  if constexpr (!std::is_floating_point_v<T>) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = std::conj(values[i]);
  }
}

}  // namespace

void cholesky(const Tensor& a, const char* op) {
  const Matrices all(a);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    for_each_matrix(all.count, all.work(), [&](std::int64_t i) {
      T* const matrix = a.data<T>() + i * all.size();
      int info = 0;
      // The transpose of a Hermitian matrix is u.mH @ u, with u the transpose of the lower triangle sought.
      Routines<T>::potrf("U", &n, matrix, &lda, &info, 1);
      if (info > 0) {
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
    for_each_matrix(all.count, all.work(), [&](std::int64_t i) {
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
    for_each_matrix(all.count, all.size() * n, [&](std::int64_t i) {
      T* const b = columns.data<T>() + i * all.size();
      int info = 0;
      // The factors are of the transpose. Where the adjoint is meant, that is its conjugate.
      if (adjoint) conjugate(b, all.size());
      Routines<T>::getrs(adjoint ? "N" : "T", &n, &count, factors.lu.data<T>() + i * n * n, &lda,
                         factors.pivots.data<std::int32_t>() + i * n, b, &lda, &info, 1);
      if (adjoint) conjugate(b, all.size());
    });
  });
}

void inverse(const Tensor& a, const char* op) {
  const Matrices all(a);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  visit<Decomposable>(a.dtype(), op, [&]<class T> {
    for_each_matrix(all.count, 3 * all.work(), [&](std::int64_t i) {
      T* const matrix = a.data<T>() + i * all.size();
      std::vector<int> pivots(static_cast<std::size_t>(n));
      int info = 0;
      Routines<T>::getrf(&n, &n, matrix, &lda, pivots.data(), &info);
      if (info > 0) fail<ValueError>("[", op, "] ", which(i, all.count), " is singular");
      T answer(0);
      int size = -1;
      Routines<T>::getri(&n, matrix, &lda, pivots.data(), &answer, &size, &info);
      size = workspace(answer, op);
      std::vector<T> work(static_cast<std::size_t>(size));
      Routines<T>::getri(&n, matrix, &lda, pivots.data(), work.data(), &size, &info);
    });
  });
}

void triangular(const Tensor& a, const Tensor& b, Triangle triangle, const char* op) {
  const Matrices all(b);
  const int n = to_int(all.rows, op);
  const int count = to_int(all.columns, op);
  const int lda = leading(n);
  const int ldb = leading(count);
  // Transposed, as it is read: y.mT @ a.mT == b.mT, with the other triangle.
  const char* const part = triangle.upper ? "L" : "U";
  const char* const form = triangle.adjoint ? "C" : "N";
  const char* const diagonal = triangle.unit_diagonal ? "U" : "N";
  visit<Decomposable>(b.dtype(), op, [&]<class T> {
    for_each_matrix(all.count, all.size() * n, [&](std::int64_t i) {
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
    for_each_matrix(all.count, 2 * all.work(), [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      T* const q = q_columns.data<T>() + i * q_count * m;
      T* const to = r.data<T>() + i * q_count * n;
      std::vector<T> tau(static_cast<std::size_t>(std::max(k, 1)));
      T answers[2] = {};
      int info = 0;
      int size = -1;
      Routines<T>::geqrf(&m, &n, a, &lda, tau.data(), &answers[0], &size, &info);
      Routines<T>::ungqr(&m, &q_count, &k, q, &lda, tau.data(), &answers[1], &size, &info);
      size = std::max(workspace(answers[0], op), workspace(answers[1], op));
      std::vector<T> work(static_cast<std::size_t>(size));
      Routines<T>::geqrf(&m, &n, a, &lda, tau.data(), work.data(), &size, &info);
      for (std::int64_t row = 0; row < q_count; ++row) {
        for (std::int64_t column = 0; column < n; ++column) {
          to[row * n + column] = row <= column ? a[column * m + row] : T(0);
        }
      }
      std::copy_n(a, static_cast<std::int64_t>(k) * m, q);
      Routines<T>::ungqr(&m, &q_count, &k, q, &lda, tau.data(), work.data(), &size, &info);
    });
  });
}

void eigh(const Tensor& columns, const Tensor& values, bool vectors, const char* op) {
  const Matrices all(columns);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  const char* const job = vectors ? "V" : "N";
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    using Real = typename Routines<T>::Real;
    for_each_matrix(all.count, 8 * all.work(), [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      Real* const w = values.data<Real>() + i * n;
      check_finite(a, all.size(), i, all.count, op);
      const auto call = [&](T* work, int work_size, Real* real, int real_size, int* integers, int integer_size) {
        int info = 0;
        if constexpr (std::is_floating_point_v<T>) {
          static_cast<void>(real);
          static_cast<void>(real_size);
          Routines<T>::heevd(job, "L", &n, a, &lda, w, work, &work_size, integers, &integer_size, &info, 1, 1);
        } else {
          Routines<T>::heevd(job, "L", &n, a, &lda, w, work, &work_size, real, &real_size, integers, &integer_size,
                             &info, 1, 1);
        }
        return info;
      };
      T answer(0);
      Real real_answer(0);
      int integers = 0;
      call(&answer, -1, &real_answer, -1, &integers, -1);
      std::vector<T> work(static_cast<std::size_t>(workspace(answer, op)));
      std::vector<Real> real_work(static_cast<std::size_t>(workspace(real_answer, op)));
      std::vector<int> integer_work(static_cast<std::size_t>(std::max(integers, 1)));
      const int info =
          call(work.data(), static_cast<int>(work.size()), real_work.data(), static_cast<int>(real_work.size()),
               integer_work.data(), static_cast<int>(integer_work.size()));
      if (info > 0) {
        fail<ValueError>("[", op, "] the eigenvalues of ", which(i, all.count), " did not converge (LAPACK says ", info,
                         ")");
      }
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
    for_each_matrix(all.count, 8 * all.work(), [&](std::int64_t i) {
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
      T answer(0);
      call(&answer, -1);
      std::vector<T> work(static_cast<std::size_t>(workspace(answer, op)));
      const int info = call(work.data(), static_cast<int>(work.size()));
      if (info > 0) {
        fail<ValueError>("[", op, "] the singular values of ", which(i, all.count), " did not converge (LAPACK says ",
                         info, ")");
      }
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

void cholesky(const Tensor&, const char* op) { refuse(op); }
void factor(const Tensor&, const Tensor&, Singular, const char* op) { refuse(op); }
void solve(const Factors&, const Tensor&, bool, const char* op) { refuse(op); }
void inverse(const Tensor&, const char* op) { refuse(op); }
void triangular(const Tensor&, const Tensor&, Triangle, const char* op) { refuse(op); }
void qr(const Tensor&, const Tensor&, const Tensor&, const char* op) { refuse(op); }
void eigh(const Tensor&, const Tensor&, bool, const char* op) { refuse(op); }
void svd(const Tensor&, const Singulars&, SingularVectors, const char* op) { refuse(op); }

#endif

}  // namespace lamella::linalg::lapack

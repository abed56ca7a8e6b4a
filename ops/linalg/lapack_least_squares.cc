#ifdef LAMELLA_WITH_LAPACK

#include "ops/linalg/lapack_least_squares.h"

#include "ops/linalg/lapack.h"
#include "ops/linalg/lapack_batches.h"
#include "ops/linalg/lapack_reflections.h"

namespace lamella::linalg::lapack {
namespace {

/// A least-squares problem. LAPACK takes sizes by address; the complex routines take additional real workspace.
template <class T>
class Problem {
 public:
  using Real = typename Routines<T>::Real;

  Problem(std::int64_t m, std::int64_t n, std::int64_t count, LeastSquaresDriver driver, const char* op)
      : m_(to_int(m, op)),
        n_(to_int(n, op)),
        count_(to_int(count, op)),
        lda_(leading(m_)),
        ldb_(leading(std::max(m_, n_))),
        driver_(driver),
        pivots_(static_cast<std::size_t>(n_)),
        values_(static_cast<std::size_t>(std::min(m_, n_))),
        // Sizes required by gelsy and gelss; gelsd reports its own.
        real_(static_cast<std::size_t>(std::max(2 * n_, 5 * std::min(m_, n_)))) {
    T size(0);
    Real real_size(0);
    int integers = 0;
    call(nullptr, nullptr, 0, &size, -1, &real_size, &integers);
    work_.resize(static_cast<std::size_t>(workspace(size, op)));
    if (driver != LeastSquaresDriver::Gelsd) return;
    integers_.resize(static_cast<std::size_t>(std::max(integers, 1)));
    real_.resize(std::max(real_.size(), static_cast<std::size_t>(workspace(real_size, op))));
  }

  /// Returns the routine's info for a and b, which it destroys.
  int solve(T* a, T* b, double rcond) {
    std::ranges::fill(pivots_, 0);
    return call(a, b, static_cast<Real>(rcond), work_.data(), static_cast<int>(work_.size()), real_.data(),
                integers_.data());
  }
  int rank() const { return rank_; }
  const std::vector<Real>& values() const { return values_; }

 private:
  int call(T* a, T* b, Real rcond, T* work, int size, [[maybe_unused]] Real* real, int* integers) {
    using Calls = LeastSquaresRoutines<T>;
    constexpr bool kReal = std::is_floating_point_v<T>;
    int info = 0;
    switch (driver_) {
      case LeastSquaresDriver::Gels:
        Calls::gels("N", &m_, &n_, &count_, a, &lda_, b, &ldb_, work, &size, &info, 1);
        break;
      case LeastSquaresDriver::Gelsy:
        if constexpr (kReal) {
          Calls::gelsy(&m_, &n_, &count_, a, &lda_, b, &ldb_, pivots_.data(), &rcond, &rank_, work, &size, &info);
        } else {
          Calls::gelsy(&m_, &n_, &count_, a, &lda_, b, &ldb_, pivots_.data(), &rcond, &rank_, work, &size, real, &info);
        }
        break;
      case LeastSquaresDriver::Gelsd:
        if constexpr (kReal) {
          Calls::gelsd(&m_, &n_, &count_, a, &lda_, b, &ldb_, values_.data(), &rcond, &rank_, work, &size, integers,
                       &info);
        } else {
          Calls::gelsd(&m_, &n_, &count_, a, &lda_, b, &ldb_, values_.data(), &rcond, &rank_, work, &size, real,
                       integers, &info);
        }
        break;
      case LeastSquaresDriver::Gelss:
        if constexpr (kReal) {
          Calls::gelss(&m_, &n_, &count_, a, &lda_, b, &ldb_, values_.data(), &rcond, &rank_, work, &size, &info);
        } else {
          Calls::gelss(&m_, &n_, &count_, a, &lda_, b, &ldb_, values_.data(), &rcond, &rank_, work, &size, real, &info);
        }
        break;
    }
    return info;
  }

  int m_;
  int n_;
  int count_;
  int lda_;
  int ldb_;
  LeastSquaresDriver driver_;
  int rank_ = 0;
  std::vector<int> pivots_;
  std::vector<Real> values_;
  std::vector<Real> real_;
  std::vector<T> work_;
  std::vector<int> integers_;
};

/// Does the work of gels for a matrix of m x n numbers, m >= n, if neither the matrix nor b needs scaling; returns
/// false if the rank is not full. b becomes the solution.
template <class T>
bool solve_tall(T* a, int m, int n, T* b, int count) {
  Reflections<T> factors(m, n, std::max(n, count));
  factors.factor(a, n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (a[i * m + i] == T(0)) return false;
  }
  factors.apply_adjoint(b, m, count);
  const T one(1);
  Routines<T>::trsm("L", "U", "N", "N", &n, &count, &one, a, &m, b, &m, 1, 1, 1, 1);
  return true;
}

/// True if squares of the numbers neither overflow nor vanish: LAPACK's bounds for scaling.
template <class Real>
bool is_moderate(Real largest) {
  constexpr Real kSmall = std::numeric_limits<Real>::min() / std::numeric_limits<Real>::epsilon();
  return largest > kSmall && largest < 1 / kSmall;
}

}  // namespace

void least_squares(const Tensor& columns, const Tensor& b_columns, const Tensor& rcond, LeastSquaresDriver driver,
                   const LeastSquares& to, const char* op) {
  const Matrices all(columns);
  const Matrices right(b_columns);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    using Real = typename Routines<T>::Real;
    for_each_matrix(op, all.count, 2 * all.work() + right.size() * all.rows, [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      check_finite(a, all.size(), i, all.count, op);
      // gels reports success for a matrix of zeros.
      bool lacks_rank = false;
      if (driver == LeastSquaresDriver::Gels) {
        const Real largest_of_a = largest(a, all.size());
        lacks_rank = largest_of_a == 0;
        T* const b = b_columns.data<T>() + i * right.size();
        const int m = to_int(all.columns, op);
        const int n = to_int(all.rows, op);
        if (m >= n && Reflections<T>::takes(m, n) && is_moderate(largest_of_a) &&
            is_moderate(largest(b, right.size()))) {
          if (solve_tall(a, m, n, b, to_int(right.rows, op))) return;
          lacks_rank = true;
        }
      }
      // Without a right side there are still a rank and singular values. Several versions of gelss and gelsd fail for
      // no columns, and write beyond them: they get one of zeros.
      std::vector<T> zeros(right.rows == 0 ? static_cast<std::size_t>(std::max(all.columns, all.rows)) : 0);
      T* const b = zeros.empty() ? b_columns.data<T>() + i * right.size() : zeros.data();
      Problem<T> problem(all.columns, all.rows, std::max<std::int64_t>(right.rows, 1), driver, op);
      const int info = problem.solve(a, b, rcond.data<double>()[i]);
      if ((info > 0 || lacks_rank) && driver == LeastSquaresDriver::Gels) {
        fail<ValueError>("[", op, "] ", which(i, all.count),
                         " does not have full rank, which driver='gels' requires: use driver='gelsy'");
      }
      if (info > 0) {
        fail<ValueError>("[", op, "] the singular values of ", which(i, all.count),
                         " did not converge (LAPACK's info is ", info, ")");
      }
      if (driver != LeastSquaresDriver::Gels) to.rank.data<std::int64_t>()[i] = problem.rank();
      if (to.singular_values.numel() > 0) {
        const std::vector<Real>& values = problem.values();
        std::ranges::copy(values, to.singular_values.data<Real>() + i * static_cast<std::int64_t>(values.size()));
      }
    });
  });
}

}  // namespace lamella::linalg::lapack

#endif

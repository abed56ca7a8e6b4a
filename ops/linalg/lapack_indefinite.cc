#ifdef LAMELLA_WITH_LAPACK

#include "ops/linalg/lapack.h"
#include "ops/linalg/lapack_batches.h"

namespace lamella::linalg::lapack {
namespace {

template <class T>
struct IndefiniteRoutines {
  using Factorize = void(Option, Size, T*, Size, int*, T*, Size, int*, Length);
  using Solve = void(Option, Size, Size, const T*, Size, Size, T*, Size, int*, Length);

  static constexpr RoutineOf<T, "sytrf", Factorize> sytrf{};
  static constexpr RoutineOf<T, "sytrs", Solve> sytrs{};
  static constexpr RoutineOfEither<T, "sytrf", "hetrf", Factorize> hetrf{};
  static constexpr RoutineOfEither<T, "sytrs", "hetrs", Solve> hetrs{};
};

/// True if LAPACK can apply the exchanges: those of 2 x 2 blocks come in pairs.
bool is_sound(const std::int32_t* pivots, int n) {
  for (int i = 0; i < n; ++i) {
    if (pivots[i] == 0 || pivots[i] > n || pivots[i] < -n) return false;
    if (pivots[i] > 0) continue;
    if (i + 1 == n || pivots[i + 1] != pivots[i]) return false;
    ++i;
  }
  return true;
}

}  // namespace

void ldl(const Tensor& columns, const Tensor& pivots, const Tensor& infos, bool hermitian, const char* op) {
  const Matrices all(columns);
  const int n = to_int(all.rows, op);
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.work(), [&](std::int64_t i) {
      const auto factorize = hermitian ? IndefiniteRoutines<T>::hetrf : IndefiniteRoutines<T>::sytrf;
      T* const a = columns.data<T>() + i * all.size();
      auto* const exchanges = pivots.data<std::int32_t>() + i * n;
      int info = 0;
      with_workspace<T>(op, [&](T* work, int size) { factorize("L", &n, a, &n, exchanges, work, &size, &info, 1); });
      if (infos.defined()) {
        infos.data<std::int32_t>()[i] = info;
      } else if (info > 0) {
        fail<ValueError>("[", op, "] ", which(i, all.count), " is singular");
      }
      for (std::int64_t j = 1; j < n; ++j) std::fill_n(a + j * n, j, T(0));
    });
  });
}

void ldl_solve(const Tensor& columns, const Tensor& pivots, const Tensor& b_columns, bool hermitian, const char* op) {
  const Matrices all(b_columns);
  const int n = to_int(all.columns, op);
  const int count = to_int(all.rows, op);
  for (std::int64_t i = 0; i < all.count; ++i) {
    if (!is_sound(pivots.data<std::int32_t>() + i * n, n)) {
      fail<ValueError>("[", op, "] the pivots of ", which(i, all.count),
                       " are not valid: pass those of linalg_ldl_factor()");
    }
  }
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    for_each_matrix(op, all.count, all.size() * n, [&](std::int64_t i) {
      const auto solve = hermitian ? IndefiniteRoutines<T>::hetrs : IndefiniteRoutines<T>::sytrs;
      int info = 0;
      solve("L", &n, &count, columns.data<T>() + i * n * n, &n, pivots.data<std::int32_t>() + i * n,
            b_columns.data<T>() + i * all.size(), &n, &info, 1);
    });
  });
}

}  // namespace lamella::linalg::lapack

#endif

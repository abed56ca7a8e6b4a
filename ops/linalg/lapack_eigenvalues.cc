#ifdef LAMELLA_WITH_LAPACK

#include "ops/linalg/lapack.h"
#include "ops/linalg/lapack_batches.h"
#include "ops/linalg/reflection_blocks.h"

namespace lamella::linalg::lapack {
namespace {

/// True if eigh_by_parts() supports a matrix: not a small one, nor one that needs scaling.
template <class T>
bool has_parts(int n, T largest_of_a) {
  const T bound = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
  return n >= 32 && largest_of_a > bound && largest_of_a < 1 / bound;
}

/// Performs the steps of syevd, with our own reflections: a becomes the eigenvectors. Returns LAPACK's info.
template <class T>
int eigh_by_parts(int n, T* a, T* w, const char* op) {
  using Calls = TridiagonalRoutines<T>;
  const auto size = static_cast<std::size_t>(n);
  std::vector<T> beside(size);
  std::vector<T> factors(size);
  const std::unique_ptr<T[]> vectors(new T[size * size]);
  T answer(0);
  int work_size = -1;
  int info = 0;
  Calls::sytrd("L", &n, a, &n, w, beside.data(), factors.data(), &answer, &work_size, &info, 1);
  // Also large enough for stedc.
  work_size = std::max(workspace(answer, op), to_int(1 + (4 + std::int64_t{n}) * n, op));
  const std::unique_ptr<T[]> work(new T[static_cast<std::size_t>(work_size)]);
  const int integer_size = to_int(3 + 5 * std::int64_t{n}, op);
  std::vector<int> integers(static_cast<std::size_t>(integer_size));
  Calls::sytrd("L", &n, a, &n, w, beside.data(), factors.data(), work.get(), &work_size, &info, 1);
  Calls::stedc("I", &n, w, beside.data(), vectors.get(), &n, work.get(), &work_size, integers.data(), &integer_size,
               &info, 1);
  if (info > 0) return info;
  // The reflections leave the first number of each vector unchanged.
  reflect_in_memory(dtype_of<T>, n - 1, n - 1, a + 1, n, factors.data(), vectors.get() + 1, n, n);
  std::copy_n(vectors.get(), size * size, a);
  return 0;
}

}  // namespace

void eigh(const Tensor& columns, const Tensor& values, bool vectors, const char* op) {
  const Matrices all(columns);
  const int n = to_int(all.rows, op);
  const int lda = leading(n);
  const char* const job = vectors ? "V" : "N";
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    using Real = typename Routines<T>::Real;
    for_each_matrix(op, all.count, 8 * all.work(), [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      Real* const w = values.data<Real>() + i * n;
      Real most = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        T* const lower = a + j * n + j;
        check_finite(lower, n - j, i, all.count, op);
        most = std::max(most, largest(lower, n - j));
      }
      const auto check = [&](int info) { check_converged(info, "eigenvalues", i, all.count, op); };
      if constexpr (std::is_floating_point_v<T>) {
        if (vectors && has_parts(n, most)) {
          check(eigh_by_parts(n, a, w, op));
          return;
        }
      }
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
      const int work_size = workspace(answer, op);
      const std::unique_ptr<T[]> work(new T[static_cast<std::size_t>(work_size)]);
      std::vector<Real> real_work(static_cast<std::size_t>(workspace(real_answer, op)));
      std::vector<int> integer_work(static_cast<std::size_t>(std::max(integers, 1)));
      const int info = call(work.get(), work_size, real_work.data(), static_cast<int>(real_work.size()),
                            integer_work.data(), static_cast<int>(integer_work.size()));
      check(info);
    });
  });
}

namespace {

/// Joins a real matrix's eigenvectors: for a pair of conjugate eigenvalues, LAPACK's two columns are the real and the
/// imaginary part of the first one's vector; the second one's is its conjugate.
template <class R>
void join_pairs(int n, const R* real, const R* imaginary, const R* columns, std::complex<R>* values,
                std::complex<R>* vectors) {
  for (int j = 0; j < n; ++j) values[j] = {real[j], imaginary[j]};
  for (int j = 0; vectors && j < n; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < n;
    const R* const first = columns + static_cast<std::int64_t>(j) * n;
    std::complex<R>* const to = vectors + static_cast<std::int64_t>(j) * n;
    for (int i = 0; i < n; ++i) {
      to[i] = {first[i], pair ? first[n + i] : R(0)};
      if (pair) to[n + i] = std::conj(to[i]);
    }
    j += pair;
  }
}

}  // namespace

void eig(const Tensor& columns, const Tensor& values, const Tensor& vector_columns, const char* op) {
  const Matrices all(columns);
  const int n = to_int(all.rows, op);
  const char* const job = vector_columns.defined() ? "V" : "N";
  visit<Decomposable>(columns.dtype(), op, [&]<class T> {
    using Real = typename Routines<T>::Real;
    constexpr bool kReal = std::is_floating_point_v<T>;
    for_each_matrix(op, all.count, 20 * all.work(), [&](std::int64_t i) {
      T* const a = columns.data<T>() + i * all.size();
      auto* const w = values.data<std::complex<Real>>() + i * n;
      auto* const v = vector_columns.defined() ? vector_columns.data<std::complex<Real>>() + i * all.size() : nullptr;
      check_finite(a, all.size(), i, all.count, op);
      std::vector<Real> real(static_cast<std::size_t>(2 * n));
      std::vector<T> own(kReal && v ? static_cast<std::size_t>(all.size()) : 1);
      const auto call = [&](T* work, int size) {
        int info = 0;
        T unused(0);
        const int one = 1;
        if constexpr (kReal) {
          Routines<T>::geev("N", job, &n, a, &n, real.data(), real.data() + n, &unused, &one, own.data(), v ? &n : &one,
                            work, &size, &info, 1, 1);
        } else {
          Routines<T>::geev("N", job, &n, a, &n, w, &unused, &one, v ? v : &unused, v ? &n : &one, work, &size,
                            real.data(), &info, 1, 1);
        }
        return info;
      };
      check_converged(with_workspace<T>(op, call), "eigenvalues", i, all.count, op);
      if constexpr (kReal) join_pairs(n, real.data(), real.data() + n, own.data(), w, v);
    });
  });
}

}  // namespace lamella::linalg::lapack

#endif

// Disables Eigen's evaluation of small products coefficient by coefficient: there it depends on the alignment of the
// result which operations are fused, so that bits would differ between threads.
#define EIGEN_GEMM_TO_COEFFBASED_THRESHOLD 1
#include <Eigen/Core>

#include "ops/cpu/tables/matmul.h"

namespace lamella::cpu {
namespace {

template <class T, int kOrder>
using Matrix =
    Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, kOrder>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T, int kOrderA, int kOrderB>
void multiply(const MatmulArgs& args) {
  const Matrix<T, kOrderA> a(static_cast<const T*>(args.a), args.m, args.k,
                             Eigen::OuterStride<>(kOrderA == Eigen::RowMajor ? args.a_row : args.a_column));
  const Matrix<T, kOrderB> b(static_cast<const T*>(args.b), args.k, args.n,
                             Eigen::OuterStride<>(kOrderB == Eigen::RowMajor ? args.b_row : args.b_column));
  Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned, Eigen::OuterStride<>>
      c(static_cast<T*>(args.c), args.m, args.n, Eigen::OuterStride<>(args.c_row));
  c.noalias() = a * b;
}

template <class T>
void multiply_any(const MatmulArgs& args) {
  const bool a_rows = args.a_column == 1;
  const bool b_rows = args.b_column == 1;
  if (a_rows && b_rows) {
    multiply<T, Eigen::RowMajor, Eigen::RowMajor>(args);
  } else if (a_rows) {
    multiply<T, Eigen::RowMajor, Eigen::ColMajor>(args);
  } else if (b_rows) {
    multiply<T, Eigen::ColMajor, Eigen::RowMajor>(args);
  } else {
    multiply<T, Eigen::ColMajor, Eigen::ColMajor>(args);
  }
}

}  // namespace

void fill_matmul_eigen(MatmulKernels& kernels) {
  kernels.large[static_cast<std::size_t>(DType::Float32)] = multiply_any<float>;
  kernels.large[static_cast<std::size_t>(DType::Float64)] = multiply_any<double>;
}

}  // namespace lamella::cpu

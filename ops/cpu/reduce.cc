#include <algorithm>
#include <limits>
#include <type_traits>

#include "ops/cpu/reduce_table.h"
#include "ops/simd/vec.h"

// Sums are pairwise: halves are added, down to blocks, so that the rounding error grows with the logarithm of the
// length. All other reductions go the same way. Where an array is cut depends on its length alone.

namespace lamella::cpu {
namespace {

using simd::Vec;

template <class T>
struct SumOp {
  using In = T;
  using Acc = cpp_type<reduce_result(Reduction::Sum, dtype_of<T>)>;
  static Acc identity() { return 0; }
  template <class X>
  static X combine(X a, X b) {
    return a + b;
  }
};

template <class T>
struct ProdOp {
  using In = T;
  using Acc = cpp_type<reduce_result(Reduction::Prod, dtype_of<T>)>;
  static Acc identity() { return 1; }
  template <class X>
  static X combine(X a, X b) {
    return a * b;
  }
};

template <class T>
struct MaxOp {
  using In = T;
  using Acc = T;
  static T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  static T combine(T a, T b) { return a != a || a > b ? a : b; }
  static Vec<T> combine(Vec<T> a, Vec<T> b) { return maximum(a, b); }
};

template <class T>
struct MinOp {
  using In = T;
  using Acc = T;
  static T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  static T combine(T a, T b) { return a != a || a < b ? a : b; }
  static Vec<T> combine(Vec<T> a, Vec<T> b) { return minimum(a, b); }
};

template <class T>
struct AnyOp {
  using In = T;
  using Acc = bool;
  static bool identity() { return false; }
  static bool combine(bool a, bool b) { return a | b; }
};

template <class T>
struct AllOp {
  using In = T;
  using Acc = bool;
  static bool identity() { return true; }
  static bool combine(bool a, bool b) { return a & b; }
};

template <class Op>
typename Op::Acc lift(typename Op::In x) {
  if constexpr (std::is_same_v<typename Op::Acc, bool>) {
    return x != typename Op::In{};
  } else {
    return static_cast<typename Op::Acc>(x);
  }
}

/// Registers hold elements and partial results alike.
template <class Op>
inline constexpr bool kInVectors =
    std::is_same_v<typename Op::In, typename Op::Acc> && !std::is_same_v<typename Op::Acc, bool>;

constexpr int kAccumulators = 4;

/// A short contiguous row.
template <class Op>
typename Op::Acc reduce_block(const typename Op::In* x, std::int64_t n) {
  using Acc = typename Op::Acc;
  Acc result = Op::identity();
  std::int64_t i = 0;
  if constexpr (kInVectors<Op>) {
    using V = Vec<Acc>;
    constexpr std::int64_t kStep = kAccumulators * V::size;
    if (n >= kStep) {
      V sums[kAccumulators];
      for (int k = 0; k < kAccumulators; ++k) sums[k] = V::load(x + k * V::size);
      for (i = kStep; i + kStep <= n; i += kStep) {
        for (int k = 0; k < kAccumulators; ++k) sums[k] = Op::combine(sums[k], V::load(x + i + k * V::size));
      }
      const V sum = Op::combine(Op::combine(sums[0], sums[1]), Op::combine(sums[2], sums[3]));
      Acc lanes[V::size];
      sum.store(lanes);
      for (int width = V::size / 2; width > 0; width /= 2) {
        for (int k = 0; k < width; ++k) lanes[k] = Op::combine(lanes[k], lanes[k + width]);
      }
      result = lanes[0];
    }
  }
  for (; i < n; ++i) result = Op::combine(result, lift<Op>(x[i]));
  return result;
}

template <class Op>
typename Op::Acc reduce_strided_block(const typename Op::In* x, std::int64_t step, std::int64_t n) {
  typename Op::Acc result = lift<Op>(x[0]);
  for (std::int64_t i = 1; i < n; ++i) result = Op::combine(result, lift<Op>(x[i * step]));
  return result;
}

template <class Op>
typename Op::Acc reduce_pairwise(const typename Op::In* x, std::int64_t step, std::int64_t n) {
  constexpr std::int64_t kBlock = 1024;
  constexpr std::int64_t kStridedBlock = 64;
  if (step == 1 && n <= kBlock) return reduce_block<Op>(x, n);
  if (step != 1 && n <= kStridedBlock) return reduce_strided_block<Op>(x, step, n);
  const std::int64_t block = step == 1 ? kBlock : kStridedBlock;
  const std::int64_t half = (n / 2 + block - 1) / block * block;
  return Op::combine(reduce_pairwise<Op>(x, step, half), reduce_pairwise<Op>(x + half * step, step, n - half));
}

template <class Op>
void reduce_row(const void* x, std::int64_t step, std::int64_t n, void* out) {
  *static_cast<typename Op::Acc*>(out) = reduce_pairwise<Op>(static_cast<const typename Op::In*>(x), step, n);
}

/// Vector columns [c, c + kWidth * size) of a few rows.
template <class Op, int kWidth>
void reduce_column_vectors(const typename Op::In* x, std::int64_t step, std::int64_t n, typename Op::Acc* out) {
  using V = Vec<typename Op::Acc>;
  V sums[kWidth];
  for (int k = 0; k < kWidth; ++k) sums[k] = V::load(x + k * V::size);
  for (std::int64_t r = 1; r < n; ++r) {
    for (int k = 0; k < kWidth; ++k) sums[k] = Op::combine(sums[k], V::load(x + r * step + k * V::size));
  }
  for (int k = 0; k < kWidth; ++k) sums[k].store(out + k * V::size);
}

template <class Op>
void reduce_few_rows(const typename Op::In* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                     typename Op::Acc* out) {
  std::int64_t c = 0;
  if constexpr (kInVectors<Op>) {
    constexpr std::int64_t kSize = Vec<typename Op::Acc>::size;
    for (; c + 4 * kSize <= columns; c += 4 * kSize) reduce_column_vectors<Op, 4>(x + c, step, n, out + c);
    for (; c + kSize <= columns; c += kSize) reduce_column_vectors<Op, 1>(x + c, step, n, out + c);
  }
  if (c == columns) return;
  for (std::int64_t k = c; k < columns; ++k) out[k] = lift<Op>(x[k]);
  for (std::int64_t r = 1; r < n; ++r) {
    const typename Op::In* row = x + r * step;
    for (std::int64_t k = c; k < columns; ++k) out[k] = Op::combine(out[k], lift<Op>(row[k]));
  }
}

constexpr std::int64_t kColumnBlock = 512;

template <class Op>
void reduce_columns_pairwise(const typename Op::In* x, std::int64_t step, std::int64_t n, std::int64_t columns,
                             typename Op::Acc* out) {
  constexpr std::int64_t kRows = 32;
  if (n <= kRows) {
    reduce_few_rows<Op>(x, step, n, columns, out);
    return;
  }
  const std::int64_t half = (n / 2 + kRows - 1) / kRows * kRows;
  typename Op::Acc rest[kColumnBlock];
  reduce_columns_pairwise<Op>(x, step, half, columns, out);
  reduce_columns_pairwise<Op>(x + half * step, step, n - half, columns, rest);
  for (std::int64_t k = 0; k < columns; ++k) out[k] = Op::combine(out[k], rest[k]);
}

template <class Op>
void reduce_columns(const void* x, std::int64_t step, std::int64_t n, std::int64_t columns, void* out) {
  const auto* in = static_cast<const typename Op::In*>(x);
  auto* to = static_cast<typename Op::Acc*>(out);
  for (std::int64_t c = 0; c < columns; c += kColumnBlock) {
    reduce_columns_pairwise<Op>(in + c, step, n, std::min(kColumnBlock, columns - c), to + c);
  }
}

template <template <class> class Op, class... T>
void fill(ReduceKernels& kernels, Reduction reduction) {
  const auto row = static_cast<std::size_t>(reduction);
  ((kernels.row[row][static_cast<std::size_t>(dtype_of<T>)] = reduce_row<Op<T>>,
    kernels.columns[row][static_cast<std::size_t>(dtype_of<T>)] = reduce_columns<Op<T>>),
   ...);
}

}  // namespace

void fill_reduce(ReduceKernels& kernels) {
  fill<SumOp, bool, std::int32_t, std::int64_t, float, double>(kernels, Reduction::Sum);
  fill<ProdOp, bool, std::int32_t, std::int64_t, float, double>(kernels, Reduction::Prod);
  fill<MaxOp, std::int32_t, std::int64_t, float, double>(kernels, Reduction::Max);
  fill<MinOp, std::int32_t, std::int64_t, float, double>(kernels, Reduction::Min);
  fill<AnyOp, bool, std::int32_t, std::int64_t, float, double>(kernels, Reduction::Any);
  fill<AllOp, bool, std::int32_t, std::int64_t, float, double>(kernels, Reduction::All);
  fill_reduce_positions(kernels);
}

}  // namespace lamella::cpu

#include "ops/cpu/reduce_loops.h"

namespace lamella::cpu {
namespace {

/// A 16-bit float, of which only the sign of zero does not count.
struct Bits16 {
  std::uint16_t bits;
};

template <class T>
bool is_true(T x) {
  if constexpr (std::is_same_v<T, Bits16>) {
    return (x.bits & 0x7fff) != 0;
  } else {
    return x != T{};
  }
}

template <class T>
struct AnyOp {
  using Acc = bool;
  static bool identity() { return false; }
  static bool lift(T x) { return is_true(x); }
  static bool combine(bool a, bool b) { return a | b; }
};

template <class T>
struct AllOp {
  using Acc = bool;
  static bool identity() { return true; }
  static bool lift(T x) { return is_true(x); }
  static bool combine(bool a, bool b) { return a & b; }
};

template <class T>
struct CountOp {
  using Acc = std::int64_t;
  static Acc identity() { return 0; }
  static Acc lift(T x) { return is_true(x); }
  static Acc combine(Acc a, Acc b) { return a + b; }
};

/// All dtypes of one size that are zero where their bits are, or that T holds.
template <class T, class... D>
void fill(ReduceKernels& kernels, D... dtypes) {
  ((set_reduction<AnyOp, T>(kernels, Reduction::Any, dtypes), set_reduction<AllOp, T>(kernels, Reduction::All, dtypes),
    set_reduction<CountOp, T>(kernels, Reduction::Count, dtypes)),
   ...);
}

}  // namespace

void fill_reduce_truth(ReduceKernels& kernels) {
  fill<std::uint8_t>(kernels, DType::Bool, DType::Int8, DType::UInt8);
  fill<std::uint16_t>(kernels, DType::Int16, DType::UInt16);
  fill<std::uint32_t>(kernels, DType::Int32, DType::UInt32);
  fill<std::uint64_t>(kernels, DType::Int64, DType::UInt64);
  fill<Bits16>(kernels, DType::Float16, DType::BFloat16);
  fill<float>(kernels, DType::Float32);
  fill<double>(kernels, DType::Float64);
  fill<std::complex<float>>(kernels, DType::Complex64);
  fill<std::complex<double>>(kernels, DType::Complex128);
  // The largest of bools is whether one is true.
  const auto share = [&](Reduction extreme, Reduction truth) {
    constexpr auto kBool = static_cast<std::size_t>(DType::Bool);
    const auto to = static_cast<std::size_t>(extreme);
    const auto from = static_cast<std::size_t>(truth);
    kernels.rows[to][kBool] = kernels.rows[from][kBool];
    kernels.columns[to][kBool] = kernels.columns[from][kBool];
  };
  share(Reduction::Max, Reduction::Any);
  share(Reduction::Min, Reduction::All);
}

}  // namespace lamella::cpu

#include "ops/cpu/complex_product.h"
#include "ops/reduce/cpu/loops.h"

namespace lamella::cpu {
namespace {

template <class T>
struct SumOp;

/// Sums real and imaginary parts side by side in a vector.
template <class T>
struct SumParts {};
template <class T>
struct SumParts<std::complex<T>> {
  using Parts = SumOp<T>;
};

template <class T>
struct SumOp : SumParts<T> {
  using Acc = cpp_type<reduce_result(Reduction::Sum, dtype_of<T>)>;
  static Acc identity() { return Acc{0}; }
  static Acc lift(T x) { return static_cast<Acc>(x); }
  template <class X>
  static X combine(X a, X b) {
    return a + b;
  }
};

/// Sums with NaN counted as 0.
template <class T>
struct NanSumOp : SumOp<T> {
  using typename SumOp<T>::Acc;
  static Acc lift(T x) {
    const auto value = static_cast<Acc>(x);
    return value == value ? value : Acc{0};
  }
  static Vec<Acc> lift(Vec<Acc> x) { return where(x == x, x, Vec<Acc>(0)); }
};

template <class T>
struct SquareSumOp : SumOp<T> {
  using typename SumOp<T>::Acc;
  static Acc lift(T x) {
    const auto value = static_cast<Acc>(x);
    return value * value;
  }
  static Vec<Acc> lift(Vec<Acc> x) { return x * x; }
};

/// Multiplies complex numbers split into vectors of their parts.
template <class T>
struct ProdParts {};
template <class T>
struct ProdParts<std::complex<T>> {
  static constexpr bool kSplits = true;
  static void combine_parts(Number<Vec<T>>& a, Number<Vec<T>> b) {
    // Not operator*, which fuses products and sums.
    a = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <class T>
struct ProdOp : ProdParts<T> {
  using Acc = cpp_type<reduce_result(Reduction::Prod, dtype_of<T>)>;
  static Acc identity() { return Acc{1}; }
  static Acc lift(T x) { return static_cast<Acc>(x); }
  template <class X>
  static X combine(X a, X b) {
    if constexpr (kIsComplex<X>) {
      return complex_product(a, b);
    } else {
      return a * b;
    }
  }
};

}  // namespace

void fill_reduce_sums(ReduceKernels& kernels) {
  const auto fill = [&]<class... T>() {
    set_reductions<SumOp, T...>(kernels, Reduction::Sum);
    set_reductions<ProdOp, T...>(kernels, Reduction::Prod);
  };
  fill.operator()<std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
  fill.operator()<std::uint8_t, std::uint16_t, std::uint32_t>();
  fill.operator()<Half, BFloat16, float, double, std::complex<float>, std::complex<double>>();
  // Integers wrap around, so that a sign makes no difference to results of 64 bits.
  const auto share = [&]<class T>(DType dtype) {
    set_reduction<SumOp, T>(kernels, Reduction::Sum, dtype);
    set_reduction<ProdOp, T>(kernels, Reduction::Prod, dtype);
  };
  share.operator()<std::int64_t>(DType::UInt64);
  share.operator()<std::uint8_t>(DType::Bool);
  set_reductions<NanSumOp, Half, BFloat16, float, double>(kernels, Reduction::NanSum);
  set_reductions<SquareSumOp, Half, BFloat16, float, double>(kernels, Reduction::SquareSum);
}

}  // namespace lamella::cpu

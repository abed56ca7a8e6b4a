#include <cstring>
#include <utility>

#include "ops/cpu/elementwise_table.h"
#include "ops/cpu/movement_table.h"
#include "ops/cpu/rows.h"
#include "ops/movement/convert.h"

// Conversions between the dtypes with kernels are loops of their own, and so are those of a narrow dtype and the one it
// is computed in. All others go, a block at a time, through one of
// four types that hold every value of their kind, so that 15 readers and 60 writers do for 225 pairs.

namespace lamella::cpu {
namespace {

// Not inlined: each is compiled once, for all pairs that use it.
template <class To, class From>
[[gnu::noinline]] void convert_row(char* to, std::int64_t to_step, const char* from, std::int64_t from_step,
                                   std::int64_t n) {
  if (to_step == sizeof(To) && from_step == sizeof(From)) {
    convert_dense(reinterpret_cast<To*>(to), reinterpret_cast<const From*>(from), n);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + i * from_step, sizeof value);
    const To converted = convert<To>(value);
    std::memcpy(to + i * to_step, &converted, sizeof converted);
  }
}

template <class To, class From>
void cast(const Copy2d& c) {
  for (std::int64_t i = 0; i < c.outer; ++i) {
    convert_row<To, From>(c.to + i * c.to_outer, c.to_inner, c.from + i * c.from_outer, c.from_inner, c.inner);
  }
}

template <std::size_t kTo, std::size_t kFrom>
void cast_in_two_steps(const Copy2d& c) {
  using To = cpp_type<static_cast<DType>(kTo)>;
  using From = cpp_type<static_cast<DType>(kFrom)>;
  using M = Middle<From>;
  constexpr std::int64_t kBlock = 256;
  alignas(M) char block[kBlock * sizeof(M)];
  for (std::int64_t i = 0; i < c.outer; ++i) {
    for (std::int64_t j = 0; j < c.inner; j += kBlock) {
      const std::int64_t n = c.inner - j < kBlock ? c.inner - j : kBlock;
      convert_row<M, From>(block, sizeof(M), c.from + i * c.from_outer + j * c.from_inner, c.from_inner, n);
      convert_row<To, M>(c.to + i * c.to_outer + j * c.to_inner, c.to_inner, block, sizeof(M), n);
    }
  }
}

template <std::size_t kTo, std::size_t kFrom>
void fill_cast(MovementKernels& kernels) {
  constexpr DType kToDType = static_cast<DType>(kTo);
  constexpr DType kFromDType = static_cast<DType>(kFrom);
  constexpr bool kDirect = (KernelDTypes.contains(kToDType) && KernelDTypes.contains(kFromDType)) ||
                           (computing_dtype(kToDType) == kFromDType || computing_dtype(kFromDType) == kToDType);
  if constexpr (kDirect) {
    kernels.cast[kTo][kFrom] = cast<cpp_type<static_cast<DType>(kTo)>, cpp_type<static_cast<DType>(kFrom)>>;
  } else {
    kernels.cast[kTo][kFrom] = cast_in_two_steps<kTo, kFrom>;
  }
}

}  // namespace

void fill_casts(MovementKernels& kernels) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (fill_cast<I / kDTypeCount, I % kDTypeCount>(kernels), ...);
  }(std::make_index_sequence<kDTypeCount * kDTypeCount>{});
}

}  // namespace lamella::cpu

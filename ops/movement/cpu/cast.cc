#include <cstring>
#include <utility>

#include "ops/cpu/rows.h"
#include "ops/cpu/stepped_rows.h"
#include "ops/cpu/tables/elementwise.h"
#include "ops/cpu/tables/movement.h"
#include "ops/simd/convert.h"

// Dtypes with kernels convert to each other in one loop, and so do small integers to the dtypes that they usually
// become. All other pairs are converted in blocks through a dtype with kernels: 16-bit floats only to and from float,
// for which there are instructions or a branch-free loop, and a narrow dtype through the one that computes for it.

namespace lamella::cpu {
namespace {

// Not inlined, so that each row conversion is compiled once for all pairs that use it.
template <class To, class From>
[[gnu::noinline]] void convert_row(char* to, std::int64_t to_step, const char* from, std::int64_t from_step,
                                   std::int64_t n) {
  if (to_step == sizeof(To) && from_step == sizeof(From)) {
    convert_dense(reinterpret_cast<To*>(to), reinterpret_cast<const From*>(from), n);
    return;
  }
  if constexpr (std::is_floating_point_v<From> || kIsComplex<From>) {
    // Packs elements of stride 2, as in the real parts of complex numbers or every second column.
    constexpr std::int64_t kBlock = 512;
    if (to_step == sizeof(To) && from_step == 2 * sizeof(From)) {
      From block[kBlock];
      for (std::int64_t i = 0; i < n; i += kBlock) {
        const std::int64_t count = n - i < kBlock ? n - i : kBlock;
        copy_every_second<From>(reinterpret_cast<char*>(block), from + i * from_step, count);
        convert_dense(reinterpret_cast<To*>(to) + i, block, count);
      }
      return;
    }
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
  using M = std::conditional_t<kIsHalf<To>, float, cpp_type<computing_dtype(static_cast<DType>(kFrom))>>;
  constexpr std::int64_t kBlock = 512;
  alignas(M) char block[kBlock * sizeof(M)];
  for (std::int64_t i = 0; i < c.outer; ++i) {
    for (std::int64_t j = 0; j < c.inner; j += kBlock) {
      const std::int64_t n = c.inner - j < kBlock ? c.inner - j : kBlock;
      convert_row<M, From>(block, sizeof(M), c.from + i * c.from_outer + j * c.from_inner, c.from_inner, n);
      convert_row<To, M>(c.to + i * c.to_outer + j * c.to_inner, c.to_inner, block, sizeof(M), n);
    }
  }
}

constexpr DTypeSet kSmall = DTypeSet{DType::Int8} | DType::UInt8 | DType::Int16 | DType::UInt16;
constexpr DTypeSet kMadeOfSmall = kSmall | DType::Bool | DType::Int32 | DType::Int64 | DType::Float32;

constexpr bool converts_at_once(DType to, DType from) {
  if (to == from || (to == DType::Bool && is_complex(from))) return true;
  if (to == DType::BFloat16 && (kSmall.contains(from) || from == DType::Int32)) return true;
  if (to == DType::Float16 || to == DType::BFloat16) return from == DType::Float32;
  if (kSmall.contains(from)) return kMadeOfSmall.contains(to);
  return KernelDTypes.contains(from) || to == computing_dtype(from);
}

template <std::size_t kTo, std::size_t kFrom>
void fill_cast(MovementKernels& kernels) {
  constexpr DType kToDType = static_cast<DType>(kTo);
  constexpr DType kFromDType = static_cast<DType>(kFrom);
  if constexpr (is_complex(kFromDType) && !is_complex(kToDType) && kToDType != DType::Bool) {
    // Converts the real part of a complex number.
    constexpr auto kPart = static_cast<std::size_t>(dtype_of<typename cpp_type<kFromDType>::value_type>);
    fill_cast<kTo, kPart>(kernels);
    kernels.cast[kTo][kFrom] = kernels.cast[kTo][kPart];
  } else if constexpr (converts_at_once(kToDType, kFromDType)) {
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

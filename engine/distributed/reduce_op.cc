#include "engine/distributed/reduce_op.h"

#include <complex>
#include <type_traits>

namespace lamella::distributed {
namespace {

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

/// The wide type in which integers are joined, so that their overflow wraps around.
template <class T>
struct Joined {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct Joined<T> {
  using type = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
};

template <ReduceOp kOp, class T>
T join(T a, T b) {
  using U = typename Joined<T>::type;
  if constexpr (kOp == ReduceOp::Sum) {
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else if constexpr (kOp == ReduceOp::Product) {
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else if constexpr (kOp == ReduceOp::Max) {
    return a > b || a != a ? a : b;
  } else {
    return a < b || a != a ? a : b;
  }
}

template <ReduceOp kOp, class T>
void join_all(void* out, const void* a, const void* b, std::size_t count) {
  auto* const y = static_cast<T*>(out);
  const auto* const x0 = static_cast<const T*>(a);
  const auto* const x1 = static_cast<const T*>(b);
  // The result may lie where an operand does, element on element, which a check for overlap would take for a reason to
  // join one by one.
// NOLINTNEXTLINE(clang-diagnostic-unknown-pragmas)
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = join<kOp, T>(x0[i], x1[i]);
}

template <ReduceOp kOp>
Reduction of_dtype(DType dtype) {
  constexpr bool kOrders = kOp == ReduceOp::Max || kOp == ReduceOp::Min;
  constexpr DTypeSet kWide = Integral | DTypeSet{DType::Float32, DType::Float64};
  constexpr DTypeSet kTaken = kWide | (kOrders ? Boolean : Complex);
  if (!kTaken.contains(dtype)) return nullptr;
  return visit<kTaken>(dtype, "reduction", []<class T>() -> Reduction {
    if constexpr (std::is_same_v<T, bool>) {
      return join_all<kOp, std::uint8_t>;
    } else {
      return join_all<kOp, T>;
    }
  });
}

}  // namespace

std::string_view name(ReduceOp op) {
  constexpr std::string_view kNames[] = {"sum", "max", "min", "product"};
  return kNames[static_cast<std::size_t>(op)];
}

Reduction reduction_for(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::Sum:
      return of_dtype<ReduceOp::Sum>(dtype);
    case ReduceOp::Max:
      return of_dtype<ReduceOp::Max>(dtype);
    case ReduceOp::Min:
      return of_dtype<ReduceOp::Min>(dtype);
    default:
      return of_dtype<ReduceOp::Product>(dtype);
  }
}

}  // namespace lamella::distributed

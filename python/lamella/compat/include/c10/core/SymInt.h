#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>

#include "c10/util/ArrayRef.h"

namespace c10 {

/// A size that PyTorch's compiler may leave open. Here it is always a number.
class SymInt {
 public:
  constexpr SymInt() = default;
  constexpr SymInt(std::integral auto value) : value_(static_cast<std::int64_t>(value)) {}
  constexpr explicit operator std::int64_t() const { return value_; }

  constexpr bool is_symbolic() const { return false; }
  constexpr bool is_heap_allocated() const { return false; }
  constexpr bool has_hint() const { return true; }
  constexpr std::int64_t expect_int() const { return value_; }
  constexpr std::int64_t as_int_unchecked() const { return value_; }
  constexpr std::int64_t guard_int(const char* /*file*/, std::int64_t /*line*/) const { return value_; }
  constexpr std::optional<std::int64_t> maybe_as_int() const { return value_; }

// Each operator is there for two SymInts, and for one and a number; that of a floating-point number gives one.
#define C10_SYM_INT_OPERATOR_(op)                                                                \
  friend constexpr SymInt operator op(SymInt a, SymInt b) { return a.value_ op b.value_; }       \
  friend constexpr SymInt operator op(SymInt a, std::integral auto b) { return a op SymInt(b); } \
  friend constexpr SymInt operator op(std::integral auto a, SymInt b) { return SymInt(a) op b; } \
  friend constexpr auto operator op(SymInt a, std::floating_point auto b) {                      \
    return static_cast<double>(a.value_) op b;                                                   \
  }                                                                                              \
  friend constexpr auto operator op(std::floating_point auto a, SymInt b) { return a op static_cast<double>(b.value_); }
  C10_SYM_INT_OPERATOR_(+)
  C10_SYM_INT_OPERATOR_(-)
  C10_SYM_INT_OPERATOR_(*)
  C10_SYM_INT_OPERATOR_(/)
#undef C10_SYM_INT_OPERATOR_
  friend constexpr SymInt operator%(SymInt a, SymInt b) { return a.value_ % b.value_; }
  friend constexpr auto operator<=>(SymInt a, SymInt b) = default;
  friend constexpr bool operator==(SymInt a, SymInt b) = default;
  constexpr SymInt operator-() const { return -value_; }
  constexpr SymInt& operator+=(SymInt other) { return *this = *this + other; }
  constexpr SymInt& operator-=(SymInt other) { return *this = *this - other; }
  constexpr SymInt& operator*=(SymInt other) { return *this = *this * other; }
  constexpr SymInt& operator/=(SymInt other) { return *this = *this / other; }
  constexpr SymInt min(SymInt other) const { return other < *this ? other : *this; }
  constexpr SymInt max(SymInt other) const { return *this < other ? other : *this; }
  friend std::ostream& operator<<(std::ostream& out, SymInt value) { return out << value.value_; }

 private:
  std::int64_t value_ = 0;
};

using SymIntArrayRef = ArrayRef<SymInt>;
using OptionalSymIntArrayRef = OptionalArrayRef<SymInt>;

// Sizes that may be left open are, as numbers, in the same memory.
static_assert(sizeof(SymInt) == sizeof(std::int64_t) && alignof(SymInt) == alignof(std::int64_t));
inline IntArrayRef asIntArrayRefUnchecked(SymIntArrayRef sizes) {
  return {reinterpret_cast<const std::int64_t*>(sizes.data()), sizes.size()};
}
inline IntArrayRef asIntArrayRefSlow(SymIntArrayRef sizes) { return asIntArrayRefUnchecked(sizes); }
inline std::optional<IntArrayRef> asIntArrayRefSlowOpt(SymIntArrayRef sizes) { return asIntArrayRefUnchecked(sizes); }
inline SymIntArrayRef fromIntArrayRefSlow(IntArrayRef sizes) {
  return {reinterpret_cast<const SymInt*>(sizes.data()), sizes.size()};
}
inline SymIntArrayRef fromIntArrayRefUnchecked(IntArrayRef sizes) { return fromIntArrayRefSlow(sizes); }
inline SymIntArrayRef fromIntArrayRefKnownNonNegative(IntArrayRef sizes) { return fromIntArrayRefSlow(sizes); }

}  // namespace c10

template <>
struct std::hash<c10::SymInt> {
  std::size_t operator()(c10::SymInt value) const noexcept { return std::hash<std::int64_t>()(value.expect_int()); }
};

#define C10_AS_INTARRAYREF_SLOW(sizes) ::c10::asIntArrayRefSlow(sizes)
#define C10_AS_INTARRAYREF_SLOW_ALLOC(sizes) ::c10::asIntArrayRefSlow(sizes)

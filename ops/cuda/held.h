#pragma once

#include <cstdint>

namespace lamella::cuda {

/// A thread's elements first, first + step, .. below `end` of a row, for passes over them one after the other: the
/// first kHeld stay in registers, so that memory is read once, and by kHeld loads at a time. `step` is below 2^31.
template <class T, int kHeld, class Load>
class HeldElements {
 public:
  __device__ HeldElements(std::int64_t first, std::int64_t end, std::int64_t step, const Load& load)
      : first_(first), end_(end), step_(step), load_(load) {
    const std::int64_t left = end - first;
    if (left >= kHeld * step) {
      held_ = kHeld;
    } else {
      const auto stride = static_cast<std::uint32_t>(step);
      held_ = left > 0 ? static_cast<int>((static_cast<std::uint32_t>(left) + stride - 1) / stride) : 0;
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) values_[k] = k < held_ ? load_(first_ + k * step_) : T{};
  }

  /// The number of those in registers.
  __device__ int held() const { return held_; }
  /// Calls f(element) for those in registers.
  template <class F>
  __device__ void for_each_held(F&& f) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k < held_) f(values_[k]);
    }
  }
  /// Calls f(others) for the rest, as many at a time as there are registers.
  template <class F>
  __device__ void for_each_group_of_others(F&& f) const {
    for (std::int64_t i = first_ + kHeld * step_; i < end_; i += kHeld * step_) f(HeldElements(i, end_, step_, load_));
  }

  /// Calls f(index, element) for each.
  template <class F>
  __device__ void for_each(F&& f) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k < held_) f(first_ + k * step_, values_[k]);
    }
#pragma unroll 4
    for (std::int64_t i = first_ + kHeld * step_; i < end_; i += step_) f(i, load_(i));
  }

 private:
  std::int64_t first_;
  std::int64_t end_;
  std::int64_t step_;
  const Load& load_;
  int held_;
  T values_[kHeld];
};

/// Blocks of kLaneThreads that a multiprocessor is to have at once, whose registers they share.
inline constexpr int kHeldBlocks = 3;
/// Number of elements that a thread holds: 64 bytes of them.
template <class T>
inline constexpr int kHeldElements = 64 / static_cast<int>(sizeof(T));

template <class T, int kHeld = kHeldElements<T>, class Load>
__device__ HeldElements<T, kHeld, Load> hold(std::int64_t first, std::int64_t end, std::int64_t step,
                                             const Load& load) {
  return {first, end, step, load};
}

}  // namespace lamella::cuda

#pragma once

#include <array>
#include <span>

#include "engine/core/tensor.h"

// Note [Batched tensors]
// vmap hides the axis that it maps over: a batched tensor shows the shape of one example, and a view of it carries its
// hidden axes along, so that operators that make views need not know of them. The few functions that touch memory ask
// is_batched(), and where the answer is yes look at *physical* tensors: hidden axes first, in the order of their
// levels, then the shown ones, with axes of size 1 between where another operand shows more. They run as ever on those,
// and hide the axes of the result again. As the tape records the call with the batched tensors, gradients are batched
// as well; those that arrive where nothing is hidden are summed once the call of vmap has ended (fit_dead_axes).

namespace lamella {

/// Whether vmap hides an axis of x.
inline bool is_batched(const Tensor& x) noexcept { return !x->contiguous && x->hidden != nullptr; }
/// The same of one of several.
inline bool is_batched(std::span<const Tensor* const> xs) noexcept {
  for (const Tensor* x : xs) {
    if (is_batched(*x)) return true;
  }
  return false;
}

/// The axes that some of the tensors hide, in the order of their levels.
HiddenAxes hidden_axes(std::span<const Tensor* const> xs);
/// Those of x that `other` does not hide.
HiddenAxes hidden_in_first_only(const Tensor& x, const Tensor& other);
/// What a function takes that calls for the hidden axes of a few tensors.
template <class... Tensors>
std::array<const Tensor*, sizeof...(Tensors)> pointers(const Tensors&... xs) {
  return {&xs...};
}

/// What physical() makes of an axis that the tensor does not hide.
enum class MissingAxis : std::uint8_t { SizeOne, Repeated };

/// x with `axes`, among which are all that it hides, in front: a view off the tape. It shows at least `ndim` more.
Tensor physical(const Tensor& x, const HiddenAxes& axes, std::size_t ndim = 0,
                MissingAxis missing = MissingAxis::SizeOne);
/// Hides the first axes of a new tensor that nobody else holds. Strides in `axes` do not matter.
Tensor hide_in_place(Tensor y, const HiddenAxes& axes);

/// The sizes of `axes`, then those in `shape`: what a new tensor has that is to hide the axes.
Dims with_axes(const HiddenAxes& axes, DimsView shape);
/// A new tensor that shows `shape`, and hides what the inputs hide.
Tensor empty_batched(std::span<const Tensor* const> inputs, DimsView shape, DType dtype, Device device);
inline Tensor empty_beside(std::span<const Tensor* const> inputs, DimsView shape, DType dtype, Device device) {
  return is_batched(inputs) ? empty_batched(inputs, shape, dtype, device) : empty(shape, dtype, device);
}
inline Tensor empty_beside(const Tensor& x, DimsView shape, DType dtype, Device device) {
  const Tensor* const inputs[] = {&x};
  return empty_beside(inputs, shape, dtype, device);
}

/// RuntimeError where `value` hides an axis that x does not: x has no room for a value for each example.
void check_room_for_batched(const Tensor& x, const Tensor& value, const char* op);
inline void check_room(const Tensor& x, const Tensor& value, const char* op) {
  if (is_batched(value)) [[unlikely]]
    check_room_for_batched(x, value, op);
}

/// Axes of calls of vmap that have ended, hidden in one of two tensors and not among `own` (null for none), become
/// rows: for a gradient of something that hides `own`, and that sums over the first axis of both, which then needs no
/// sum over the examples. Recorded.
void dead_axes_to_rows(Tensor& a, Tensor& b, const HiddenAxes* own);

}  // namespace lamella

#pragma once

#include <array>
#include <span>
#include <utility>

#include "engine/core/tensor.h"
#include "engine/core/tensors_in.h"

// Note [Batched tensors] vmap hides the axis that it maps over. A batched tensor shows the shape of one example, and a
// view of it carries the hidden axes along, so that operators that return views need not handle them. The few functions
// that access memory check is_batched() and then work on *physical* tensors: hidden axes first, in the order of their
// levels, then the shown axes, with axes of size 1 between them if another operand shows more. They compute on the
// physical tensors as usual and hide the axes of the result again. The tape records the call with the batched tensors,
// so gradients are batched as well. Gradients that reach a tensor without hidden axes are summed after the call of vmap
// has ended (fit_dead_axes).

namespace lamella {

/// True if vmap hides an axis of x.
inline bool is_batched(const Tensor& x) noexcept { return !x->contiguous && x->hidden != nullptr; }
/// True if vmap hides an axis of one of the tensors.
inline bool is_batched(std::span<const Tensor* const> xs) noexcept {
  for (const Tensor* x : xs) {
    if (is_batched(*x)) return true;
  }
  return false;
}

/// Returns the union of the tensors' hidden axes, in the order of their levels.
HiddenAxes hidden_axes(std::span<const Tensor* const> xs);
/// Returns the hidden axes of x that `other` does not hide.
HiddenAxes hidden_in_first_only(const Tensor& x, const Tensor& other);
/// Returns pointers to the tensors, as hidden_axes() takes them.
template <class... Tensors>
std::array<const Tensor*, sizeof...(Tensors)> pointers(const Tensors&... xs) {
  return {&xs...};
}

/// The size that physical() gives an axis that the tensor does not hide.
enum class MissingAxis : std::uint8_t { SizeOne, Repeated };

/// Returns a view of x, off the tape, with `axes` in front; they include all that x hides. Axes of size 1 are inserted
/// so that it shows at least `ndim` axes.
Tensor physical(const Tensor& x, const HiddenAxes& axes, std::size_t ndim = 0,
                MissingAxis missing = MissingAxis::SizeOne);
/// Hides the leading axes of a new tensor that has no other owner. The strides in `axes` are ignored.
Tensor hide_in_place(Tensor y, const HiddenAxes& axes);

/// Returns f(physical tensors, in which every hidden axis of one of xs is in front), with these axes hidden in the
/// tensors of its result, which f has just made. f gets axes that a tensor lacks repeated.
template <class F, class... Tensors>
auto over_examples(F&& f, const Tensors&... xs) {
  const HiddenAxes axes = hidden_axes(pointers(xs...));
  auto result = f(physical(xs, axes, 0, MissingAxis::Repeated)...);
  autograd::for_each_tensor(result, [&axes](Tensor& y) {
    if (y.defined()) y = hide_in_place(std::move(y), axes);
  });
  return result;
}

/// Returns the sizes of `axes` followed by `shape`: the physical shape of a tensor that hides `axes`.
Dims with_axes(const HiddenAxes& axes, DimsView shape);
/// Returns a new tensor that shows `shape` and hides the axes that the inputs hide.
Tensor empty_batched(std::span<const Tensor* const> inputs, DimsView shape, DType dtype, Device device);
inline Tensor empty_beside(std::span<const Tensor* const> inputs, DimsView shape, DType dtype, Device device) {
  return is_batched(inputs) ? empty_batched(inputs, shape, dtype, device) : empty(shape, dtype, device);
}
inline Tensor empty_beside(const Tensor& x, DimsView shape, DType dtype, Device device) {
  const Tensor* const inputs[] = {&x};
  return empty_beside(inputs, shape, dtype, device);
}

/// Throws RuntimeError if `value` hides an axis that x does not: x cannot hold a value per example.
void check_room_for_batched(const Tensor& x, const Tensor& value, const char* op);
inline void check_room(const Tensor& x, const Tensor& value, const char* op) {
  if (is_batched(value)) [[unlikely]]
    check_room_for_batched(x, value, op);
}

}  // namespace lamella

#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// A contiguous tensor viewed along one axis as [outer, n, inner].
struct Along {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;

  Along(DimsView shape, std::int64_t axis);
};

/// Returns `axis` counted from the front; a 0-d tensor counts as having one axis of size 1. Throws IndexError that
/// names `op`.
std::int64_t normalize_axis_or_scalar(const Tensor& x, std::int64_t axis, std::string_view op);

/// Returns normalize_axes() of x. For a 0-d tensor axes 0 and -1 are valid, and the result is empty.
Dims normalize_axes_or_scalar(const Tensor& x, const std::optional<Dims>& axes, std::string_view op);

/// Records, if gradients are being traced, that y is a result without a gradient, so that the gradients of `inputs` end
/// there.
void note_constant(std::string_view op, std::initializer_list<const Tensor*> inputs, const Tensor& y);

/// True if operations on x are recorded on the tape or x has a tangent.
bool is_followed(const Tensor& x);

}  // namespace lamella

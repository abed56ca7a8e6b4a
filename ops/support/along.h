#pragma once

#include <optional>

#include "engine/core/tensor.h"

namespace lamella {

/// A contiguous tensor seen along one axis: `outer` times `n` elements that lie `inner` apart.
struct Along {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;

  Along(DimsView shape, std::int64_t axis);
};

/// `axis` counted from the front; a 0-d tensor counts as one element along one axis. IndexError naming `op`.
std::int64_t normalize_axis_or_scalar(const Tensor& x, std::int64_t axis, std::string_view op);

/// normalize_axes() of x, where a 0-d tensor may be reduced along its one element, axis 0 or -1: that names no axis.
Dims normalize_axes_or_scalar(const Tensor& x, const std::optional<Dims>& axes, std::string_view op);

/// Notes that the gradient of what `inputs` were computed from ends at y, which has none, where somebody asked for such
/// notes.
void note_constant(std::string_view op, std::initializer_list<const Tensor*> inputs, const Tensor& y);

/// Whether operations on x are recorded or have tangents now.
bool is_followed(const Tensor& x);

}  // namespace lamella

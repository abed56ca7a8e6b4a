#pragma once

#include <optional>
#include <span>

#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "ops/support/outer_inner.h"

namespace lamella {

/// Returns `axis` counted from the front; a 0-d tensor counts as having one axis of size 1. Throws IndexError that
/// names `op`.
std::int64_t normalize_axis_or_scalar(const Tensor& x, std::int64_t axis, std::string_view op);

/// Returns normalize_axes() of x. For a 0-d tensor axes 0 and -1 are valid, and the result is empty.
Dims normalize_axes_or_scalar(const Tensor& x, const std::optional<Dims>& axes, std::string_view op);

/// Records, if gradients are being traced, that y is a result without a gradient, so that the gradients of `inputs` end
/// there.
void note_constant(std::string_view op, std::initializer_list<const Tensor*> inputs, const Tensor& y);

/// Notes what y, computed off the tape, derives from; and, if gradients are being traced, that theirs end there.
inline void note_unrecorded(std::string_view op, std::span<const Tensor* const> inputs, const Tensor& y) {
  autograd::note_derived(inputs, y);
  if (autograd::is_tracing()) [[unlikely]]
    autograd::note_departure(op, inputs, y);
}

/// True if operations on x are recorded on the tape or x has a tangent.
bool is_followed(const Tensor& x);

}  // namespace lamella

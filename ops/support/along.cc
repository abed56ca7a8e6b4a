#include "ops/support/along.h"

#include <algorithm>

#include "engine/autograd/layers/function.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/modes.h"
#include "ops/support/checks.h"

namespace lamella {

std::int64_t normalize_axis_or_scalar(const Tensor& x, std::int64_t axis, std::string_view op) {
  return normalize_axis(axis, std::max<std::size_t>(1, x.ndim()), op);
}

Dims normalize_axes_or_scalar(const Tensor& x, const std::optional<Dims>& axes, std::string_view op) {
  if (x.ndim() > 0) return normalize_axes(axes, x.ndim(), op);
  if (axes) normalize_axes(axes, 1, op);
  return {};
}

void note_constant(std::string_view op, std::initializer_list<const Tensor*> inputs, const Tensor& y) {
  if (!autograd::is_tracing()) [[likely]]
    return;
  autograd::note_departure(op, std::span(inputs.begin(), inputs.size()), y, autograd::Leaving::NotDifferentiable);
}

bool is_followed(const Tensor& x) {
  const Tensor* const inputs[] = {&x};
  return autograd::should_record(inputs) || autograd::any_dual(std::span(&x, 1));
}

}  // namespace lamella

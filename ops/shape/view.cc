#include "ops/shape/view.h"

namespace lamella {

std::optional<Dims> strides_for_shape(const Tensor& x, DimsView shape) {
  if (x.is_contiguous() || x.numel() <= 1) return contiguous_strides(shape);
  // Finds runs of x's axes that merge into one axis; each must be a product of new axes.
  const Dims& old_shape = x.shape();
  const Dims& old_strides = x.strides();
  Dims strides(shape.size());
  std::size_t next = shape.size();
  std::int64_t run = 1;
  std::int64_t step = 0;
  for (std::size_t i = old_shape.size(); i-- > 0;) {
    if (run == 1) step = old_strides[i];
    run *= old_shape[i];
    std::size_t outer = i;
    while (outer > 0 && old_shape[outer - 1] == 1) --outer;
    if (outer > 0 && (run == 1 || old_strides[outer - 1] == run * step)) continue;
    std::int64_t filled = 1;
    while (next > 0 && (filled < run || shape[next - 1] == 1)) {
      --next;
      strides[next] = filled * step;
      filled *= shape[next];
    }
    if (filled != run) return std::nullopt;
    run = 1;
  }
  return strides;
}

}  // namespace lamella

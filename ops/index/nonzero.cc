#include "ops/index/nonzero.h"

#include "engine/autograd/departure.h"
#include "engine/autograd/modes.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/cast.h"
#include "ops/support/hidden.h"

namespace lamella {

std::vector<Tensor> Nonzero::call(const Tensor& x) {
  if (x.ndim() == 0) fail<ValueError>("[nonzero] a 0-d tensor has no axes; use reshape(x, [1]) first");
  if (x.device().is_meta()) fail<RuntimeError>("[nonzero] the number of positions is not known on meta");
  if (is_batched(x)) {
    fail<RuntimeError>(
        "[nonzero] under vmap the number of positions differs from example to example, and has no shape: use where() "
        "in place of a bool index");
  }
  const autograd::NoGrad no_grad;
  const Tensor mask = contiguous(to_device(x.dtype() == DType::Bool ? x : not_equal(x, 0), kCPU));
  const bool* data = mask.data<bool>();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < mask.numel(); ++i) count += data[i];

  std::vector<Tensor> positions;
  std::vector<std::int64_t*> columns;
  for (std::size_t axis = 0; axis < x.ndim(); ++axis) {
    positions.push_back(empty({count}, DType::Int64));
    columns.push_back(positions.back().data<std::int64_t>());
  }
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    if (!data[i]) continue;
    std::int64_t rest = i;
    for (std::size_t axis = x.ndim(); axis-- > 0;) {
      columns[axis][at] = rest % x.shape()[axis];
      rest /= x.shape()[axis];
    }
    ++at;
  }
  const Tensor* const inputs[] = {&x};
  for (Tensor& p : positions) {
    p = to_device(p, x.device());
    if (autograd::is_tracing()) [[unlikely]]
      autograd::note_departure("nonzero", inputs, p);
  }
  return positions;
}

}  // namespace lamella

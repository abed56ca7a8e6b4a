#include "ops/movement/cast.h"

#include "engine/runtime/pinned.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/order.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// Returns a copy in `dtype`, contiguous or with its axes in the order of x's; the gradient is cast back.
struct CastLayer : LinearOperatorLayer<CastLayer> {
  static constexpr std::string_view name = "cast";

  static Tensor forward(Context& ctx, const Tensor& x, DType dtype, bool in_order) {
    if (ctx.recording()) ctx.input_metas.emplace_back(x);
    const Tensor* const operands[] = {&x};
    Tensor out = in_order ? empty_in_order(operands, x.shape(), dtype, x.device())
                          : empty_beside(x, x.shape(), dtype, x.device());
    write_values(out, x, "cast");
    return out;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return cast(dy, ctx.input_metas[0].dtype); }
};

struct CloneLayer : LinearOperatorLayer<CloneLayer> {
  static constexpr std::string_view name = "clone";

  static Tensor forward(Context&, const Tensor& x) {
    Tensor out = empty_beside(x, x.shape(), x.dtype(), x.device());
    write_values(out, x, "clone");
    return out;
  }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

struct ToDeviceLayer : LinearOperatorLayer<ToDeviceLayer> {
  static constexpr std::string_view name = "to_device";

  static Tensor forward(Context& ctx, const Tensor& x, Device device) {
    if (ctx.recording()) ctx.input_metas.emplace_back(x);
    // A copy that the host does not wait for needs page-locked memory.
    const bool returns = NonBlockingCopies::on() && x.device().is_cuda() && device.is_cpu() && !x->hidden;
    Tensor out = returns ? empty_pinned(x.shape(), x.dtype()) : empty_beside(x, x.shape(), x.dtype(), device);
    write_values(out, x, "to_device");
    return out;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return to_device(dy, ctx.input_metas[0].device); }
};

}  // namespace

Tensor Cast::call(const Tensor& x, DType dtype) {
  check_defined(x, "cast");
  return x.dtype() == dtype ? x : CastLayer::apply(x, dtype, false);
}

Tensor AsType::call(const Tensor& x, DType dtype, bool copy, std::optional<Device> device) {
  check_defined(x, "astype");
  if (device && x.device() != *device) [[unlikely]] {
    // Transfers in the narrower of the two dtypes.
    if (item_size(dtype) < item_size(x.dtype())) return to_device(cast(x, dtype), *device);
    return cast(to_device(x, *device), dtype);
  }
  return x.dtype() == dtype && !copy ? x : CastLayer::apply(x, dtype, true);
}

Tensor Clone::call(const Tensor& x) {
  check_defined(x, "clone");
  return CloneLayer::apply(x);
}

Tensor Contiguous::call(const Tensor& x) {
  check_defined(x, "contiguous");
  // Under vmap each example counts, as it does without: whether the result is x itself is the same.
  const bool is_itself = x.is_contiguous() || (is_batched(x) && is_contiguous(x.shape(), x.strides()));
  return is_itself ? x : CloneLayer::apply(x);
}

Tensor ToDevice::call(const Tensor& x, std::optional<Device> device, std::optional<std::int64_t> stream) {
  check_defined(x, "to_device");
  if (stream) fail<NotImplementedError>("[to_device] only the current stream is supported: leave out `stream`");
  return !device || x.device() == *device ? x : ToDeviceLayer::apply(x, *device);
}

Tensor as_floating(const Tensor& x, std::string_view op) {
  check_defined(x, op);
  check_dtype(x, Floating | Integral | Boolean, op);
  return is_floating(x.dtype()) ? x : cast(x, kDefaultFloat);
}

bool are_wide_integers(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || is_differentiable(a.dtype()) || is_differentiable(b.dtype())) return false;
  return is_wide_integer(a.dtype()) || is_wide_integer(b.dtype());
}
Tensor as_inexact(const Tensor& x, std::string_view op) {
  check_defined(x, op);
  return is_differentiable(x.dtype()) ? x : cast(x, kDefaultFloat);
}

Tensor in_dtype(const Operand& operand, DType dtype) {
  return operand.is_number() ? number_tensor(operand.number(), dtype) : astype(operand.tensor(), dtype, /*copy=*/false);
}

}  // namespace lamella

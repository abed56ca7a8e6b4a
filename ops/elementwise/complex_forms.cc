#include "ops/elementwise/complex_forms.h"

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/complex_view.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

/// Written part by part: multiplying by i would turn infinite parts into NaN.
struct MakeComplexLayer : LinearOperatorLayer<MakeComplexLayer> {
  static constexpr std::string_view name = "complex";

  static Tensor forward(Context& ctx, const Tensor& re, const Tensor& im) {
    static_cast<void>(ctx);
    return join(re, im);
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto& edges = ctx.node()->edges();
    return {autograd::is_needed(edges[0]) ? real(dy) : Tensor(), autograd::is_needed(edges[1]) ? imag(dy) : Tensor()};
  }

 private:
  static Tensor join(const Tensor& re, const Tensor& im) {
    if (is_batched(re) || is_batched(im)) [[unlikely]]
      return over_examples(join, re, im);
    if (re.device().is_cpu() && re.is_contiguous() && im.is_contiguous()) return interleaved(re, im);
    const Tensor y = empty(re.shape(), complex_dtype(re.dtype()), re.device());
    if (y.device().is_meta() || y.numel() == 0) return y;
    write_values(part_view(y, 0), re, "complex");
    write_values(part_view(y, 1), im, "complex");
    return y;
  }

  /// Writes both parts in one pass.
  static Tensor interleaved(const Tensor& re, const Tensor& im) {
    constexpr std::int64_t kGrain = 32768;  // elements that one thread takes at a time
    const Tensor y = empty(re.shape(), complex_dtype(re.dtype()), re.device());
    const auto bytes = static_cast<std::int64_t>(item_size(re.dtype()));
    const auto kernel = cpu_kernels().movement.interleave[bytes == 8];
    const HostRelease release(y.numel());
    parallel_for(0, y.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernel(re->data + begin * bytes, im->data + begin * bytes, y->data + 2 * begin * bytes, end - begin);
    });
    return y;
  }
};

}  // namespace

Tensor MakeComplex::call(const Tensor& re, const Tensor& im) {
  check_defined(re, info.name);
  check_defined(im, info.name);
  check_same_device(re, im, info.name);
  if (re.dtype() != im.dtype() || !info.dtypes.contains(re.dtype())) {
    fail<TypeError>("[complex] the parts must both be float32 or both float64, got ", re.dtype(), " and ", im.dtype());
  }
  const Dims shape = broadcast_shapes(re.shape(), im.shape(), info.name);
  return MakeComplexLayer::apply(broadcast_to(re, shape), broadcast_to(im, shape));
}

Tensor Polar::call(const Tensor& abs, const Tensor& angle) {
  check_defined(abs, info.name);
  check_defined(angle, info.name);
  if (abs.dtype() != angle.dtype() || !info.dtypes.contains(abs.dtype())) {
    fail<TypeError>("[polar] abs and angle must both be float32 or both float64, got ", abs.dtype(), " and ",
                    angle.dtype());
  }
  return make_complex(multiply(abs, cos(angle)), multiply(abs, sin(angle)));
}

Tensor ViewAsReal::call(const Tensor& x) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  return parts_of(x);
}

Tensor ViewAsComplex::call(const Tensor& x) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (x.ndim() == 0 || x.size(-1) != 2)
    fail<ValueError>("[view_as_complex] the last axis must be of size 2, got shape ", x.shape());
  if (const std::string reason = why_not_complex(x); !reason.empty())
    fail<ValueError>("[view_as_complex] ", reason,
                     ": the view needs pairs of numbers in memory; call it with clone(x)");
  return pairs_of(x);
}

}  // namespace lamella

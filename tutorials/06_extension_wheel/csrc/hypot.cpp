#include <lamella/library.h>

#include <cmath>
#include <vector>

#include "function.h"

namespace {

using lamella::Tensor;

// The kernel: contiguous float32 tensors of one shape.
Tensor hypot_cpu(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape())
    lamella::fail<lamella::ValueError>("[hypot] shapes ", x.shape(), " and ", y.shape(), " differ");
  const Tensor a = lamella::contiguous(x);
  const Tensor b = lamella::contiguous(y);
  Tensor z = lamella::empty_like(a);
  for (int64_t i = 0; i < z.numel(); ++i) {
    z.data<float>()[i] = std::hypot(a.data<float>()[i], b.data<float>()[i]);
  }
  return z;
}

// For tensors without data: the shape of the result.
Tensor hypot_meta(const Tensor& x, const Tensor&) { return lamella::empty_like(x); }

// The gradient. forward calls the operator again, below autograd, and so finds the kernel of the tensors' device.
struct Hypot : lamella::Function<Hypot> {
  static Tensor forward(lamella::Context& ctx, const Tensor& x, const Tensor& y) {
    static const auto op = lamella::Dispatcher::singleton()
                               .find_schema_or_throw("custom_ops::hypot")
                               .typed<Tensor(const Tensor&, const Tensor&)>();
    const lamella::AutoDispatchBelowAutograd below;
    const Tensor z = op.call(x, y);
    ctx.save_for_backward(x, y, z);
    return z;
  }
  static std::vector<Tensor> backward(lamella::Context& ctx, const Tensor& dz) {
    const auto [x, y, z] = ctx.saved_tensors<3>();
    return {dz * x / z, dz * y / z};
  }
};

}  // namespace

Tensor custom_ops::hypot(const Tensor& x, const Tensor& y) { return Hypot::apply(x, y); }

LAMELLA_LIBRARY_IMPL(custom_ops, CPU, m) { m.impl("hypot", &hypot_cpu); }
LAMELLA_LIBRARY_IMPL(custom_ops, Meta, m) { m.impl("hypot", &hypot_meta); }
LAMELLA_LIBRARY_IMPL(custom_ops, Autograd, m) { m.impl("hypot", &custom_ops::hypot); }

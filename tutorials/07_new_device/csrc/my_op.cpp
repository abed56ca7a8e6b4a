// An operator of our own, in the four steps of any operator: schema, kernels, gradient, and what Python sees.

#include <lamella/lamella.h>
#include <lamella/library.h>

#include <tuple>

#include "kernels.h"

using lamella::Tensor;

namespace {

Tensor my_op_npu(const Tensor& self, const Tensor& other) {
  Tensor result = lamella::empty_like(self);
  const float* x = self.data<float>();
  const float* y = other.data<float>();
  float* z = result.data<float>();
  sim::launch(current_stream(self), [=, n = self.numel()] {
    for (std::int64_t i = 0; i < n; ++i) sim::on_device(z)[i] = sim::on_device(x)[i] + sim::on_device(y)[i];
  });
  return result;
}

std::tuple<Tensor, Tensor> my_op_backward_npu(const Tensor& grad) {
  return {lamella::clone(grad), lamella::clone(grad)};
}

// Found by name: the kernel of the device that the tensors are on.
Tensor my_op(const Tensor& self, const Tensor& other) {
  static const auto op =
      lamella::Dispatcher::singleton().find_schema_or_throw("sim_npu::my_op").typed<decltype(my_op)>();
  return op.call(self, other);
}
std::tuple<Tensor, Tensor> my_op_backward(const Tensor& grad) {
  static const auto op = lamella::Dispatcher::singleton()
                             .find_schema_or_throw("sim_npu::my_op_backward")
                             .typed<decltype(my_op_backward)>();
  return op.call(grad);
}

struct MyOp : lamella::Function<MyOp> {
  static Tensor forward(lamella::Context&, const Tensor& self, const Tensor& other) {
    const lamella::AutoDispatchBelowAutograd below;
    return my_op(self, other);
  }
  static std::tuple<Tensor, Tensor> backward(lamella::Context&, const Tensor& grad) { return my_op_backward(grad); }
};

}  // namespace

LAMELLA_LIBRARY(sim_npu, m) {
  m.def("my_op(Tensor self, Tensor other) -> Tensor");
  m.def("my_op_backward(Tensor self) -> (Tensor, Tensor)");
}
LAMELLA_LIBRARY_IMPL(sim_npu, PrivateUse1, m) {
  m.impl("my_op", &my_op_npu);
  m.impl("my_op_backward", &my_op_backward_npu);
}
LAMELLA_LIBRARY_IMPL(sim_npu, AutogradPrivateUse1, m) {
  m.impl("my_op", [](const Tensor& self, const Tensor& other) { return MyOp::apply(self, other); });
}

// One layer, z = tanh(x) * w, as a Function<T> and as registered operators in both dialects; test_four_ways.py has the
// ways without C++.
#include <lamella/lamella.h>
#include <lamella/library.h>
#include <lamella/python.h>

#include <cmath>

#include "oneflow/core/framework/framework.h"

namespace {

using lamella::Context;
using lamella::Tensor;

struct TanhTimes : lamella::Function<TanhTimes> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& w) {
    ctx.save_for_backward(x, w);
    return lamella::tanh(x) * w;
  }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dz) {
    const auto [x, w] = ctx.saved_tensors<2>();
    const Tensor t = lamella::tanh(x);
    return {dz * w * (1 - t * t), dz * t};
  }
};

// The registered operator: a kernel on raw memory, and a layer for its gradient.
template <class T>
void tanh_times(const Tensor& x, const Tensor& w, const Tensor& z) {
  for (int64_t i = 0; i < z.numel(); ++i) z.data<T>()[i] = std::tanh(x.data<T>()[i]) * w.data<T>()[i];
}

Tensor tanh_times_cpu(const Tensor& x, const Tensor& w) {
  const Tensor a = lamella::contiguous(x);
  const Tensor b = lamella::contiguous(w);
  const Tensor z = lamella::empty_like(a);
  if (x.dtype() == lamella::DType::Float64) {
    tanh_times<double>(a, b, z);
  } else {
    tanh_times<float>(a, b, z);
  }
  return z;
}

struct Registered : lamella::Function<Registered> {
  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& w) {
    static const auto op = lamella::Dispatcher::singleton()
                               .find_schema_or_throw("four_ways::tanh_times")
                               .typed<Tensor(const Tensor&, const Tensor&)>();
    ctx.save_for_backward(x, w);
    const lamella::AutoDispatchBelowAutograd below;
    return op.call(x, w);
  }
  static std::vector<Tensor> backward(Context& ctx, const Tensor& dz) {
    const auto [x, w] = ctx.saved_tensors<2>();
    const Tensor t = lamella::tanh(x);
    return {dz * w * (1 - t * t), dz * t};
  }
};

}  // namespace

LAMELLA_LIBRARY(four_ways, m) { m.def("tanh_times(Tensor x, Tensor w) -> Tensor"); }
LAMELLA_LIBRARY_IMPL(four_ways, CPU, m) { m.impl("tanh_times", &tanh_times_cpu); }
LAMELLA_LIBRARY_IMPL(four_ways, Meta, m) {
  m.impl("tanh_times", [](const Tensor& x, const Tensor&) { return lamella::empty_like(x); });
}
LAMELLA_LIBRARY_IMPL(four_ways, Autograd, m) {
  m.impl("tanh_times", [](const Tensor& x, const Tensor& w) { return Registered::apply(x, w); });
}

// The same in OneFlow's dialect, whose gradient is a graph of operators.
namespace oneflow {
namespace {

template <class T>
class TanhTimesKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const T* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
    const T* w = ctx->Tensor4ArgNameAndIndex("w", 0)->dptr<T>();
    user_op::Tensor* z = ctx->Tensor4ArgNameAndIndex("z", 0);
    for (int64_t i = 0; i < z->shape().elem_cnt(); ++i) z->mut_dptr<T>()[i] = std::tanh(x[i]) * w[i];
  }
};

template <class T>
class TanhTimesGradKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const T* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
    const T* w = ctx->Tensor4ArgNameAndIndex("w", 0)->dptr<T>();
    const T* dz = ctx->Tensor4ArgNameAndIndex("dz", 0)->dptr<T>();
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    T* dw = ctx->Tensor4ArgNameAndIndex("dw", 0)->mut_dptr<T>();
    for (int64_t i = 0; i < dx->shape().elem_cnt(); ++i) {
      const T t = std::tanh(x[i]);
      dx->mut_dptr<T>()[i] = dz[i] * w[i] * (1 - t * t);
      dw[i] = dz[i] * t;
    }
  }
};

REGISTER_USER_OP("four_ways")
    .Input("x")
    .Input("w")
    .Output("z")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("four_ways_grad")
    .Input("x")
    .Input("w")
    .Input("dz")
    .Output("dx")
    .Output("dw")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      for (const char* name : {"dx", "dw"}) {
        *ctx->TensorDesc4ArgNameAndIndex(name, 0) = *ctx->TensorDesc4ArgNameAndIndex("x", 0);
      }
      return Maybe<void>::Ok();
    });

#define REGISTER(T)                                                            \
  REGISTER_USER_KERNEL("four_ways")                                            \
      .SetCreateFn<TanhTimesKernel<T>>()                                       \
      .SetIsMatchedHob(user_op::HobDataType("x", 0) == GetDataType<T>::value); \
  REGISTER_USER_KERNEL("four_ways_grad")                                       \
      .SetCreateFn<TanhTimesGradKernel<T>>()                                   \
      .SetIsMatchedHob(user_op::HobDataType("x", 0) == GetDataType<T>::value);
REGISTER(float)
REGISTER(double)

REGISTER_USER_OP_GRAD("four_ways").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const std::string name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("four_ways_grad")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("w", ctx->FwOp().input("w", 0))
        .InputBind("dz", ctx->FwOp().output_grad("z", 0))
        .Output("dx")
        .Output("dw")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(name).output("dx", 0); });
  ctx->FwOp().InputGradBind(user_op::OpArg("w", 0), [&] { return ctx->GetOp(name).output("dw", 0); });
});

}  // namespace
}  // namespace oneflow

PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) {
  lamella::python::init();
  lamella::python::bind_function<TanhTimes>(m, "tanh_times");
}

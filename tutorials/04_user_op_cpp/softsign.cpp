// y = x / (1 + |x|), and its gradient dx = dy / (1 + |x|)^2.
#include <cmath>

#include <lamella/user_op.h>

using namespace lamella::user_op;

namespace {

Maybe<void> LikeX(InferContext* ctx) {
  for (const auto& [name, index] : ctx->outputs()) {
    *ctx->Shape4ArgNameAndIndex(name, index) = *ctx->Shape4ArgNameAndIndex("x", 0);
    *ctx->Dtype4ArgNameAndIndex(name, index) = *ctx->Dtype4ArgNameAndIndex("x", 0);
  }
  return Maybe<void>::Ok();
}

// 1. What the operators take and give.
REGISTER_USER_OP("softsign").Input("x").Output("y").SetTensorDescInferFn(LikeX);
REGISTER_USER_OP("softsign_grad").Input("x").Input("dy").Output("dx").SetTensorDescInferFn(LikeX);

// 2. Kernels: one class for each formula, registered for each data type.
template <typename T>
class SoftsignKernel final : public OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    T* out = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) out[i] = in[i] / (1 + std::abs(in[i]));
  }
};

template <typename T>
class SoftsignGradKernel final : public OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    const T* dy = ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<T>();
    T* dx = ctx->Tensor4ArgNameAndIndex("dx", 0)->mut_dptr<T>();
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) {
      const T d = 1 + std::abs(in[i]);
      dx[i] = dy[i] / (d * d);
    }
  }
};

#define REGISTER_SOFTSIGN(T)                                                                                    \
  REGISTER_USER_KERNEL("softsign")                                                                              \
      .SetCreateFn<SoftsignKernel<T>>()                                                                         \
      .SetIsMatchedHob((HobDeviceType() == DeviceType::kCPU) & (HobDataType("x", 0) == GetDataType<T>::value)); \
  REGISTER_USER_KERNEL("softsign_grad")                                                                         \
      .SetCreateFn<SoftsignGradKernel<T>>()                                                                     \
      .SetIsMatchedHob((HobDeviceType() == DeviceType::kCPU) & (HobDataType("x", 0) == GetDataType<T>::value));
REGISTER_SOFTSIGN(float)
REGISTER_SOFTSIGN(double)

// 3. The gradient: which operator computes it, from what.
REGISTER_USER_OP_GRAD("softsign").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&](BackwardOpBuilder& builder) {
    return builder.OpTypeName("softsign_grad")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&] { return ctx->GetOp(name).output("dx", 0); });
});

}  // namespace

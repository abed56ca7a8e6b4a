// y = max(x, 0): two dtypes, and a gradient that has one itself.
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> Same(user_op::InferContext* ctx, const std::string& from, const std::string& to) {
  *ctx->Shape4ArgNameAndIndex(to, 0) = *ctx->Shape4ArgNameAndIndex(from, 0);
  *ctx->Dtype4ArgNameAndIndex(to, 0) = *ctx->Dtype4ArgNameAndIndex(from, 0);
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("t_relu").Input("in").Output("out").SetTensorDescInferFn(
    [](user_op::InferContext* ctx) -> Maybe<void> { return Same(ctx, "in", "out"); });

REGISTER_USER_OP("t_relu_grad")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("y", 0)->set_requires_grad(false);  // the slope is the same next to y
    })
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      JUST(Same(ctx, "dy", "dx"));
      CHECK_EQ_OR_RETURN(ctx->InputShape("y", 0), ctx->InputShape("dy", 0)) << "y and dy have different shapes";
      return Maybe<void>::Ok();
    });

template <typename T>
class ReluKernel final : public user_op::OpKernel {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    for (int64_t i = 0; i != in->shape().elem_cnt(); ++i) {
      out->mut_dptr<T>()[i] = std::max(in->dptr<T>()[i], T(0));
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

// The form without const.
template <typename T>
class ReluGradKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelContext* ctx) override {
    const auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const auto* dy = ctx->Tensor4ArgNameAndIndex("dy", 0);
    T* dx = ctx->Tensor4ArgNameAndIndex("dx", 0)->mut_dptr<T>();
    for (int64_t i = 0; i != y->shape().elem_cnt(); ++i) dx[i] = y->dptr<T>()[i] > 0 ? dy->dptr<T>()[i] : T(0);
  }
};

#define REGISTER_RELU(T)                                                                                           \
  REGISTER_USER_KERNEL("t_relu").SetCreateFn<ReluKernel<T>>().SetIsMatchedHob(                                     \
      (user_op::HobDeviceType() == DeviceType::kCPU) & (user_op::HobDataType("out", 0) == GetDataType<T>::value)); \
  REGISTER_USER_KERNEL("t_relu_grad")                                                                              \
      .SetCreateFn<ReluGradKernel<T>>()                                                                            \
      .SetIsMatchedHob((user_op::HobDeviceTag() == "cpu") &                                                        \
                       !(user_op::HobDataType("dx", 0) != GetDataType<T>::value));
REGISTER_RELU(float)
REGISTER_RELU(double)

// The function that is bound returns a value.
REGISTER_USER_OP_GRAD("t_relu").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_relu_grad")
        .InputBind("y", ctx->FwOp().output("out", 0))
        .InputBind("dy", ctx->FwOp().output_grad("out", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("in", 0), [&ctx, &name]() { return ctx->GetOp(name).output("dx", 0); });
});

// It returns a reference; and the operator is its own gradient, in dy.
REGISTER_USER_OP_GRAD("t_relu_grad").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_relu_grad")
        .InputBind("y", ctx->FwOp().input("y", 0))
        .InputBind("dy", ctx->FwOp().output_grad("dx", 0))
        .Output("dx")
        .Build();
  });
  const auto& get = [&ctx, &name]() -> const std::string& { return ctx->GetOp(name).output("dx", 0); };
  ctx->FwOp().InputGradBind(user_op::OpArg("dy", 0), get);
});

}  // namespace
}  // namespace oneflow

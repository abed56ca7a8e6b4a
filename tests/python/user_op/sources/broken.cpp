// One mistake in each operator.
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using user_op::InferContext;

Maybe<void> Like(InferContext* ctx) {
  *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();  // the data type is that of x
}

class Copy final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    std::copy_n(x->dptr<float>(), x->shape().elem_cnt(), ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>());
  }
};

REGISTER_USER_OP("b_no_infer").Input("x").Output("y");

REGISTER_USER_OP("b_no_shape").Input("x").Output("y").SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
  *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();
});

REGISTER_USER_OP("b_infer_typo").Input("x").Output("y").SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
  *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();
});

REGISTER_USER_OP("b_infer_error").Input("x").Output("y").SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
  CHECK_EQ_OR_RETURN(ctx->InputShape("x", 0).NumAxes(), 7) << "seven axes are wanted";
  return Maybe<void>::Ok();
});

REGISTER_USER_OP("b_no_kernel").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_no_kernal").SetCreateFn<Copy>();

REGISTER_USER_OP("b_other_dtype").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_other_dtype")
    .SetCreateFn<Copy>()
    .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kGPU) |
                     !(user_op::HobDataType("y", 0) == DataType::kFloat));

REGISTER_USER_OP("b_two_kernels").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_two_kernels").SetCreateFn<Copy>().SetIsMatchedHob(user_op::HobDeviceTag() == "cpu");
REGISTER_USER_KERNEL("b_two_kernels").SetCreateFn<Copy>().SetIsMatchedHob(user_op::HobTrue());

class Throws final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    if (ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<float>()[0] > 0) throw std::runtime_error("the kernel's own words");
    CHECK_GE(ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<float>()[0], 0) << "negative";
    throw 5;
  }
};
REGISTER_USER_OP("b_throws").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_throws").SetCreateFn<Throws>();

class Idle final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext*) const override {}
};
REGISTER_USER_OP("b_unwritten").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_unwritten").SetCreateFn<Idle>();

class NoCompute final : public user_op::OpKernel {};
REGISTER_USER_OP("b_no_compute").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_no_compute").SetCreateFn<NoCompute>();

class WritesInput final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    ctx->Tensor4ArgNameAndIndex("x", 0)->mut_dptr<float>()[0] = 1;
  }
};
REGISTER_USER_OP("b_writes_input").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_writes_input").SetCreateFn<WritesInput>();

class WrongType final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<double>()[0] = 1;
  }
};
REGISTER_USER_OP("b_wrong_type").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_wrong_type").SetCreateFn<WrongType>();

// Gradients.
REGISTER_USER_OP("b_no_gradient").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("b_no_gradient").SetCreateFn<Copy>();

#define GRADIENT(op, bound, of, type)                                                                     \
  REGISTER_USER_OP(op).Input("x").Output("y").SetTensorDescInferFn(Like);                                 \
  REGISTER_USER_KERNEL(op).SetCreateFn<Copy>();                                                           \
  REGISTER_USER_OP_GRAD(op).SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {              \
    ctx->DefineOp("g", [&ctx](user_op::BackwardOpBuilder& builder) {                                      \
      return builder.OpTypeName(type).InputBind("x", ctx->FwOp().output_grad(of, 0)).Output("y").Build(); \
    });                                                                                                   \
    ctx->FwOp().InputGradBind(user_op::OpArg(bound, 0), [&] { return ctx->GetOp("g").output("y", 0); });  \
  });
GRADIENT("b_unknown_input", "in", "y", "b_no_gradient")
GRADIENT("b_unknown_output", "x", "out", "b_no_gradient")
GRADIENT("b_unknown_op", "x", "y", "b_nowhere")
GRADIENT("b_once", "x", "y", "b_no_gradient")

// Numbers of results that the gradient's operator does not have: one of this dialect with two, and one of the registry
// with a list.
REGISTER_USER_OP("b_two").Input("x").Output("y", 2).SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
  for (const auto& [name, i] : ctx->outputs()) *ctx->OutputShape(name, i) = ctx->InputShape("x", 0);
  return Maybe<void>::Ok();
});
class CopyTwice final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    for (const auto& [name, i] : ctx->outputs()) {
      std::copy_n(x->dptr<float>(), x->shape().elem_cnt(), ctx->Tensor4ArgNameAndIndex(name, i)->mut_dptr<float>());
    }
  }
};
REGISTER_USER_KERNEL("b_two").SetCreateFn<CopyTwice>();
#define COUNTED_GRADIENT(op, type, input, count, used)                                                              \
  REGISTER_USER_OP(op).Input("x").Output("y").SetTensorDescInferFn(Like);                                           \
  REGISTER_USER_KERNEL(op).SetCreateFn<Copy>();                                                                     \
  REGISTER_USER_OP_GRAD(op).SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {                        \
    ctx->DefineOp("g", [&ctx](user_op::BackwardOpBuilder& builder) {                                                \
      return builder.OpTypeName(type).InputBind(input, ctx->FwOp().output_grad("y", 0)).Output("y", count).Build(); \
    });                                                                                                             \
    ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp("g").output("y", used); });           \
  });
COUNTED_GRADIENT("b_fewer", "b_two", "x", 1, 0)
COUNTED_GRADIENT("b_right", "b_two", "x", 2, 1)
COUNTED_GRADIENT("b_more", "b_two", "x", 3, 1)
COUNTED_GRADIENT("b_list_fewer", "b_list::parts", "x", 1, 0)
COUNTED_GRADIENT("b_list_right", "b_list::parts", "x", 2, 1)
COUNTED_GRADIENT("b_list_more", "b_list::parts", "x", 3, 1)

REGISTER_USER_OP("b_sbp_axis")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(Like)
    .SetGetSbpFn([](user_op::SbpContext* ctx) {
      ctx->NewBuilder().Split(user_op::OpArg("x", 0), 5).Broadcast(user_op::OpArg("y", 0)).Build();
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP("b_sbp_missing")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(Like)
    .SetGetSbpFn([](user_op::SbpContext* ctx) {
      ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Build();
      return Maybe<void>::Ok();
    });

}  // namespace
}  // namespace oneflow

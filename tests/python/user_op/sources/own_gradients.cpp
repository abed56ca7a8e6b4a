// Operators whose gradients are made of OneFlow's own: o_sqw is x * x * w, o_tanh computes a hyperbolic tangent.

#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> like_x(user_op::InferContext* ctx) {
  *ctx->TensorDesc4ArgNameAndIndex("y", 0) = *ctx->TensorDesc4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("o_sqw")
    .Input("x")
    .Input("w")
    .Output("y")
    .Attr<bool>("fails", false)
    .Attr<bool>("forgets", false)
    .SetTensorDescInferFn(like_x);
REGISTER_USER_OP("o_tanh").Input("x").Output("y").Attr<float>("scale", 1.0f).SetTensorDescInferFn(like_x);

class Sqw final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const auto* w = ctx->Tensor4ArgNameAndIndex("w", 0);
    auto* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<double>();
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) {
      y[i] = x->dptr<double>()[i] * x->dptr<double>()[i] * w->dptr<double>()[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
OF_DEVICE_FUNC double scaled(double x, double scale) { return scale * std::tanh(x); }

class Tanh final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    auto* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<double>();
    CHECK(IsFloatingDataType(x->data_type()) && !IsIntegralDataType(x->data_type()));
    CHECK_EQ(GetSizeOfDataType(x->data_type()), sizeof(double));
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) {
      y[i] = scaled(x->dptr<double>()[i], ctx->Attr<float>("scale"));
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("o_sqw").SetCreateFn<Sqw>().SetIsMatchedHob(user_op::HobDataType("x", 0) == DataType::kDouble);
REGISTER_USER_KERNEL("o_tanh").SetCreateFn<Tanh>().SetIsMatchedHob(user_op::HobDataType("x", 0) == DataType::kDouble);

REGISTER_USER_OP_GRAD("o_sqw").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
  CHECK_OR_RETURN(!ctx->FwOp().attr<bool>("fails")) << "no gradient in this mode";
  const std::string name = ctx->FwOp().op_name();
  const auto product = [ctx](const std::string& op, const std::string& a, const std::string& b) {
    ctx->DefineOp(op, [a, b](user_op::BackwardOpBuilder& builder) {
      return builder.OpTypeName("multiply").InputBind("x", a).InputBind("y", b).Output("out").Build();
    });
    return ctx->GetOp(op).output("out", 0);
  };
  ctx->DefineOp(name + "_twice", [ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("scalar_mul")
        .InputBind("in", ctx->FwOp().input("x", 0))
        .Output("out")
        .Attr("has_float_operand", true)
        .Attr("has_int_operand", false)
        .Attr("float_operand", 2.0)
        .Attr<int64_t>("int_operand", 0)
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [=] {
    const std::string slope =
        product(name + "_slope", ctx->GetOp(name + "_twice").output("out", 0), ctx->FwOp().input("w", 0));
    return product(name + "_dx", slope, ctx->FwOp().output_grad("y", 0));
  });
  if (ctx->FwOp().attr<bool>("forgets")) return Maybe<void>::Ok();
  ctx->FwOp().InputGradBind(user_op::OpArg("w", 0), [=] {
    const std::string x = ctx->FwOp().input("x", 0);
    return product(name + "_dw", product(name + "_square", x, x), ctx->FwOp().output_grad("y", 0));
  });
  return Maybe<void>::Ok();
});

REGISTER_USER_OP_GRAD("o_tanh").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op,
                                                          user_op::AddOpFn AddOp) -> Maybe<void> {
  if (!op.NeedGenGradTensor4OpInput("x", 0)) return Maybe<void>::Ok();
  if (op.attr<float>("scale") > 100.0f) return Error::Unimplemented() << "too steep";
  user_op::UserOpConfWrapperBuilder first(op.op_name() + "_grad");
  const auto grad = first.Op("tanh_grad")
                        .Input("x", op.input("x", 0))
                        .Input("dy", op.GetGradTensorWithOpOutput("y", 0))
                        .Output("dx")
                        .Build();
  AddOp(grad);
  user_op::UserOpConfWrapperBuilder second(op.op_name() + "_scaled");
  const auto scaled = second.Op("scalar_mul")
                          .Input("in", grad.output("dx", 0))
                          .Output("out")
                          .Attr("has_float_operand", true)
                          .Attr("float_operand", static_cast<double>(op.attr<float>("scale")))
                          .Build();
  AddOp(scaled);
  op.BindGradTensorWithOpInput(scaled.output("out", 0), "x", 0);
  return Maybe<void>::Ok();
});

}  // namespace
}  // namespace oneflow

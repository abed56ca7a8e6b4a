// Checks that every public signature of the user-op headers accepts the arguments that sources pass: constants,
// variables, references to constants, temporaries, and convertible types.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/error.h"
#include "ops/api/lamella/user_op.h"
#include "python/lamella/compat/include/oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using user_op::AttrValue;
using user_op::BackwardOpBuilder;

/// Returns an attribute of a use that the builder made.
AttrValue attr_of(const BackwardOpBuilder& builder, const std::string& name) {
  BackwardOpBuilder copy = builder;
  return copy.OpTypeName("anything").Build().conf()->attrs.at(name);
}

template <class T>
void check_value(const T& value) {
  // Passes the value with the type named and with the type deduced.
  const std::string name = "a";
  T variable = value;
  const T& reference = variable;
  const AttrValue wanted(std::in_place_type<T>, value);
  BackwardOpBuilder builder("b");
  EXPECT_EQ(attr_of(builder.Attr<T>(name, variable), name), wanted);
  EXPECT_EQ(attr_of(builder.Attr<T>(name, reference), name), wanted);
  EXPECT_EQ(attr_of(builder.Attr<T>("a", T(value)), name), wanted);
  EXPECT_EQ(attr_of(builder.Attr<T>("a", std::move(variable)), name), wanted);
  EXPECT_EQ(attr_of(builder.Attr(name, reference), name), wanted);
  EXPECT_EQ(attr_of(builder.Attr(name, T(value)), name), wanted);
  const T constant = value;
  EXPECT_EQ(attr_of(builder.Attr(name, constant), name), wanted);
  EXPECT_EQ(attr_of(builder.Attr<const T&>(name, constant), name), wanted);

  constexpr UserOpAttrType type = user_op::detail::attr_type_of<T>();
  T other = value;
  user_op::OpRegistry registry("signature_probe", __FILE__, __LINE__);
  registry.Attr<T>("named").Attr("typed", type);
  registry.Attr<T>("lvalue", other);
  registry.Attr<T>("const", constant);
  registry.Attr<T>("rvalue", T(value));
  registry.Attr("loose_lvalue", other).Attr("loose_const", constant).Attr("loose_rvalue", T(value));
  registry.Attr("typed_lvalue", type, other).Attr("typed_const", type, constant).Attr("typed_rvalue", type, T(value));
  registry.Attr<T>("both_lvalue", type, other);
  registry.Attr<T>("both_const", type, constant);
}

TEST(UserOpSignatures, AttributesOfEveryType) {
  check_value<std::int32_t>(3);
  check_value<std::int64_t>(4);
  check_value<bool>(true);
  check_value<float>(0.5F);
  check_value<double>(0.25);
  check_value<std::string>("text");
  check_value<Shape>(Shape({2, 3}));
  check_value<DataType>(DataType::kDouble);
  check_value<std::vector<std::int32_t>>({1, 2});
  check_value<std::vector<std::int64_t>>({3});
  check_value<std::vector<float>>({1.5F});
  check_value<std::vector<DataType>>({DataType::kFloat});
  check_value<std::vector<Shape>>({Shape({4})});
  check_value<std::vector<std::string>>({"a", "b"});
}

TEST(UserOpSignatures, WhatConvertsToAnAttribute) {
  BackwardOpBuilder b("b");
  const auto value = [&](BackwardOpBuilder& builder) { return attr_of(builder, "a"); };
  EXPECT_EQ(value(b.Attr<float>("a", 2)), AttrValue(2.0F));
  EXPECT_EQ(value(b.Attr<float>("a", 0.5)), AttrValue(0.5F));
  EXPECT_EQ(value(b.Attr<std::int64_t>("a", 3)), AttrValue(std::int64_t{3}));
  EXPECT_EQ(value(b.Attr<std::string>("a", "text")), AttrValue(std::string("text")));
  EXPECT_EQ(value(b.Attr<Shape>("a", {2, 3})), AttrValue(Shape({2, 3})));
  EXPECT_EQ(value(b.Attr<std::vector<std::int32_t>>("a", {1, 2})), AttrValue(std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(value(b.Attr("a", "text")), AttrValue(std::string("text")));
  EXPECT_EQ(value(b.Attr("a", std::string_view("text"))), AttrValue(std::string("text")));
  const char* const text = "text";
  EXPECT_EQ(value(b.Attr("a", text)), AttrValue(std::string("text")));
  EXPECT_EQ(value(b.Attr("a", 3LL)), AttrValue(std::int64_t{3}));
  EXPECT_EQ(value(b.Attr("a", std::size_t{3})), AttrValue(std::int64_t{3}));
  EXPECT_EQ(value(b.Attr("a", std::array<int, 2>{1, 2})), AttrValue(std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(value(b.Attr("a", std::vector<double>{0.5})), AttrValue(std::vector<float>{0.5F}));
  EXPECT_EQ(value(b.Attr("a", std::vector<const char*>{"x"})), AttrValue(std::vector<std::string>{"x"}));
  EXPECT_EQ(value(b.Attr("a", std::vector<bool>{true})), AttrValue(std::vector<std::int64_t>{1}));
}

TEST(UserOpSignatures, ChainsOfTheRegistrations) {
  const std::string name = "x";
  std::string mutable_name = "y";
  const std::int64_t count = 2;
  user_op::OpRegistry op(name, __FILE__, __LINE__);
  const auto infer = [](user_op::InferContext* ctx) -> Maybe<void> {
    *ctx->OutputShape("out", 0) = ctx->InputShape("in", 0);
    *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("in", 0);
    const Shape& shape = ctx->InputShape("in", 0);
    ctx->OutputTensorDesc("out", 0)->set_shape(shape);
    return Maybe<void>::Ok();
  };
  std::function<Maybe<void>(user_op::InferContext*)> stored = infer;
  op.Input(name).Input(mutable_name, 2).Input(std::string("z"), static_cast<std::int32_t>(count)).Output("out");
  op.SetTensorDescInferFn(infer).SetTensorDescInferFn(stored).SetDataTypeInferFn(std::move(stored));
  op.SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
  op.SetTensorDescInferFn(&user_op::TensorDescInferFnUtil::InOutCorrespond);
  op.SetCheckAttrFn([](const user_op::UserOpDefWrapper&, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
    const auto by = conf.attr<float>("by");
    CHECK_GT_OR_RETURN(by, 0.0F) << "by is " << by;
    return Maybe<void>::Ok();
  });
  op.SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
    const user_op::OpArg in("in", 0);
    ctx->NewBuilder().Split(in, 0).Split(user_op::OpArg("out", 0), 0).Build();
    ctx->NewBuilder().Split(ctx->inputs(), 0).Broadcast(std::vector<user_op::OpArg>{in}).Build();
    const auto& outputs = ctx->outputs();
    ctx->NewBuilder().Broadcast(ctx->inputs()).PartialSum(outputs).Build();
    return Maybe<void>::Ok();
  });
  op.SetOutputArgModifyFn([](const user_op::GetOutputArgModifier& get, const user_op::UserOpConfWrapper&) {
    get("out", 0)->set_is_mutable(true);
  });
  op.SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) -> Maybe<void> {
    CHECK_NOTNULL(get("in", 0));
    return Maybe<void>::Ok();
  });

  user_op::OpKernelRegistry kernel("x", __FILE__, __LINE__);
  const auto on_cpu = user_op::HobDeviceType() == DeviceType::kCPU;
  kernel.SetIsMatchedHob(on_cpu).SetIsMatchedHob(DeviceType::kCPU == user_op::HobDeviceType());
  kernel.SetIsMatchedHob((user_op::HobDeviceTag() == "cpu") &
                         (user_op::HobDataType("in", 0) == GetDataType<float>::value));
  kernel.SetIsMatchedHob((DeviceType::kGPU != user_op::HobDeviceTag()) | !on_cpu);
  kernel.SetIsMatchedHob(user_op::HobAttr<std::string>(name) == "mode" && user_op::HobAttr<float>("by") == 1);
  const std::string mode = "mode";
  kernel.SetIsMatchedHob(user_op::HobAttr<std::string>("m") == mode || mode != user_op::HobAttr<std::string>("m"));
  kernel.SetIsMatchedHob(DataType::kFloat == user_op::HobDataType(name, 0)).SetIsMatchedHob(user_op::HobTrue());
  kernel.SetIsMatchedPred([](const user_op::KernelRegContext& ctx) { return ctx.device_type() == DeviceType::kCPU; });
  kernel.SetInferTmpSizeFn([](user_op::InferContext* ctx) { return ctx->InputShape("in", 0).elem_cnt(); });
  kernel.SetInplaceProposalFn(
      [](const user_op::InferContext&, user_op::AddInplaceArgPair add) -> Maybe<void> {  // NOLINT: as sources have it
        OF_RETURN_IF_ERROR(add("out", 0, "in", 0, true));
        return Maybe<void>::Ok();
      });

  user_op::OpGradRegistry grad("x", __FILE__, __LINE__);
  grad.SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
    const std::string grad_name = ctx->FwOp().op_name() + "_grad";
    const float by = 2;
    ctx->DefineOp(grad_name, [&](BackwardOpBuilder& builder) {
      return builder.OpTypeName("scale")
          .InputBind("x", ctx->FwOp().output_grad("out", 0))
          .Attr<float>("by", ctx->FwOp().attr<float>("by"))
          .Attr("by", ctx->FwOp().attr<float>("by"))
          .Attr<float>("by", by)
          .Output("y")
          .Build();
    });
    const auto& op_of = ctx->FwOp();
    op_of.InputGradBind(user_op::OpArg("in", 0),
                        [&]() -> const std::string& { return ctx->GetOp(grad_name).output("y", 0); });
    const auto by_value = [&] { return std::string(ctx->GetOp(grad_name).output("y", 0)); };
    const user_op::OpArg in("in", 0);
    ctx->FwOp().InputGradBind(in, by_value);
  });
  grad.SetGenBackwardOpConfFn(
      [](const user_op::UserOpWrapper& fw, user_op::AddOpFn add) {  // NOLINT: as sources have it
        if (!fw.NeedGenGradTensor4OpInput("in", 0)) return;
        user_op::UserOpConfWrapperBuilder builder(fw.op_name() + "_grad");
        const user_op::UserOpConfWrapper made = builder.Op("scale")
                                                    .Input("x", fw.GetGradTensorWithOpOutput("out", 0))
                                                    .Output("y")
                                                    .Attr<float>("by", fw.attr<float>("by"))
                                                    .Build();
        fw.BindGradTensorWithOpInput(made.output("y", 0), "in", 0);
        add(made);
      });
}

Maybe<std::string> text(bool fine) {
  if (!fine) return Error::CheckFailed() << "no text";
  return "text";
}
Maybe<std::int64_t> length(bool fine) {
  const auto& found = JUST(text(fine));
  const int size = static_cast<int>(found->size());
  return size;
}
Maybe<Shape> shape_of(const Shape& shape) { return shape; }

TEST(UserOpSignatures, ResultsThatMayBeErrors) {
  EXPECT_EQ(length(true).value(), 4);
  EXPECT_FALSE(length(false).IsOk());
  EXPECT_EQ(length(false).error().message(), "no text");
  EXPECT_EQ(*shape_of(Shape({1})).take(), Shape({1}));
  Error error = Error::Unimplemented();
  error << "so " << 3;
  const Maybe<void> failed = error;
  EXPECT_EQ(failed.error().message(), "so 3");
}

}  // namespace
}  // namespace oneflow

// Every way to declare an argument or an attribute, and what kernels are given beside tensors.
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using user_op::InferContext;
using user_op::KernelComputeContext;

Maybe<void> LikeFirst(InferContext* ctx) {
  const auto& [first, index] = ctx->inputs().front();
  for (const auto& [name, i] : ctx->outputs()) {
    *ctx->Shape4ArgNameAndIndex(name, i) = *ctx->Shape4ArgNameAndIndex(first, index);
  }
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("t_add_n").InputWithMinimum("in", 2).Output("out").SetTensorDescInferFn(LikeFirst).SetGetSbpFn(
    [](user_op::SbpContext* ctx) {
      int64_t num_axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("in", 0).shape().NumAxes();
      for (int64_t i = 0; i < num_axes; ++i) {
        ctx->NewBuilder().Split(ctx->inputs(), i).Split(user_op::OpArg("out", 0), i).Build();
      }
      ctx->NewBuilder().PartialSum(ctx->inputs()).PartialSum(user_op::OpArg("out", 0)).Build();
      return Maybe<void>::Ok();
    });

class AddNKernel final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    float* y = out->mut_dptr<float>();
    const int64_t n = out->shape().elem_cnt();
    std::fill(y, y + n, 0.0f);
    for (const auto& [name, i] : ctx->inputs()) {
      const float* x = ctx->Tensor4ArgNameAndIndex(name, i)->dptr<float>();
      for (int64_t k = 0; k < n; ++k) y[k] += x[k];
    }
  }
};
REGISTER_USER_KERNEL("t_add_n").SetCreateFn<AddNKernel>().SetIsMatchedHob(user_op::HobTrue());

// The gradient of each input is that of the output: no operator is needed.
REGISTER_USER_OP_GRAD("t_add_n").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn) {
  for (int32_t i = 0; i < op.input_size("in"); ++i) {
    if (op.NeedGenGradTensor4OpInput("in", i)) {
      op.BindGradTensorWithOpInput(op.GetGradTensorWithOpOutput("out", 0), "in", i);
    }
  }
});

// Counts of inputs and outputs.
REGISTER_USER_OP("t_counts")
    .Input("a")
    .Input("pair", 2)
    .OptionalInput("maybe")
    .OptionalInput("maybe_pair", 2)
    .OptionalInputWithMininum("some", 2)
    .OptionalInputWithMinimum("some_more", 1)
    .Output("out")
    .Output("two", 2)
    .OutputWithMinimum("many", 1)
    .OptionalOutput("extra")
    .OptionalOutputWithMininum("extras", 2)
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      for (const auto& [name, i] : ctx->outputs()) *ctx->Shape4ArgNameAndIndex(name, i) = Shape({7});
      return Maybe<void>::Ok();
    });
class CountsKernel final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    int k = 0;
    for (const auto& [name, i] : ctx->outputs()) {
      float* y = ctx->Tensor4ArgNameAndIndex(name, i)->mut_dptr<float>();
      const char* names[] = {"a", "pair", "maybe", "maybe_pair", "some", "some_more"};
      for (int j = 0; j < 6; ++j) y[j] = static_cast<float>(ctx->input_size(names[j]));
      y[6] = static_cast<float>(k++);
    }
    if (!ctx->has_input("maybe", 0) && ctx->Tensor4ArgNameAndIndex("maybe", 0) != nullptr) throw 1;
  }
};
REGISTER_USER_KERNEL("t_counts").SetCreateFn<CountsKernel>();

// Attributes of every type, with and without defaults, in both spellings. The output lists what arrived.
REGISTER_USER_OP("t_attrs")
    .Input("x")
    .Output("out")
    .Attr("i32", UserOpAttrType::kAtInt32)
    .Attr<int64_t>("i64")
    .Attr("b", UserOpAttrType::kAtBool, false)
    .Attr<float>("f", 0.5f)
    .Attr("d", UserOpAttrType::kAtDouble, 2)
    .Attr<std::string>("s", "text")
    .Attr("shape", UserOpAttrType::kAtShape, Shape({2, 3}))
    .Attr<DataType>("dtype", DataType::kInt64)
    .Attr("li32", UserOpAttrType::kAtListInt32, std::vector<int32_t>{10, 11, 12})
    .Attr<std::vector<int64_t>>("li64", {1})
    .Attr("lf", UserOpAttrType::kAtListFloat, std::vector<float>{1.5f})
    .Attr<std::vector<DataType>>("ldtype", {DataType::kFloat})
    .Attr<std::vector<Shape>>("lshape", {Shape({4}), Shape({5, 6})})
    .Attr("ls", UserOpAttrType::kAtListString, std::vector<std::string>{"a", "bc"})
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("out", 0) = Shape({14});
      *ctx->Dtype4ArgNameAndIndex("out", 0) = DataType::kDouble;
      return Maybe<void>::Ok();
    });
class AttrsKernel final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    double* y = ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<double>();
    *y++ = ctx->Attr<int32_t>("i32");
    *y++ = static_cast<double>(ctx->Attr<int64_t>("i64"));
    *y++ = ctx->Attr<bool>("b");
    *y++ = ctx->Attr<float>("f");
    *y++ = ctx->Attr<double>("d");
    *y++ = static_cast<double>(ctx->Attr<std::string>("s").size());
    *y++ = static_cast<double>(ctx->Attr<Shape>("shape").elem_cnt());
    *y++ = ctx->Attr<DataType>("dtype");
    *y++ = ctx->Attr<std::vector<int32_t>>("li32").back();
    *y++ = static_cast<double>(ctx->Attr<std::vector<int64_t>>("li64").size());
    *y++ = ctx->Attr<std::vector<float>>("lf").front();
    *y++ = ctx->Attr<std::vector<DataType>>("ldtype").back();
    *y++ = static_cast<double>(ctx->Attr<std::vector<Shape>>("lshape").back().elem_cnt());
    *y++ = static_cast<double>(ctx->Attr<std::vector<std::string>>("ls").back().size());
  }
};
REGISTER_USER_KERNEL("t_attrs").SetCreateFn<AttrsKernel>().SetIsMatchedHob(user_op::HobDeviceType() ==
                                                                           DeviceType::kCPU);

// A default that fails the check beside it.
REGISTER_USER_OP("t_checked")
    .Input("x")
    .Output("out")
    .Attr("data_format", UserOpAttrType::kAtString, std::string("NCHW"))
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper&, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      std::string data_format = conf.attr<std::string>("data_format");
      if (data_format == "channels_first" || data_format == "channels_last") return Maybe<void>::Ok();
      return oneflow::Error::CheckFailed() << "data_format value: " << data_format << " for Conv op is illegal.";
    })
    .SetTensorDescInferFn(LikeFirst);

// A buffer, a state, and a choice of kernels by an attribute.
REGISTER_USER_OP("t_state").Input("x").Output("out").Attr<int32_t>("way", 0).SetTensorDescInferFn(LikeFirst);

struct Counter final : user_op::OpKernelState {
  int calls = 0;
};
template <int Way>
class StateKernel final : public user_op::OpKernel {
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(user_op::KernelInitContext*) const override {
    return std::make_shared<Counter>();
  }
  void Compute(KernelComputeContext* ctx, user_op::OpKernelState* state) const override {
    auto* tmp = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0);
    if (tmp->shape().elem_cnt() != 1024) throw std::runtime_error("the buffer has another size");
    std::memset(tmp->mut_dptr<char>(), 0, 1024);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    std::fill_n(out->mut_dptr<float>(), out->shape().elem_cnt(),
                static_cast<float>(++static_cast<Counter*>(state)->calls + 100 * Way));
    if (ctx->device_ctx()->cuda_stream() != nullptr) throw std::runtime_error("a stream on the CPU");
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return true; }
};
REGISTER_USER_KERNEL("t_state")
    .SetCreateFn<StateKernel<0>>()
    .SetInferTmpSizeFn([](const oneflow::user_op::InferContext*) { return 1024; })
    .SetIsMatchedHob(user_op::HobAttr<int32_t>("way") == 0);
REGISTER_USER_KERNEL("t_state")
    .SetCreateFn<StateKernel<1>>()
    .SetInferTmpSizeFn([](user_op::InferContext*) { return 1024; })
    .SetIsMatchedHob((user_op::HobAttr<int32_t>("way") == 1) | (user_op::HobAttr<int32_t>("way") == 2));

// A gradient made of operators of Lamella's own, which have gradients themselves: dx = x dy + x dy.
REGISTER_USER_OP("t_square").Input("x").Output("y").SetTensorDescInferFn(LikeFirst);
class SquareKernel final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    double* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<double>();
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) y[i] = x->dptr<double>()[i] * x->dptr<double>()[i];
  }
};
REGISTER_USER_KERNEL("t_square").SetCreateFn<SquareKernel>();
REGISTER_USER_OP_GRAD("t_square").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  ctx->DefineOp("half", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("lamella::multiply")
        .InputBind("a", ctx->FwOp().input("x", 0))
        .InputBind("b", ctx->FwOp().output_grad("y", 0))
        .Output("out")
        .Build();
  });
  ctx->DefineOp("whole", [&](user_op::BackwardOpBuilder& builder) {
    const std::string half = ctx->GetOp("half").output("out", 0);
    return builder.OpTypeName("lamella::add").InputBind("a", half).InputBind("b", half).Output("out").Build();
  });
  if (ctx->FwOp().arg_tensor_desc("x", 0).data_type() != DataType::kDouble) throw std::runtime_error("no double");
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp("whole").output("out", 0); });
});

}  // namespace
}  // namespace oneflow

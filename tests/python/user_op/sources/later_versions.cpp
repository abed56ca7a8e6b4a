// What sources for other versions of OneFlow use, beside what those of the documents do.
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using user_op::InferContext;
using user_op::KernelComputeContext;

Maybe<void> Like(InferContext* ctx) {
  CHECK_EQ_OR_RETURN(ctx->parallel_num(), 1);
  CHECK_EQ_OR_RETURN(ctx->parallel_ctx().parallel_id(), 0);
  const user_op::TensorDesc* x = ctx->LogicalTensorDesc4ArgNameAndIndex("x", 0);
  CHECK_NOTNULL_OR_RETURN(x);
  ctx->SetOutputShape("y", 0, x->shape());
  ctx->SetOutputDType("y", 0, ctx->InputDType("x", 0));
  ctx->SetOutputIsDynamic("y", 0, ctx->InputIsDynamic("x", 0));
  return Maybe<void>::Ok();
}

/// Multiplies by a number.
class Scale final : public user_op::OpKernel {
 public:
  explicit Scale(float by) : by_(by) {}
  void Compute(KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    float* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    const int64_t* sizes = x->shape_view().ptr();
    int64_t n = 1;
    for (int64_t i = 0; i < x->shape_view().NumAxes(); ++i) n *= sizes[i];
    for (int64_t i = 0; i < n; ++i) y[i] = x->dptr<float>()[i] * by_;
  }

 private:
  float by_;
};
#define REGISTER_SCALE(name, by) \
  REGISTER_USER_KERNEL(name).SetCreateFn([]() { return new Scale(by); }).SetIsMatchedHob(user_op::HobTrue())

// What is inferred, and where.
REGISTER_USER_OP("v_logical")
    .Input("x")
    .Output("y")
    .SetLogicalTensorDescInferFn(Like)
    .SetPhysicalTensorDescInferFn([](InferContext*) -> Maybe<void> { return Error::RuntimeError() << "not of parts"; })
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetBatchAxisInferFn([](user_op::BatchAxisContext* ctx) -> Maybe<void> {
      *ctx->BatchAxis4ArgNameAndIndex("y", 0) = *ctx->BatchAxis4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    })
    .SetInferSbpSignatureFn([](user_op::InferSbpSignatureFnContext*) -> Maybe<void> { return Maybe<void>::Ok(); })
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis)
    .SetDeviceInferFn([](user_op::DeviceInferContext* ctx) -> Maybe<Symbol<Device>> {
      *ctx->OutputTensorDevice4ArgNameAndIndex("y", 0) = ctx->InputTensorDevice4ArgNameAndIndex("x", 0);
      return ctx->InputTensorDevice4ArgNameAndIndex("x", 0);
    });
REGISTER_SCALE("v_logical", 2);
REGISTER_USER_OP("v_physical")
    .Input("x")
    .Output("y")
    .SetPhysicalTensorDescInferFn(Like)
    .SetBatchAxisInferFn(user_op::BatchAxisInferFnUtil::NaiveInferBatchAxis);
REGISTER_SCALE("v_physical", 3);
REGISTER_USER_OP("v_elsewhere")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(Like)
    .SetDeviceInferFn([](user_op::DeviceInferContext* ctx) -> Maybe<Symbol<Device>> {
      const auto device = JUST(Device::New("cuda", 1));
      *ctx->OutputTensorDevice4ArgNameAndIndex("y", 0) = *device;
      return *device;
    });
REGISTER_SCALE("v_elsewhere", 1);

// Shapes.
Maybe<Shape> Extended(const Shape& shape) { return CreateLeftExtendedShape(shape, 4); }
REGISTER_USER_OP("v_shapes")
    .Input("x")
    .Output("y")
    .Attr<std::string>("how")
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      const Shape& x = ctx->InputShape("x", 0);
      const auto extended = JUST(Extended(x));
      const HashMap<std::string, Shape> made{
          {"extended", *extended},
          {"reduced", CreateReducedShape(x, {0, -1})},
          {"ones", CreateReducedShapeOrOnesShape(x, {})},
          {"range", Shape(x.dim_vec().begin(), x.dim_vec().end() - 1)},
          {"removed", Shape({1, 2, 1, 3}).RemoveOnes({0, -2})},
      };
      const std::string& how = ctx->Attr<std::string>("how");
      if (how == "wrong") CHECK_JUST(Maybe<void>(Error::IndexError() << "no such way"));
      if (how == "type") return Error::TypeError() << "another type";
      if (how == "kind") CHECK_OR_RETURN(x.NumAxes() == 0) << Error::TypeError() << "0-d alone";
      if (how == "later") UNIMPLEMENTED_THEN_RETURN() << "a way of later";
      if (how == "fatal") LOG(FATAL) << "no way";
      const auto found = made.find(how);
      if (found == made.end()) UNIMPLEMENTED();
      LOG_IF(INFO, how == "ones") << "ones of " << x.NumAxes();
      *ctx->MutOutputShape("y", 0) = found->second;
      *ctx->MutOutputDType("y", 0) = ctx->InputDType("x", 0);
      return Maybe<void>::Ok();
    });

// Kernels: caches, priorities, conditions and float16.
struct Number final : user_op::OpKernelCache {
  explicit Number(int64_t given) : value(given) {}
  int64_t value;
};
class Cached final : public user_op::OpKernel {
 public:
  std::shared_ptr<user_op::OpKernelCache> InitOpKernelCache(user_op::KernelCacheContext* ctx) const override {
    return std::make_shared<Number>(ctx->TensorDesc4ArgNameAndIndex("x", 0)->shape().elem_cnt());
  }
  using user_op::OpKernel::Compute;
  void Compute(KernelComputeContext* ctx, user_op::OpKernelState* state,
               const user_op::OpKernelCache* cache) const override {
    CHECK_ISNULL(state);
    const int64_t n = dynamic_cast<const Number*>(cache)->value;
    CHECK_ISNULL(ctx->stream()->As<ep::CudaStream>()->cuda_stream());
    std::fill_n(ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>(), n, static_cast<float>(n));
  }
};
REGISTER_USER_OP("v_cached").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("v_cached").SetCreateFn<Cached>().SetInferTmpSizeFn([](InferContext* ctx) -> size_t {
  return GetCudaAlignedSize(ctx->InputShape("x", 0).elem_cnt() * sizeof(float));
});

/// Writes its number, or float16's.
class Named final : public user_op::OpKernel {
 public:
  explicit Named(user_op::KernelCreateContext* ctx) : number_(ctx->Attr<int32_t>("number")) {}
  explicit Named(int32_t number) : number_(number) {}
  void Compute(KernelComputeContext* ctx) const override {
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    for (int64_t i = 0; i < y->shape().elem_cnt(); ++i) {
      if (y->data_type() == DataType::kFloat16) {
        y->mut_dptr<float16>()[i] = static_cast<float16>(static_cast<float>(number_) + 0.5f);
      } else {
        y->mut_dptr<float>()[i] = static_cast<float>(number_);
      }
    }
  }

 private:
  int32_t number_;
};
REGISTER_USER_OP("v_named").InputWithMinimum("x", 1).Output("y").Attr<int32_t>("number", 0).SetTensorDescInferFn(Like);
REGISTER_USER_KERNEL("v_named").SetCreateFn<Named>();
REGISTER_USER_KERNEL("v_named")
    .SetCreateFn([]() { return user_op::NewOpKernel<Named>(10); })
    .SetPriority(user_op::kKernelPriorityOptimized)
    .SetIsMatchedHob(user_op::HobInputSize("x") == 2);
REGISTER_USER_KERNEL("v_named")
    .SetCreateFn([]() { return user_op::NewOpKernel<Named>(20); })
    .SetPriority(user_op::kKernelPriorityExperimental)
    .SetIsMatchedHob(hob::make_custom("sixth", [](const user_op::KernelRegContext& ctx) {
                       return ctx.Attr<int32_t>("number") == 6;
                     }) == true);

/// Keeps the elements that are not 0.
class Nonzero final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const float* from = x->dptr<float>();
    float* const to = y->mut_dptr<float>();
    y->mut_shape()->Set(0, std::copy_if(from, from + x->shape().elem_cnt(), to, [](float v) { return v != 0; }) - to);
  }
};
REGISTER_USER_OP("v_nonzero").Input("x").Output("y").SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
  *ctx->MutOutputTensorDesc("y", 0) = ctx->InputTensorDesc("x", 0);
  *ctx->MutOutputIsDynamic("y", 0) = true;
  return Maybe<void>::Ok();
});
REGISTER_USER_KERNEL("v_nonzero").SetCreateFn<Nonzero>();

// Gradients: what has none, and what a description is told.
void BindAll(user_op::BackwardOpConfContext* ctx) {
  for (const auto& [name, index] : ctx->FwOp().input_arg_names_and_indexes()) {
    ctx->FwOp().InputGradBind(user_op::OpArg(name, index), [ctx] { return ctx->FwOp().output_grad("y", 0); });
  }
}
REGISTER_NO_GRAD_USER_OP("v_no_grad").Input("x").Output("y").SetTensorDescInferFn(Like);
REGISTER_SCALE("v_no_grad", 2);
REGISTER_USER_OP("v_constant_input")
    .Input("x")
    .Input("mean")
    .Output("y")
    .Attr<bool>("all", false)
    .SetTensorDescInferFn(Like)
    .SetInputArgModifyFn([](const user_op::GetInputArgModifier& get,
                            const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      CHECK_NOTNULL_OR_RETURN(get("mean", 0));
      get("mean", 0)->set_requires_grad(false);
      if (conf.attr<bool>("all")) get("x", 0)->set_requires_grad(false);
      return Maybe<void>::Ok();
    });
REGISTER_SCALE("v_constant_input", 1);
REGISTER_USER_OP_GRAD("v_constant_input").SetBackwardOpConfGenFn(BindAll);
REGISTER_USER_OP("v_constant_output")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(Like)
    .SetOutputArgModifyFn([](user_op::GetOutputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("y", 0)->set_requires_grad(false);
    });
REGISTER_SCALE("v_constant_output", 2);
REGISTER_USER_OP("v_mutable")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(Like)
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("x", 0)->set_is_mutable(true);
    });
REGISTER_SCALE("v_mutable", 1);
REGISTER_USER_OP("v_modifies_another")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(Like)
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("y", 0)->set_requires_grad(false);
    });
REGISTER_SCALE("v_modifies_another", 1);
REGISTER_USER_OP("v_whole_gradient").Input("x").Output("y").Attr<float>("by", 2).SetTensorDescInferFn(Like);
REGISTER_SCALE("v_whole_gradient", 1);
REGISTER_USER_OP_GRAD("v_whole_gradient").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  CHECK_EQ(ctx->FwOp().attr_or_default<float>("by", 1), 2);
  CHECK_EQ(ctx->FwOp().attr_or_default<float>("of", 1), 1);
  ctx->DefineOp("whole", [ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("lamella::astype")
        .InputBind("x", ctx->FwOp().output_grad("y", 0))
        .Attr("dtype", DataType::kInt32)
        .Output("y")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [ctx] { return ctx->GetOp("whole").output("y", 0); });
});

}  // namespace
}  // namespace oneflow

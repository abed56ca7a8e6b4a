// Operators that use what OneFlow's own tests of user operators use: the older style of gradients, sources, several
// outputs, dynamic shapes, states, attributes of every kind.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/new_kernel_util.h"
#include "oneflow/core/kernel/random_generator.h"
#include "oneflow/user/kernels/op_kernel_state_wrapper.h"

namespace oneflow {

namespace {

Maybe<void> SplitAxes(user_op::SbpContext* ctx, const std::string& like) {
  const user_op::TensorDesc& desc = ctx->LogicalTensorDesc4InputArgNameAndIndex(like, 0);
  FOR_RANGE(int64_t, axis, 0, desc.shape().NumAxes()) {
    ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
  }
  return Maybe<void>::Ok();
}

}  // namespace

// --- A rectifier with a buffer, an in-place proposal and a gradient in the older style.

REGISTER_USER_OP("s_relu")
    .Input("in")
    .Output("out")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      Shape* from = ctx->Shape4ArgNameAndIndex("in", 0);
      Shape* to = ctx->Shape4ArgNameAndIndex("out", 0);
      *to = *from;
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> { return SplitAxes(ctx, "in"); });

REGISTER_USER_OP("s_relu_grad")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape* y = ctx->Shape4ArgNameAndIndex("y", 0);
      CHECK(*ctx->Shape4ArgNameAndIndex("dy", 0) == *y);
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *y;
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP_GRAD("s_relu").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {
  if (!op.NeedGenGradTensor4OpInput("in", 0)) return;
  user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
  user_op::UserOpConfWrapper grad = builder.Op("s_relu_grad")
                                        .Input("y", op.output("out", 0))
                                        .Input("dy", op.GetGradTensorWithOpOutput("out", 0))
                                        .Output("dx")
                                        .Build();
  op.BindGradTensorWithOpInput(grad.output("dx", 0), "in", 0);
  AddOp(grad);
});

class SampleRelu final : public user_op::OpKernel {
 public:
  SampleRelu() = default;
  ~SampleRelu() = default;

 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    user_op::Tensor* buffer = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0);
    CHECK_NOTNULL(buffer);
    CHECK_EQ(buffer->shape().elem_cnt(), 10);
    NewKernelUtil<DeviceType::kCPU>::Relu(ctx->device_ctx(), in->shape().elem_cnt(), in->dptr<float>(),
                                          out->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

class SampleReluGrad final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    NewKernelUtil<DeviceType::kCPU>::ReluBackward(ctx->device_ctx(), dx->shape().elem_cnt(), y->dptr<float>(),
                                                  y->dptr<float>(), ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<float>(),
                                                  dx->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

REGISTER_USER_KERNEL("s_relu")
    .SetCreateFn<SampleRelu>()
    .SetIsMatchedHob(user_op::HobTrue())
    .SetInferTmpSizeFn([](user_op::InferContext*) { return 10; })
    .SetInplaceProposalFn([](const user_op::InferContext&,
                             user_op::AddInplaceArgPair AddInplaceArgPairFn) -> Maybe<void> {
      OF_RETURN_IF_ERROR(AddInplaceArgPairFn("out", 0, "in", 0, true));
      return Maybe<void>::Ok();
    });
REGISTER_USER_KERNEL("s_relu_grad").SetCreateFn<SampleReluGrad>().SetIsMatchedHob(user_op::HobTrue());

REGISTER_CPU_ONLY_USER_OP("s_cpu_relu")
    .Input("in")
    .Output("out")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->TensorDesc4ArgNameAndIndex("out", 0) = *ctx->TensorDesc4ArgNameAndIndex("in", 0);
      return Maybe<void>::Ok();
    });

template <typename T>
class SampleCpuRelu final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    NewKernelUtil<DeviceType::kCPU>::Relu(ctx->device_ctx(), in->shape().elem_cnt(), in->dptr<T>(),
                                          ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<T>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_cpu_relu")
    .SetCreateFn<SampleCpuRelu<float>>()
    .SetIsMatchedHob((user_op::HobDataType("in", 0) == DataType::kFloat) &
                     (user_op::HobDataType("out", 0) == DataType::kFloat));

// --- Shapes.

REGISTER_USER_OP("s_reshape")
    .Input("in")
    .Output("out")
    .Attr<Shape>("shape")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& wanted = ctx->Attr<Shape>("shape");
      CHECK_EQ(ctx->Shape4ArgNameAndIndex("in", 0)->NumAxes(), wanted.NumAxes());
      *ctx->Shape4ArgNameAndIndex("out", 0) = wanted;
      return Maybe<void>::Ok();
    });

class SampleCopy final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    Memcpy<DeviceType::kCPU>(ctx->device_ctx(), ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<char>(),
                             in->dptr<char>(), in->shape().elem_cnt() * sizeof(float));
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_reshape").SetCreateFn<SampleCopy>().SetIsMatchedHob(user_op::HobTrue());

REGISTER_USER_OP("s_order")
    .Input("in")
    .Output("out1")
    .Output("out2")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape* in = ctx->Shape4ArgNameAndIndex("in", 0);
      Shape* second = ctx->Shape4ArgNameAndIndex("out2", 0);
      *ctx->Shape4ArgNameAndIndex("out1", 0) = *in;
      *second = *in;
      const int32_t last = in->NumAxes() - 1;
      second->Set(last, in->At(last) * 2);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      ctx->NewBuilder().Split(ctx->inputs(), 0).Split(ctx->outputs(), 0).Build();
      return Maybe<void>::Ok();
    });

class SampleOrder final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out2 = ctx->Tensor4ArgNameAndIndex("out2", 0);
    Memcpy<DeviceType::kCPU>(ctx->device_ctx(), ctx->Tensor4ArgNameAndIndex("out1", 0)->mut_dptr<char>(),
                             in->dptr<char>(), in->shape().elem_cnt() * sizeof(float));
    NewKernelUtil<DeviceType::kCPU>::Fill(ctx->device_ctx(), out2->shape().elem_cnt(), 0.0, out2->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_order").SetCreateFn<SampleOrder>().SetIsMatchedHob((user_op::HobDeviceTag() == "cpu") &
                                                                           (user_op::HobDataType("in", 0) ==
                                                                            DataType::kFloat));

// --- Sources: no input, and their device is the placement's.

REGISTER_USER_OP("s_source")
    .Output("out")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("out", 0) = Shape({5});
      *ctx->Dtype4ArgNameAndIndex("out", 0) = DataType::kFloat;
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      ctx->NewBuilder().Split(ctx->outputs(), 0).Build();
      return Maybe<void>::Ok();
    });

class SampleSource final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    float* out = ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<float>();
    for (int i = 0; i < 5; ++i) {
      *(out + i) = static_cast<float>(i);
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_source")
    .SetCreateFn<SampleSource>()
    .SetIsMatchedHob((user_op::HobDeviceTag() == DeviceType::kCPU) &
                     (user_op::HobDataType("out", 0) == DataType::kFloat))
    .SetInferTmpSizeFn([](user_op::InferContext*) { return 0; });

REGISTER_USER_OP("s_dynamic")
    .Output("out")
    .Attr<int64_t>("size")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      user_op::TensorDesc* out = ctx->TensorDesc4ArgNameAndIndex("out", 0);
      *out->mut_shape() = Shape({5});
      *out->mut_data_type() = DataType::kFloat;
      out->set_is_dynamic(ctx->Attr<int64_t>("size") != 4);
      return Maybe<void>::Ok();
    })
    .SetOutputArgModifyFn([](user_op::GetOutputArgModifier GetOutputArgModifierFn,
                             const user_op::UserOpConfWrapper& conf) {
      user_op::OutputArgModifier* out = GetOutputArgModifierFn("out", 0);
      CHECK(out != nullptr);
      out->set_header_infered_before_compute(false);
    });

class SampleDynamic final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    out->mut_shape()->Set(0, ctx->Attr<int64_t>("size"));
    for (int i = 0; i < 5; ++i) {
      *(out->mut_dptr<float>() + i) = static_cast<float>(i);
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_dynamic").SetCreateFn<SampleDynamic>().SetIsMatchedHob(user_op::HobDeviceTag() == "cpu");

REGISTER_USER_OP("s_random")
    .Output("out")
    .Attr<int64_t>("seed")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      user_op::TensorDesc* out = ctx->TensorDesc4ArgNameAndIndex("out", 0);
      *out->mut_shape() = Shape({5});
      *out->mut_data_type() = DataType::kFloat;
      return Maybe<void>::Ok();
    });

class SampleRandom final : public user_op::OpKernel {
 public:
  using Generator = OpKernelStateWrapper<RandomGenerator<DeviceType::kCPU>>;
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(user_op::KernelInitContext* ctx) const override {
    return std::make_shared<Generator>(ctx->Attr<int64_t>("seed"), ctx->device_ctx());
  }

 private:
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState* state) const override {
    auto* generator = dynamic_cast<Generator*>(state);
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    generator->Mutable()->Uniform<float>(out->shape().elem_cnt(), 0.0, 1.0, out->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_random")
    .SetCreateFn<SampleRandom>()
    .SetIsMatchedHob((user_op::HobDeviceTag() == "cpu") & (user_op::HobDataType("out", 0) == DataType::kFloat));

// --- Two inputs, whose gradients one operator computes.

REGISTER_USER_OP("s_pair")
    .Input("x1")
    .Input("x2")
    .Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK(*ctx->Shape4ArgNameAndIndex("x1", 0) == *ctx->Shape4ArgNameAndIndex("x2", 0));
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x1", 0);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> { return SplitAxes(ctx, "x1"); });
REGISTER_USER_OP("s_pair_grad")
    .Input("x1")
    .Input("x2")
    .Input("y_diff")
    .Output("x1_diff")
    .Output("x2_diff")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("x1_diff", 0) = *ctx->Shape4ArgNameAndIndex("x1", 0);
      *ctx->Shape4ArgNameAndIndex("x2_diff", 0) = *ctx->Shape4ArgNameAndIndex("x2", 0);
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP_GRAD("s_pair").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {
  if (op.NeedGenGradTensor4OpInput("x1", 0) || op.NeedGenGradTensor4OpInput("x2", 0)) {
    user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
    user_op::UserOpConfWrapper grad = builder.Op("s_pair_grad")
                                          .Input("x1", op.input("x1", 0))
                                          .Input("x2", op.input("x2", 0))
                                          .Input("y_diff", op.GetGradTensorWithOpOutput("y", 0))
                                          .Output("x1_diff")
                                          .Output("x2_diff")
                                          .Build();
    op.BindGradTensorWithOpInput(grad.output("x1_diff", 0), "x1", 0);
    op.BindGradTensorWithOpInput(grad.output("x2_diff", 0), "x2", 0);
    AddOp(grad);
  }
});

class SamplePair final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x1 = ctx->Tensor4ArgNameAndIndex("x1", 0);
    Memcpy<DeviceType::kCPU>(ctx->device_ctx(), ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<char>(), x1->dptr<char>(),
                             x1->shape().elem_cnt() * sizeof(float));
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
class SamplePairGrad final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    for (const auto& [name, value] : {std::pair("x1_diff", 1.0), std::pair("x2_diff", 2.0)}) {
      user_op::Tensor* diff = ctx->Tensor4ArgNameAndIndex(name, 0);
      NewKernelUtil<DeviceType::kCPU>::Fill(ctx->device_ctx(), diff->shape().elem_cnt(), value,
                                            diff->mut_dptr<float>());
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_pair").SetCreateFn<SamplePair>().SetIsMatchedHob(user_op::HobDeviceTag() == "cpu");
REGISTER_USER_KERNEL("s_pair_grad").SetCreateFn<SamplePairGrad>().SetIsMatchedHob(user_op::HobDeviceTag() == "cpu");

// --- Attributes.

REGISTER_USER_OP("s_cast")
    .Input("in")
    .Output("out")
    .Attr<DataType>("output_type")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("in", 0);
      *ctx->Dtype4ArgNameAndIndex("out", 0) = ctx->Attr<DataType>("output_type");
      return Maybe<void>::Ok();
    });
class SampleCast final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    CHECK_EQ(ctx->Attr<DataType>("output_type"), out->data_type());
    std::memset(out->mut_dptr(), 0, out->shape().elem_cnt());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_cast").SetCreateFn<SampleCast>().SetIsMatchedHob(user_op::HobTrue());

REGISTER_USER_OP("s_lists")
    .Input("in")
    .Output("out", 3)
    .Attr<std::vector<Shape>>("out_shapes")
    .Attr<std::vector<DataType>>("out_types")
    .Attr<std::vector<std::string>>("string_list")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const auto& shapes = ctx->Attr<std::vector<Shape>>("out_shapes");
      const auto& types = ctx->Attr<std::vector<DataType>>("out_types");
      FOR_RANGE(int32_t, i, 0, ctx->outputs().size()) {
        *ctx->Shape4ArgNameAndIndex("out", i) = shapes.at(i);
        *ctx->Dtype4ArgNameAndIndex("out", i) = types.at(i);
      }
      CHECK_GT_OR_RETURN(ctx->Attr<std::vector<std::string>>("string_list").size(), 0);
      return Maybe<void>::Ok();
    });
class SampleLists final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    FOR_RANGE(int32_t, i, 0, ctx->outputs().size()) {
      user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", i);
      Shape shape;
      out->shape().ToShape(&shape);
      CHECK_EQ(ctx->Attr<std::vector<Shape>>("out_shapes").at(i), shape);
      CHECK_EQ(ctx->Attr<std::vector<DataType>>("out_types").at(i), out->data_type());
      out->mut_dptr();
    }
    CHECK_EQ(ctx->Attr<std::vector<std::string>>("string_list").at(2), "c");
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_lists").SetCreateFn<SampleLists>().SetIsMatchedHob(user_op::HobTrue());

REGISTER_USER_OP("s_ints").Input("in").Output("out").Attr<int32_t>("int1").Attr<int32_t>("int2").SetTensorDescInferFn(
    user_op::TensorDescInferFnUtil::Unchanged);
class SampleInts final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    std::fill_n(out->mut_dptr<float>(), out->shape().elem_cnt(),
                10.0f * ctx->Attr<int32_t>("int1") + ctx->Attr<int32_t>("int2"));
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("s_ints").SetCreateFn<SampleInts>().SetIsMatchedHob(user_op::HobTrue());

}  // namespace oneflow

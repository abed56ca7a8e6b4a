// Kernels that are registered by macros over sequences, as in OneFlow's own sources.
#include "oneflow/core/framework/framework.h"

#include <string>

namespace oneflow {
namespace {

// A kernel for each device, type of elements and type of indices.
REGISTER_USER_OP("t_pick").Input("in").Input("indices").Output("out").SetTensorDescInferFn(
    [](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("indices", 0);
      *ctx->Dtype4ArgNameAndIndex("out", 0) = *ctx->Dtype4ArgNameAndIndex("in", 0);
      return Maybe<void>::Ok();
    });

template <DeviceType device, typename T, typename K>
class PickKernel final : public user_op::OpKernel {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    const auto* indices = ctx->Tensor4ArgNameAndIndex("indices", 0);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    for (int64_t i = 0; i < indices->shape().elem_cnt(); ++i) {
      out->mut_dptr<T>()[i] = in->dptr<T>()[indices->dptr<K>()[i]];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

#define REGISTER_PICK_KERNEL(device, in_type, index_type)                                         \
  REGISTER_USER_KERNEL("t_pick")                                                                  \
      .SetCreateFn<PickKernel<device, OF_PP_PAIR_FIRST(in_type), OF_PP_PAIR_FIRST(index_type)>>() \
      .SetIsMatchedHob((user_op::HobDeviceTag() == device) &                                      \
                       (user_op::HobDataType("in", 0) == OF_PP_PAIR_SECOND(in_type)) &            \
                       (user_op::HobDataType("indices", 0) == OF_PP_PAIR_SECOND(index_type)));
OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(REGISTER_PICK_KERNEL, DEVICE_TYPE_SEQ, POD_AND_HALF_DATA_TYPE_SEQ, INDEX_DATA_TYPE_SEQ)

// An operator for each function, and for each of them a kernel for each type: one macro calls the other.
#define UNARY_SEQ OF_PP_MAKE_TUPLE_SEQ("t_seq_sin", Sin) OF_PP_MAKE_TUPLE_SEQ("t_seq_cos", Cos)

template <typename T>
struct SinFunctor {
  static T Call(T x) { return std::sin(x); }
};
template <typename T>
struct CosFunctor {
  static T Call(T x) { return std::cos(x); }
};

template <template <typename> class F, typename T>
class UnaryKernel final : public user_op::OpKernel {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    for (int64_t i = 0; i < in->shape().elem_cnt(); ++i) out->mut_dptr<T>()[i] = F<T>::Call(in->dptr<T>()[i]);
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

#define REGISTER_UNARY_OP(name, functor) \
  REGISTER_USER_OP(name).Input("in").Output("out").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
OF_PP_FOR_EACH_TUPLE(REGISTER_UNARY_OP, UNARY_SEQ)

#define REGISTER_UNARY_KERNEL(unary, type)                                                              \
  REGISTER_USER_KERNEL(OF_PP_PAIR_FIRST(unary))                                                         \
      .SetCreateFn<UnaryKernel<OF_PP_CAT(OF_PP_PAIR_SECOND(unary), Functor), OF_PP_PAIR_FIRST(type)>>() \
      .SetIsMatchedHob(user_op::HobDataType("in", 0) == OF_PP_PAIR_SECOND(type));
OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(REGISTER_UNARY_KERNEL, UNARY_SEQ, FLOATING_DATA_TYPE_SEQ)

// Macros within macros, and what they give, as text.
#define SHOW_PAIR(a, b) OF_PP_STRINGIZE(a) ":" OF_PP_STRINGIZE(b) " "
#define SHOW_ONE(a) OF_PP_STRINGIZE(a) " "
#define SHOW_TWICE(a, b) OF_PP_FOR_EACH_TUPLE(SHOW_PAIR, ((a, b))((b, a)))
#define SHOW_OF_TYPE(a, type) a OF_PP_FOR_EACH_ATOMIC(SHOW_ONE, (OF_PP_PAIR_FIRST(type))(x))
#define WITH_K(x) k##x
const char* const kText =  //
    OF_PP_FOR_EACH_ATOMIC(SHOW_ONE, (a)(b)(c)) "| "
    OF_PP_FOR_EACH_TUPLE(SHOW_PAIR, OF_PP_SEQ_PRODUCT((a)(b), (1)(2))) "| "
    OF_PP_OUTTER_FOR_EACH_TUPLE(SHOW_TWICE, ((a, b))((c, d))) "| "
    OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(SHOW_OF_TYPE, ("p")("q"), BOOL_DATA_TYPE_SEQ) "| "
    OF_PP_FOR_EACH_ATOMIC(SHOW_ONE, OF_PP_SEQ_MAP(WITH_K, (a)(b)));

REGISTER_USER_OP("t_seq_text")
    .Input("in")
    .Output("out")
    .Attr<std::string>("text", kText)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);

}  // namespace
}  // namespace oneflow

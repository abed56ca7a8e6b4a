#include <gtest/gtest.h>

#include <string>

#include "engine/core/error.h"
#include "engine/runtime/cuda/cudnn.h"
#include "ops/nn/cuda/conv_cudnn.h"

// cuDNN's numbers and what its descriptors take, which need no device.

#if __has_include(<cudnn_graph.h>) && !defined(LAMELLA_CUDA_EMULATION_HEADERS)
#include <cudnn_graph.h>

namespace lamella::cuda::cudnn {

template <class T>
constexpr bool is(T own, int value) {
  return static_cast<int>(own) == value;
}

static_assert(is(Status::Success, CUDNN_STATUS_SUCCESS));
static_assert(is(Status::BadParameter, CUDNN_STATUS_BAD_PARAM));
static_assert(is(Status::NotFinalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED));
static_assert(is(Status::NotSupported, CUDNN_STATUS_NOT_SUPPORTED));
static_assert(is(Status::Failed, CUDNN_STATUS_EXECUTION_FAILED));

static_assert(is(DataType::Float32, CUDNN_DATA_FLOAT));
static_assert(is(DataType::Float64, CUDNN_DATA_DOUBLE));
static_assert(is(DataType::Float16, CUDNN_DATA_HALF));
static_assert(is(DataType::BFloat16, CUDNN_DATA_BFLOAT16));
static_assert(is(DataType::Int32, CUDNN_DATA_INT32));
static_assert(is(DataType::Boolean, CUDNN_DATA_BOOLEAN));
static_assert(is(ConvolutionMode::CrossCorrelation, CUDNN_CROSS_CORRELATION));
static_assert(is(PointwiseMode::Add, CUDNN_POINTWISE_ADD));
static_assert(is(PointwiseMode::Multiply, CUDNN_POINTWISE_MUL));
static_assert(is(PointwiseMode::Divide, CUDNN_POINTWISE_DIV));
static_assert(is(PointwiseMode::Subtract, CUDNN_POINTWISE_SUB));
static_assert(is(PointwiseMode::Exp, CUDNN_POINTWISE_EXP));
static_assert(is(PointwiseMode::Log, CUDNN_POINTWISE_LOG));
static_assert(is(PointwiseMode::Identity, CUDNN_POINTWISE_IDENTITY));
static_assert(is(PointwiseMode::GreaterEqual, CUDNN_POINTWISE_CMP_GE));
static_assert(is(PointwiseMode::Index, CUDNN_POINTWISE_GEN_INDEX));
static_assert(is(PointwiseMode::Select, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(is(ReductionMode::Add, CUDNN_REDUCE_TENSOR_ADD));
static_assert(is(ReductionMode::Max, CUDNN_REDUCE_TENSOR_MAX));
static_assert(is(HeuristicMode::Fallback, CUDNN_HEUR_MODE_FALLBACK));
static_assert(is(HeuristicMode::A, CUDNN_HEUR_MODE_A));

static_assert(is(Note::TensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
static_assert(is(Note::DownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
static_assert(is(Note::ReducedPrecisionReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
static_assert(is(Note::Fft, CUDNN_NUMERICAL_NOTE_FFT));
static_assert(is(Note::Nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
static_assert(is(Note::Winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD));
static_assert(is(Note::WinogradTile4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4));
static_assert(is(Note::WinogradTile6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6));
static_assert(is(Note::WinogradTile13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13));
static_assert(kNotes >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
static_assert(static_cast<int>(Note::SlicedSum) >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
static_assert(is(Knob::Slices, CUDNN_KNOB_TYPE_SPLIT_K_SLC));
static_assert(kKnobs >= CUDNN_KNOB_TYPE_COUNTS);

static_assert(is(Kind::PointwiseSetting, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(is(Kind::Pointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(is(Kind::MatmulSetting, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(is(Kind::Matmul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(is(Kind::ReductionSetting, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(is(Kind::Reduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
static_assert(is(Kind::Reshape, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
static_assert(is(Kind::Convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
static_assert(is(Kind::Engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(is(Kind::EngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(is(Kind::Heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(is(Kind::KnobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
static_assert(is(Kind::Plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(is(Kind::Forward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
static_assert(is(Kind::BackwardFilter, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
static_assert(is(Kind::BackwardData, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
static_assert(is(Kind::Graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(is(Kind::VariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(is(Kind::Tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));

static_assert(is(Type::Handle, CUDNN_TYPE_HANDLE));
static_assert(is(Type::DataType, CUDNN_TYPE_DATA_TYPE));
static_assert(is(Type::Bool, CUDNN_TYPE_BOOLEAN));
static_assert(is(Type::PointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(is(Type::ReductionMode, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(is(Type::Int64, CUDNN_TYPE_INT64));
static_assert(is(Type::Float, CUDNN_TYPE_FLOAT));
static_assert(is(Type::Double, CUDNN_TYPE_DOUBLE));
static_assert(is(Type::Pointer, CUDNN_TYPE_VOID_PTR));
static_assert(is(Type::ConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE));
static_assert(is(Type::HeuristicMode, CUDNN_TYPE_HEUR_MODE));
static_assert(is(Type::Knob, CUDNN_TYPE_KNOB_TYPE));
static_assert(is(Type::Note, CUDNN_TYPE_NUMERICAL_NOTE));
static_assert(is(Type::Descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));

static_assert(is(Attribute::ConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
static_assert(is(Attribute::ConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
static_assert(is(Attribute::ConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
static_assert(is(Attribute::ConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
static_assert(is(Attribute::ConvolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
static_assert(is(Attribute::ConvolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
static_assert(is(Attribute::ConvolutionSpatialAxes, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
static_assert(is(Attribute::HeuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(is(Attribute::HeuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(is(Attribute::HeuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(is(Attribute::EngineConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(is(Attribute::EngineConfigKnobs, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES));
static_assert(is(Attribute::KnobChoiceKnob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE));
static_assert(is(Attribute::KnobChoiceValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
static_assert(is(Attribute::PlanEngineConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(is(Attribute::PlanWorkspaceSize, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(is(Attribute::ForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
static_assert(is(Attribute::ForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
static_assert(is(Attribute::ForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
static_assert(is(Attribute::ForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
static_assert(is(Attribute::ForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
static_assert(is(Attribute::ForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
static_assert(is(Attribute::BackwardDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA));
static_assert(is(Attribute::BackwardDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA));
static_assert(is(Attribute::BackwardDataConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC));
static_assert(is(Attribute::BackwardDataW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
static_assert(is(Attribute::BackwardDataDx, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
static_assert(is(Attribute::BackwardDataDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
static_assert(is(Attribute::BackwardFilterAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA));
static_assert(is(Attribute::BackwardFilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA));
static_assert(is(Attribute::BackwardFilterConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC));
static_assert(is(Attribute::BackwardFilterDw, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
static_assert(is(Attribute::BackwardFilterX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X));
static_assert(is(Attribute::BackwardFilterDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
static_assert(is(Attribute::GraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(is(Attribute::TensorByteAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(is(Attribute::TensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(is(Attribute::TensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(is(Attribute::TensorStrides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(is(Attribute::TensorUniqueId, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(is(Attribute::VariantPackUniqueIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(is(Attribute::VariantPackDataPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(is(Attribute::VariantPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(is(Attribute::EngineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(is(Attribute::TensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(is(Attribute::TensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(is(Attribute::PointwiseMode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(is(Attribute::PointwiseComputeType, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(is(Attribute::PointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(is(Attribute::PointwiseSetting, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(is(Attribute::PointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(is(Attribute::PointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(is(Attribute::PointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(is(Attribute::PointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(is(Attribute::MatmulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE));
static_assert(is(Attribute::MatmulA, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
static_assert(is(Attribute::MatmulB, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
static_assert(is(Attribute::MatmulC, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
static_assert(is(Attribute::MatmulSetting, CUDNN_ATTR_OPERATION_MATMUL_DESC));
static_assert(is(Attribute::ReductionMode, CUDNN_ATTR_REDUCTION_OPERATOR));
static_assert(is(Attribute::ReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE));
static_assert(is(Attribute::ReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
static_assert(is(Attribute::ReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
static_assert(is(Attribute::ReductionSetting, CUDNN_ATTR_OPERATION_REDUCTION_DESC));
static_assert(is(Attribute::ReshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
static_assert(is(Attribute::ReshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));

}  // namespace lamella::cuda::cudnn
#endif

namespace lamella::cuda {
namespace {

using lamella::detail::ConvProblem;
using lamella::detail::ConvResult;

/// A convolution over so many axes of space with tensors of its sizes.
struct Case {
  ConvProblem problem;
  Tensor x, w, y;

  Case(std::size_t axes, DType dtype, ConvResult result, std::int64_t groups) {
    problem.result = result;
    problem.dtype = dtype;
    problem.n = 2;
    problem.c = 8;
    problem.o = 4;
    problem.groups = groups;
    const std::int64_t in[] = {7, 9, 8};
    for (std::size_t i = 0; i < axes; ++i) {
      problem.in.push_back(in[i]);
      problem.kernel.push_back(3);
      problem.stride.push_back(2);
      problem.dilation.push_back(1);
      problem.pad_low.push_back(1);
      problem.pad_high.push_back(0);
      problem.out.push_back((in[i] + 1 - 3) / 2 + 1);
    }
    x = made(problem.n, problem.c, problem.in);
    w = made(problem.o, problem.c / groups, problem.kernel);
    y = made(problem.n, problem.o, problem.out);
  }

  Tensor made(std::int64_t first, std::int64_t second, Dims shape) const {
    shape.insert(shape.begin(), second);
    shape.insert(shape.begin(), first);
    return empty(shape, problem.dtype);
  }
};

// The library that is installed takes every descriptor of a convolution as it is described.
TEST(Cudnn, TakesTheDescriptorsOfConvolutions) {
  if (!cudnn::api()) GTEST_SKIP() << "cuDNN 9 is not installed";
  EXPECT_GE(cudnn::api()->version(), 90000u);
  for (const std::size_t axes : {1, 2, 3}) {
    for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
      for (const ConvResult result : {ConvResult::Output, ConvResult::Input, ConvResult::Weight}) {
        for (const std::int64_t groups : {1, 2}) {
          const Case c(axes, dtype, result, groups);
          EXPECT_EQ(describe_convolution(c.problem, c.x, c.w, c.y, "conv").size(), 5u);
        }
      }
    }
  }
}

TEST(Cudnn, RefusesSizesThatDoNotFit) {
  if (!cudnn::api()) GTEST_SKIP() << "cuDNN 9 is not installed";
  Case c(2, DType::Float32, ConvResult::Output, 1);
  c.problem.out[0] += 1;
  try {
    describe_convolution(c.problem, c.x, c.w, c.y, "conv2d");
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[conv2d] cuDNN: CUDNN_STATUS_BAD_PARAM")) << error.what();
  }
}

}  // namespace
}  // namespace lamella::cuda

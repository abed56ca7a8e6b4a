#include "ops/nn/cuda/conv_cudnn.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/matmul_precision.h"
#include "ops/nn/cuda/cudnn_plans.h"
#include "ops/support/dtypes.h"

// Note [Convolutions by cuDNN]
// Of the algorithms that cuDNN's heuristics propose for a problem, the first is taken that gives the same bits each
// time and that multiplies what it is given: none by transforms (Winograd's and Fourier's, by which an infinity or a
// large number spoils its neighbors), none that rounds float32 first unless float32_matmul_precision() allows TF32, and
// none that adds in 16 bits, or adds slices of a sum of which one is rounded to 16 bits. Each thread keeps the plans
// that it made, by the problem's sizes: to make one takes up to some milliseconds, to find it less than a microsecond.

namespace lamella::cuda {
namespace {

using lamella::detail::ConvProblem;
using lamella::detail::ConvResult;

constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 30;
constexpr std::int64_t kMostAlignment = 16;
using Key = ConvolutionKey;
using Sizes = std::vector<std::int64_t>;

std::int64_t alignment_of(const Tensor& x) {
  const auto bits = reinterpret_cast<std::uintptr_t>(x.raw_data());
  return std::min<std::int64_t>(kMostAlignment, std::int64_t{1} << std::countr_zero(bits | kMostAlignment));
}

Key key_of(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y) {
  Key key{static_cast<std::int64_t>(problem.result),
          static_cast<std::int64_t>(problem.dtype),
          static_cast<std::int64_t>(float32_matmul_precision()),
          x.device().index,
          alignment_of(x),
          alignment_of(w),
          alignment_of(y),
          problem.n,
          problem.c,
          problem.o,
          problem.groups};
  auto* to = key.data() + 11;
  for (const Dims* list :
       {&problem.in, &problem.kernel, &problem.out, &problem.stride, &problem.dilation, &problem.pad_low}) {
    std::ranges::copy(*list, to);
    to += 3;
  }
  return key;
}

/// Axes of space as cuDNN has them, which knows images and volumes: a row is an image of one row.
Sizes in_space(const Dims& list, std::int64_t missing) {
  Sizes found(list.size() == 1 ? 1 : 0, missing);
  found.insert(found.end(), list.begin(), list.end());
  return found;
}

cudnn::DataType data_type(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return cudnn::DataType::Float64;
    case DType::Float16:
      return cudnn::DataType::Float16;
    case DType::BFloat16:
      return cudnn::DataType::BFloat16;
    default:
      return cudnn::DataType::Float32;
  }
}

cudnn::Description tensor(const Tensor& data, DType dtype, std::int64_t id, std::int64_t first, std::int64_t second,
                          const Dims& space, const char* op) {
  Sizes dims = in_space(space, 1);
  dims.insert(dims.begin(), {first, second});
  Sizes strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  cudnn::Description made(cudnn::Kind::Tensor, op);
  made.set(cudnn::Attribute::TensorDataType, data_type(dtype))
      .set(cudnn::Attribute::TensorDimensions, std::span<const std::int64_t>(dims))
      .set(cudnn::Attribute::TensorStrides, std::span<const std::int64_t>(strides))
      .set(cudnn::Attribute::TensorUniqueId, id)
      .set(cudnn::Attribute::TensorByteAlignment, alignment_of(data))
      .finalize();
  return made;
}

constexpr std::array<std::int64_t, 3> kIds{'x', 'w', 'y'};

cudnn::Plan plan_of(cudnn::Context* context, const ConvProblem& problem, const Tensor& x, const Tensor& w,
                    const Tensor& y, const char* op) {
  using enum cudnn::Note;
  std::vector<cudnn::Note> refused{
      DownConvertInputs, ReducedPrecisionReduction, Fft, Nondeterministic, Winograd, WinogradTile4x4,
      WinogradTile6x6,   WinogradTile13x13};
  if (problem.dtype == DType::Float32 && float32_matmul_precision() == MatmulPrecision::Highest) {
    refused.push_back(TensorCore);
  }
  if (is_half(problem.dtype)) refused.push_back(SlicedSum);
  cudnn::GraphParts graph{describe_convolution(problem, x, w, y, op), {}};
  graph.operations.push_back(graph.parts.back().get());
  return cudnn::make_plan(context, std::move(graph), {refused, kMostWorkspace}, op);
}

/// True if cuDNN's own rule for sizes, which rounds down, gives the problem's.
bool sizes_fit(const ConvProblem& problem) {
  for (std::size_t i = 0; i < problem.in.size(); ++i) {
    if (problem.pad_low[i] < 0 || problem.in[i] < 1 || problem.out[i] < 1) return false;
    const std::int64_t padded = problem.in[i] + problem.pad_low[i] + std::max<std::int64_t>(problem.pad_high[i], 0);
    const std::int64_t reach = problem.dilation[i] * (problem.kernel[i] - 1) + 1;
    if (padded < reach || (padded - reach) / problem.stride[i] + 1 != problem.out[i]) return false;
  }
  return problem.n > 0 && problem.c > 0 && problem.o > 0;
}

}  // namespace

std::vector<cudnn::Description> describe_convolution(const ConvProblem& problem, const Tensor& x, const Tensor& w,
                                                     const Tensor& y, const char* op) {
  using cudnn::Attribute;
  const bool is_double = problem.dtype == DType::Float64;
  auto x_made = tensor(x, problem.dtype, kIds[0], problem.n, problem.c, problem.in, op);
  auto w_made = tensor(w, problem.dtype, kIds[1], problem.o, problem.c / problem.groups, problem.kernel, op);
  auto y_made = tensor(y, problem.dtype, kIds[2], problem.n, problem.o, problem.out, op);

  // Where the last pixels are not read, the negative padding says so; cuDNN leaves them out by rounding down.
  Dims pad_high = problem.pad_high;
  for (std::int64_t& pad : pad_high) pad = std::max<std::int64_t>(pad, 0);
  const Sizes before = in_space(problem.pad_low, 0);
  const Sizes after = in_space(pad_high, 0);
  const Sizes strides = in_space(problem.stride, 1);
  const Sizes dilations = in_space(problem.dilation, 1);
  cudnn::Description convolution(cudnn::Kind::Convolution, op);
  convolution.set(Attribute::ConvolutionComputeType, is_double ? cudnn::DataType::Float64 : cudnn::DataType::Float32)
      .set(Attribute::ConvolutionMode, cudnn::ConvolutionMode::CrossCorrelation)
      .set(Attribute::ConvolutionSpatialAxes, static_cast<std::int64_t>(strides.size()))
      .set(Attribute::ConvolutionPrePaddings, std::span<const std::int64_t>(before))
      .set(Attribute::ConvolutionPostPaddings, std::span<const std::int64_t>(after))
      .set(Attribute::ConvolutionStrides, std::span<const std::int64_t>(strides))
      .set(Attribute::ConvolutionDilations, std::span<const std::int64_t>(dilations))
      .finalize();

  struct Names {
    cudnn::Kind kind;
    Attribute alpha, beta, convolution, x, w, y;
  };
  static constexpr Names kNames[] = {
      {cudnn::Kind::Forward, Attribute::ForwardAlpha, Attribute::ForwardBeta, Attribute::ForwardConvolution,
       Attribute::ForwardX, Attribute::ForwardW, Attribute::ForwardY},
      {cudnn::Kind::BackwardData, Attribute::BackwardDataAlpha, Attribute::BackwardDataBeta,
       Attribute::BackwardDataConvolution, Attribute::BackwardDataDx, Attribute::BackwardDataW,
       Attribute::BackwardDataDy},
      {cudnn::Kind::BackwardFilter, Attribute::BackwardFilterAlpha, Attribute::BackwardFilterBeta,
       Attribute::BackwardFilterConvolution, Attribute::BackwardFilterX, Attribute::BackwardFilterDw,
       Attribute::BackwardFilterDy},
  };
  const Names& names = kNames[static_cast<std::size_t>(problem.result)];
  cudnn::Description operation(names.kind, op);
  operation.set(names.convolution, convolution).set(names.x, x_made).set(names.w, w_made).set(names.y, y_made);
  if (is_double) {
    operation.set(names.alpha, 1.0).set(names.beta, 0.0);
  } else {
    operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
  }
  operation.finalize();
  std::vector<cudnn::Description> parts;
  for (cudnn::Description* part : {&x_made, &w_made, &y_made, &convolution, &operation}) {
    parts.push_back(std::move(*part));
  }
  return parts;
}

bool convolve_by_cudnn(const ConvProblem& problem, const Tensor& x, const Tensor& w, const Tensor& y, const char* op) {
  if (!is_cudnn_enabled() || !cudnn::api() || !sizes_fit(problem)) return false;
  auto& plans = CudnnPlans::of_thread().convolutions;
  const DeviceGuard guard(x.device());  // a context works where it was made
  const Key key = key_of(problem, x, w, y);
  auto found = plans.find(key);
  if (found == plans.end()) {
    if (plans.size() >= CudnnPlans::kMost) plans.clear();
    std::optional<cudnn::Plan> made;
    try {
      made = plan_of(cudnn::context(x.device()), problem, x, w, y, op);
    } catch (const RuntimeError&) {
      made = std::nullopt;  // the kernels of the library compute it
    }
    found = plans.emplace(key, std::move(made)).first;
  }
  if (!found->second) return false;
  const cudnn::Plan& plan = *found->second;
  const Tensor workspace = plan.workspace ? empty({plan.workspace}, DType::UInt8, x.device()) : Tensor();
  const std::array<void*, 3> data{x.raw_data(), w.raw_data(), y.raw_data()};
  cudnn::execute(cudnn::context(x.device()), plan, kIds, data, workspace.defined() ? workspace.raw_data() : nullptr,
                 op);
  return true;
}

}  // namespace lamella::cuda

#pragma once

// Header for sources of operators written for OneFlow, on Lamella: docs/compat.md.

#ifdef __NVCC__
#pragma nv_diag_suppress 611  // kernels override one of several forms of Compute
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../common/data_type_seq.h"
#include "../common/util.h"
#include "engine/core/half.h"
#include "ops/user_op/register.h"

namespace oneflow {

namespace user_op {
using namespace ::lamella::user_op;  // NOLINT(google-build-using-namespace): sources add to this namespace
}  // namespace user_op

using float16 = ::lamella::Half;
using ::lamella::user_op::AttrType;
using ::lamella::user_op::AxisVector;
using ::lamella::user_op::CreateLeftExtendedShape;
using ::lamella::user_op::CreateReducedShape;
using ::lamella::user_op::CreateReducedShapeOrOnesShape;
using ::lamella::user_op::DataType;
using Device = ::lamella::user_op::NamedDevice;
using ::lamella::user_op::DeviceCtx;
using ::lamella::user_op::DeviceType;
using ::lamella::user_op::DimVector;
using ::lamella::user_op::Error;
using ::lamella::user_op::GetDataType;
using ::lamella::user_op::Maybe;
using ::lamella::user_op::ParallelContext;
using ::lamella::user_op::Shape;
using ::lamella::user_op::ShapeView;
using ::lamella::user_op::Symbol;
using ::lamella::user_op::UserOpAttrType;

/// The streams of kernels' work, `ctx->stream()->As<ep::CudaStream>()`.
namespace ep {
using Stream = ::lamella::user_op::DeviceCtx;
using CpuStream = Stream;
using CudaStream = Stream;
}  // namespace ep

/// Conditions of kernels that are computed by any function of a call.
namespace hob {
template <class Get>
auto make_custom(const std::string& text, Get get) {
  return user_op::HobCtxGetter<std::decay_t<std::invoke_result_t<Get&, const user_op::KernelRegContext&>>>(
      text, std::move(get));
}
}  // namespace hob

inline bool IsFloatingDataType(DataType type) {
  using enum DataType;
  return type == kFloat || type == kDouble || type == kFloat16 || type == kBFloat16;
}
inline bool IsIntegralDataType(DataType type) {
  using enum DataType;
  return type == kChar || type == kInt8 || type == kUInt8 || type == kInt16 || type == kUInt16 || type == kInt32 ||
         type == kUInt32 || type == kInt64 || type == kUInt64;
}
/// Returns the number of bytes of an element.
inline std::size_t GetSizeOfDataType(DataType type) {
  using enum DataType;
  switch (type) {
    case kDouble:
    case kInt64:
    case kUInt64:
    case kComplex64:
      return 8;
    case kFloat:
    case kInt32:
    case kUInt32:
      return 4;
    case kFloat16:
    case kBFloat16:
    case kInt16:
    case kUInt16:
      return 2;
    case kComplex128:
      return 16;
    default:
      return 1;
  }
}

}  // namespace oneflow

/// The devices that kernels are compiled for, for OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE.
#ifdef __CUDACC__
#define DEVICE_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(DeviceType::kCPU) OF_PP_MAKE_TUPLE_SEQ(DeviceType::kCUDA)
#else
#define DEVICE_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(DeviceType::kCPU)
#endif

/// Marks functions for the host and the device.
#ifdef __CUDACC__
#define OF_DEVICE_FUNC __device__ __host__ __forceinline__
#else
#define OF_DEVICE_FUNC inline
#endif

/// Returns the error of a Maybe from the function around it.
#define OF_RETURN_IF_ERROR(...) JUST(__VA_ARGS__)

#ifdef __CUDACC__
/// Runs the body for each i below n, spread over the threads of the grid.
#define CUDA_1D_KERNEL_LOOP(i, n)                                       \
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), \
           lamella_step = static_cast<int>(blockDim.x * gridDim.x);     \
       i < (n); i += lamella_step)

namespace oneflow {

constexpr int kCudaThreadsNumPerBlock = 512;
/// Returns the number of blocks for a loop over n elements.
inline int BlocksNum4ThreadsNum(int n) {
  const int blocks = (n + kCudaThreadsNumPerBlock - 1) / kCudaThreadsNumPerBlock;
  return blocks < 1 ? 1 : (blocks > 4096 ? 4096 : blocks);
}

}  // namespace oneflow
#endif

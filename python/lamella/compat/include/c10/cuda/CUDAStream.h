#pragma once

#include "ATen/core/Tensor.h"
#include "c10/cuda/CUDAException.h"
#include "engine/runtime/cuda/stream.h"

namespace c10::cuda {

/// Stream of a thread's work on a device.
class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_;
};

/// Returns the stream of the current device, or of the named one.
inline CUDAStream getCurrentCUDAStream(DeviceIndex index = -1) {
  int current = index;
  if (index < 0) C10_CUDA_CHECK(cudaGetDevice(&current));
  return CUDAStream(lamella::cuda::current_stream(lamella::Device(lamella::DeviceType::CUDA, current)));
}

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
}  // namespace at::cuda

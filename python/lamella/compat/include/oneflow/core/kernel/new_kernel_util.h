#pragma once

// Functions shared by kernels on the CPU: docs/compat.md.

#include <cstddef>
#include <cstdint>

#include "oneflow/core/framework/framework.h"

namespace oneflow {

template <DeviceType device_type>
struct NewKernelUtil;

template <>
struct NewKernelUtil<DeviceType::kCPU> {
  template <class T>
  static void Relu(DeviceCtx*, std::int64_t n, const T* x, T* y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] > T(0) ? x[i] : T(0);
  }
  template <class T>
  static void ReluBackward(DeviceCtx*, std::int64_t n, const T*, const T* y, const T* dy, T* dx) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] > T(0) ? dy[i] : T(0);
  }
  template <class T>
  static void Sigmoid(DeviceCtx*, std::int64_t n, const T* x, T* y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = T(1) / (T(1) + std::exp(-x[i]));
  }
  template <class T>
  static void SigmoidBackward(DeviceCtx*, std::int64_t n, const T*, const T* y, const T* dy, T* dx) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (T(1) - y[i]) * dy[i];
  }
  template <class T>
  static void Fill(DeviceCtx*, std::int64_t n, double value, T* y) {
    std::fill_n(y, n, static_cast<T>(value));
  }
};

/// Copies bytes between memory of a device.
template <DeviceType device_type>
void Memcpy(DeviceCtx*, void* into, const void* from, std::size_t bytes) {
  static_assert(device_type == DeviceType::kCPU, "kernels for GPUs call cudaMemcpyAsync on ctx->cuda_stream()");
  if (bytes != 0 && into != from) std::memcpy(into, from, bytes);
}

}  // namespace oneflow

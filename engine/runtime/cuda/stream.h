#pragma once

#include <cuda_runtime_api.h>

#include "engine/core/device.h"

namespace lamella::cuda {

/// Returns the stream for this thread's work on `device`; initially the default stream.
cudaStream_t current_stream(Device device) noexcept;
/// Sets that stream; null for the default one. Returns the one before.
cudaStream_t set_current_stream(Device device, cudaStream_t stream);

/// New stream, which does not wait for the default stream.
class Stream {
 public:
  /// Work of streams with a lower priority is preferred; those beyond the device's range count as its ends.
  explicit Stream(Device device, int priority = 0);
  /// Waits for the stream's work.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return device_; }
  cudaStream_t get() const { return stream_; }
  void synchronize() const;

 private:
  Device device_;
  cudaStream_t stream_ = nullptr;
};

/// True if the stream is a device's, and there is such a stream; true for null.
bool is_stream_of(Device device, cudaStream_t stream);
/// Has this thread's current stream of each device wait for the work that the device's other streams have now.
void join_all_streams();

/// Directs this thread's work on a device to `stream` during its lifetime.
///
/// Memory belongs to the stream that was current when it was allocated: a tensor used on another stream must live until
/// that stream is done.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Device device_;
  cudaStream_t previous_;
};

}  // namespace lamella::cuda

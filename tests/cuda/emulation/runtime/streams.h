#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace emulation {

/// Runs work of streams in their order: at once, or, if Settings::deferred is set, when something waits for it.
///
/// As on a device, streams are ordered by events alone, except that the default stream and those made without
/// cudaStreamNonBlocking wait for one another. The functions are called with the runtime's lock held.

/// Queues work; `stream` may be null, for the default stream of the current device. Work that returns cudaErrorNotReady
/// waits for another process, and is called again.
cudaError_t enqueue(cudaStream_t stream, std::function<cudaError_t()> work);
/// Runs everything that is queued in a stream, or in all streams of a device.
void drain(cudaStream_t stream);
void drain_device(int device);

/// True if what is queued in a stream is noted for a graph instead.
bool is_capturing(cudaStream_t stream);
/// Ends the capture of a stream without a graph, for a call that captured streams refuse; returns that error.
cudaError_t invalidate(cudaStream_t stream);
/// True if a stream of the device is captured.
bool captures(int device);

/// The device of a stream.
int device_of(cudaStream_t stream);

/// Returns the error that no later call forgets, if there was one.
cudaError_t sticky_error();
void set_sticky_error(cudaError_t error);
/// Notes the error for cudaGetLastError(), and returns it.
cudaError_t noted(cudaError_t error);

/// The runtime's lock: held while anything of it runs, kernels included.
std::recursive_mutex& lock();

/// The current device of this thread.
int& current_device();

/// False in a process that was forked after the runtime had been used, as with CUDA.
bool usable();

/// Counts of the calls since the process began.
enum Counter {
  kLaunches,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kFills,
  /// Calls in which the host waits for a device: of streams, events and devices, and copies that return when done.
  kWaits,
  kAllocations,
  kCopiedBytes,
  kCounters,
};
void count(Counter counter, std::uint64_t by = 1);
/// Copies the first `count` counters.
void read_counters(std::uint64_t* to, int count);

}  // namespace emulation

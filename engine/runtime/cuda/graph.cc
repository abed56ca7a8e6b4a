// Registers CUDA's graphs.

#include "engine/runtime/graphs.h"

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/core/allocator.h"
#include "engine/core/error.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"

namespace lamella::cuda {
namespace {

/// The capture that a thread has begun.
struct Capture {
  cudaStream_t stream = nullptr;
  cudaStream_t before = nullptr;
};
thread_local constinit Capture capture;

class Runtime final : public GraphRuntime {
 public:
  void* begin(Device device, void* pool) override {
    refuse_capture("CUDAGraph", "this thread captures another one");
    const DeviceGuard guard(device);
    if (!allocator(device).keeps())
      fail<RuntimeError>("[CUDAGraph] graphs need memory that is kept: unset LAMELLA_NO_CUDA_MEMORY_CACHE");
    // Earlier graphs of the pool may still run, in whichever stream, on the memory that this one takes.
    check(cudaDeviceSynchronize(), "CUDAGraph");
    cudaStream_t stream = static_cast<cudaStream_t>(pool);
    if (!stream) stream = take_stream(device);
    allocator(device).hold(stream);
    capture = {stream, current_stream(device)};
    const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    if (status != cudaSuccess) allocator(device).release_hold(stream);
    check(status, "CUDAGraph");
    set_current_stream(device, stream);
    set_capturing(true);
    return stream;
  }

  void* end(Device device) override {
    if (!is_capturing()) fail<RuntimeError>("[CUDAGraph] this thread captures no graph");
    const DeviceGuard guard(device);
    set_capturing(false);
    set_current_stream(device, capture.before);
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(capture.stream, &graph);
    if (ended != cudaSuccess) static_cast<void>(cudaGetLastError());  // no later launch is to find it
    check(ended, "CUDAGraph");
    cudaGraphExec_t made = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    check(status, "CUDAGraph");
    return made;
  }

  void launch(Device device, void* graph) override {
    refuse_capture("CUDAGraph", "a graph does not repeat others");
    const DeviceGuard guard(device);
    check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), current_stream(device)), "CUDAGraph");
  }

  void copy(Device device, void* to, const void* from, std::size_t bytes) override {
    const DeviceGuard guard(device);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current_stream(device)), "CUDAGraph");
  }

  void destroy(Device device, void* graph, void* pool) noexcept override {
    try {
      const DeviceGuard guard(device);
      if (graph) static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
      if (!allocator(device).release_hold(pool)) return;
      const std::lock_guard lock(mutex_);
      idle_[device.index].push_back(static_cast<cudaStream_t>(pool));
    } catch (const std::exception&) {
      // While the process ends, the driver may be gone.
    }
  }

 private:
  /// Returns a stream that no graph uses. Streams live as long as the process, as memory may be theirs.
  cudaStream_t take_stream(Device device) {
    const std::lock_guard lock(mutex_);
    std::vector<cudaStream_t>& idle = idle_[device.index];
    if (idle.empty()) {
      streams_.push_back(std::make_unique<Stream>(device));
      return streams_.back()->get();
    }
    const cudaStream_t found = idle.back();
    idle.pop_back();
    return found;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<int, std::vector<cudaStream_t>> idle_;  // by device
};

[[maybe_unused]] const bool kRegistered = [] {
  register_graph_runtime(DeviceType::CUDA, std::make_unique<Runtime>());
  return true;
}();

}  // namespace
}  // namespace lamella::cuda

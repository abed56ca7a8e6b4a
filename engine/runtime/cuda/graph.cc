// Registers CUDA's graphs.

#include "engine/runtime/graphs.h"

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/core/allocator.h"
#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "engine/runtime/captured_draws.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/draws.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/generator.h"

namespace lamella::cuda {
namespace {

/// The capture that a thread has begun.
struct Capture {
  cudaStream_t stream = nullptr;
  cudaStream_t before = nullptr;
  std::unique_ptr<CapturedDraws> draws;
  /// Seed and counter at which a run's random numbers begin: see Note [Random numbers of graphs].
  Tensor begin;
};
thread_local std::unique_ptr<Capture> capture;

/// A graph that was captured.
struct Graph {
  cudaGraphExec_t work = nullptr;
  /// Number of counters of the default generator that a run draws; the rest is for graphs that draw.
  std::uint64_t drawn = 0;
  Tensor begin;
  /// Guards the order of what is written to `begin` and the run that reads it.
  std::mutex mutex;
  /// The end of the last run, and its stream.
  cudaEvent_t ended = nullptr;
  cudaStream_t stream = nullptr;

  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (work) static_cast<void>(cudaGraphExecDestroy(work));
    if (ended) static_cast<void>(cudaEventDestroy(ended));
  }
};

class Runtime final : public GraphRuntime {
 public:
  void* begin(Device device, void* pool) override {
    refuse_capture("CUDAGraph", "this thread captures another one");
    const DeviceGuard guard(device);
    if (!allocator(device).keeps())
      fail<RuntimeError>("[CUDAGraph] graphs need memory that is kept: unset LAMELLA_NO_CUDA_MEMORY_CACHE");
    // Earlier graphs of the pool may still run, in whichever stream, on the memory that this one takes.
    check(cudaDeviceSynchronize(), "CUDAGraph");
    auto draws = std::make_unique<CapturedDraws>(device);
    cudaStream_t stream = static_cast<cudaStream_t>(pool);
    if (!stream) stream = take_stream(device);
    allocator(device).hold(stream);
    capture = std::make_unique<Capture>(Capture{stream, current_stream(device), std::move(draws), {}});
    const cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    if (status != cudaSuccess) {
      allocator(device).release_hold(stream);
      capture.reset();
    }
    check(status, "CUDAGraph");
    set_current_stream(device, stream);
    set_capturing(true);
    return stream;
  }

  void* end(Device device) override {
    if (!is_capturing()) fail<RuntimeError>("[CUDAGraph] this thread captures no graph");
    const DeviceGuard guard(device);
    set_capturing(false);
    const Capture ended = std::move(*std::exchange(capture, nullptr));
    set_current_stream(device, ended.before);
    auto made = std::make_unique<Graph>();
    made->drawn = ended.begin.defined() ? ended.draws->drawn() : 0;
    made->begin = ended.begin;
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(ended.stream, &graph);
    if (status != cudaSuccess) static_cast<void>(cudaGetLastError());  // no later launch is to find it
    check(status, "CUDAGraph");
    const cudaError_t instantiated = cudaGraphInstantiate(&made->work, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    check(instantiated, "CUDAGraph");
    if (made->drawn) check(cudaEventCreateWithFlags(&made->ended, cudaEventDisableTiming), "CUDAGraph");
    return made.release();
  }

  void launch(Device device, void* graph) override {
    refuse_capture("CUDAGraph", "a graph does not repeat others");
    const DeviceGuard guard(device);
    auto& made = *static_cast<Graph*>(graph);
    const cudaStream_t stream = current_stream(device);
    if (made.drawn == 0) return check(cudaGraphLaunch(made.work, stream), "CUDAGraph");
    const std::lock_guard lock(made.mutex);
    // Where the numbers begin is written for this run after the one before has read it, in whichever stream that is.
    if (made.stream != stream) check(cudaStreamWaitEvent(stream, made.ended), "CUDAGraph");
    const GeneratorState from = default_generator(device).reserve(made.drawn);
    write_begin_of_draws(made.begin.data<std::uint64_t>(), from.seed, from.offset, stream);
    check(cudaGraphLaunch(made.work, stream), "CUDAGraph");
    check(cudaEventRecord(made.ended, stream), "CUDAGraph");
    made.stream = stream;
  }

  void copy(Device device, void* to, const void* from, std::size_t bytes) override {
    const DeviceGuard guard(device);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current_stream(device)), "CUDAGraph");
  }

  void destroy(Device device, void* graph, void* pool) noexcept override {
    try {
      const DeviceGuard guard(device);
      delete static_cast<Graph*>(graph);
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

const std::uint64_t* begin_of_draws(Device device, std::uint64_t seed, std::uint64_t& offset, const char* op) {
  if (!is_capturing()) return nullptr;
  const GeneratorState start = capture->draws->start();
  if (seed != start.seed || offset - start.offset >= capture->draws->drawn())
    refuse_capture(op, "it draws from another generator than the default one of the device that is captured");
  offset -= start.offset;
  // Memory of the graph's own.
  if (!capture->begin.defined()) capture->begin = empty({2}, DType::UInt64, device);
  return capture->begin.data<std::uint64_t>();
}

}  // namespace lamella::cuda

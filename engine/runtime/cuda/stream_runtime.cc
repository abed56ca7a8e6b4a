// Registers CUDA's streams and events.

#include "engine/runtime/streams.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/core/host.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/graphs.h"

namespace lamella::cuda {
namespace {

/// Streams of a device and a priority: more are not worth having, as a device runs few kernels at a time.
constexpr std::size_t kStreams = 32;

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

/// True unless work is pending; throws for an error.
bool is_done(cudaError_t status, const char* op) {
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(status, op);
  return true;
}

/// Lets other threads of the host run while this one waits for a device.
class Waiting {
 public:
  Waiting() { refuse_capture("synchronize", "the host would wait for the device"); }

 private:
  HostRelease release_{std::numeric_limits<std::int64_t>::max()};
};

class Runtime final : public StreamRuntime {
 public:
  void* stream(Device device, int priority) override {
    constexpr int kHighest = -8;  // below what any device has
    const std::lock_guard lock(mutex_);
    Pool& pool = pools_[{device.index, std::clamp(priority, kHighest, 0)}];
    std::unique_ptr<Stream>& found = pool.streams[pool.next % kStreams];
    if (!found) found = std::make_unique<Stream>(device, priority);
    ++pool.next;
    return found->get();
  }
  bool knows(Device device, void* stream) override { return is_stream_of(device, as_stream(stream)); }
  void* current(Device device) override { return current_stream(device); }
  void set_current(Device device, void* stream) override { set_current_stream(device, as_stream(stream)); }
  void join() override { join_all_streams(); }
  void synchronize(Device device, void* stream) override {
    const DeviceGuard guard(device);
    const Waiting waiting;
    check(cudaStreamSynchronize(as_stream(stream)), "synchronize");
    raise_late_error(device);
  }
  bool is_idle(Device device, void* stream) override {
    const DeviceGuard guard(device);
    return is_done(cudaStreamQuery(as_stream(stream)), "query");
  }

  void* create_event(Device device, bool timed) override {
    const DeviceGuard guard(device);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming), "event");
    return event;
  }
  void destroy_event(Device, void* event) noexcept override { static_cast<void>(cudaEventDestroy(as_event(event))); }
  void record(Device device, void* event, void* stream) override {
    const DeviceGuard guard(device);
    check(cudaEventRecord(as_event(event), as_stream(stream)), "record");
  }
  void wait(Device device, void* stream, void* event) override {
    const DeviceGuard guard(device);
    check(cudaStreamWaitEvent(as_stream(stream), as_event(event), 0), "wait");
  }
  void synchronize_event(Device device, void* event) override {
    const DeviceGuard guard(device);
    const Waiting waiting;
    check(cudaEventSynchronize(as_event(event)), "synchronize");
    raise_late_error(device);
  }
  bool has_occurred(Device device, void* event) override {
    const DeviceGuard guard(device);
    return is_done(cudaEventQuery(as_event(event)), "query");
  }
  float milliseconds(Device device, void* begin, void* end) override {
    const DeviceGuard guard(device);
    float result = 0;
    check(cudaEventElapsedTime(&result, as_event(begin), as_event(end)), "elapsed_time");
    return result;
  }
  void order(Device device, void* before, void* after) override {
    if (before == after) return;
    void* const event = create_event(device, false);
    try {
      record(device, event, before);
      wait(device, after, event);
    } catch (...) {
      destroy_event(device, event);
      throw;
    }
    destroy_event(device, event);
  }
  int device_of(const void* address) override {
    cudaPointerAttributes found{};
    check(cudaPointerGetAttributes(&found, address), "device");
    const bool on_device = found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged;
    return on_device ? found.device : -1;
  }

 private:
  struct Pool {
    std::array<std::unique_ptr<Stream>, kStreams> streams;
    std::size_t next = 0;
  };

  std::mutex mutex_;
  std::map<std::pair<int, int>, Pool> pools_;  // by device and priority
};

[[maybe_unused]] const bool kRegistered = [] {
  register_stream_runtime(DeviceType::CUDA, std::make_unique<Runtime>());
  return true;
}();

}  // namespace
}  // namespace lamella::cuda

#include "engine/runtime/cuda/stream.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "engine/core/tensor.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/late_error.h"
#include "engine/runtime/graphs.h"
#include "engine/runtime/streams.h"

namespace lamella::cuda {
namespace {

constexpr std::size_t kMaxDevices = 64;

struct Streams;
thread_local constinit const Streams* current_streams = nullptr;

/// A thread's current streams. Not thread_local themselves: a library that is loaded late has room there for a
/// kilobyte.
struct Streams {
  std::array<cudaStream_t, kMaxDevices> of{};

  Streams() { current_streams = this; }
  ~Streams() { current_streams = nullptr; }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
};

/// All streams that there are but the default ones, with their devices. Never destroyed: streams may be.
struct AllStreams {
  std::mutex mutex;
  std::map<cudaStream_t, Device> of;
};

AllStreams& all_streams() {
  static auto* const all = new AllStreams;
  return *all;
}

Streams& own_streams() {
  thread_local const auto own = std::make_unique<Streams>();
  return *own;
}

[[maybe_unused]] const bool kRegistered = [] {
  register_current_stream(DeviceType::CUDA, [](Device device) -> void* { return current_stream(device); });
  return true;
}();

}  // namespace

cudaStream_t current_stream(Device device) noexcept {
  const auto index = static_cast<std::size_t>(device.index);
  return current_streams && index < kMaxDevices ? current_streams->of[index] : nullptr;
}

cudaStream_t set_current_stream(Device device, cudaStream_t stream) {
  check_device(device);
  if (stream) note_streams_in_use();
  return std::exchange(own_streams().of[static_cast<std::size_t>(device.index)], stream);
}

Stream::Stream(Device device, int priority) : device_(device) {
  const DeviceGuard guard(device);
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "stream");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, std::clamp(priority, highest, lowest)), "stream");
  const std::lock_guard lock(all_streams().mutex);
  all_streams().of.emplace(stream_, device);
}

Stream::~Stream() {
  {
    const std::lock_guard lock(all_streams().mutex);
    all_streams().of.erase(stream_);
  }
  static_cast<void>(cudaStreamSynchronize(stream_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::synchronize() const {
  check(cudaStreamSynchronize(stream_), "stream");
  raise_late_error(device_);
}

bool is_stream_of(Device device, cudaStream_t stream) {
  if (!stream) return true;
  const std::lock_guard lock(all_streams().mutex);
  const auto found = all_streams().of.find(stream);
  return found != all_streams().of.end() && found->second == device;
}

void join_all_streams() {
  // Captured work cannot depend on what other streams have now: a graph is for later.
  if (is_capturing()) return;
  const std::lock_guard lock(all_streams().mutex);
  std::set<int> devices;
  for (const auto& [stream, device] : all_streams().of) devices.insert(device.index);
  for (const int index : devices) {
    const Device device(DeviceType::CUDA, index);
    const DeviceGuard guard(device);
    const cudaStream_t current = current_stream(device);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "backward");
    const auto wait_for = [&](cudaStream_t other) {
      if (other == current) return cudaSuccess;
      const cudaError_t recorded = cudaEventRecord(event, other);
      return recorded == cudaSuccess ? cudaStreamWaitEvent(current, event, 0) : recorded;
    };
    cudaError_t status = wait_for(nullptr);
    for (const auto& [stream, owner] : all_streams().of) {
      if (owner == device && status == cudaSuccess) status = wait_for(stream);
    }
    static_cast<void>(cudaEventDestroy(event));
    check(status, "backward");
  }
}

StreamGuard::StreamGuard(const Stream& stream)
    : device_(stream.device()), previous_(set_current_stream(device_, stream.get())) {}

StreamGuard::~StreamGuard() { own_streams().of[static_cast<std::size_t>(device_.index)] = previous_; }

}  // namespace lamella::cuda

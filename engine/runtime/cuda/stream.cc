#include "engine/runtime/cuda/stream.h"

#include <array>
#include <memory>
#include <utility>

#include "engine/core/tensor.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"

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
  return std::exchange(own_streams().of[static_cast<std::size_t>(device.index)], stream);
}

Stream::Stream(Device device) : device_(device) {
  const DeviceGuard guard(device);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
}

Stream::~Stream() {
  static_cast<void>(cudaStreamSynchronize(stream_));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::synchronize() const { check(cudaStreamSynchronize(stream_), "stream"); }

StreamGuard::StreamGuard(const Stream& stream)
    : device_(stream.device()), previous_(set_current_stream(device_, stream.get())) {}

StreamGuard::~StreamGuard() { own_streams().of[static_cast<std::size_t>(device_.index)] = previous_; }

}  // namespace lamella::cuda

#include <array>
#include <memory>

#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/device_query.h"

namespace lamella::cuda {
namespace {

constexpr std::size_t kMaxDevices = 64;

struct Streams;
thread_local constinit const Streams* current_streams = nullptr;

/// A thread's current streams. Not thread_local themselves, because a library that is loaded late has only about a
/// kilobyte for thread_local objects.
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

struct DeviceProbe {
  int count = 0;
  cudaError_t status = cudaSuccess;
};

/// Queries the driver once: the answer does not change in a process.
const DeviceProbe& devices() noexcept {
  static const DeviceProbe probe = [] {
    DeviceProbe found;
    found.status = cudaGetDeviceCount(&found.count);
    if (found.status != cudaSuccess) {
      found.count = 0;
      cudaGetLastError();  // the error is stored here and must not appear at the next launch
    }
    return found;
  }();
  return probe;
}

[[maybe_unused]] const bool kRegistered = [] {
  register_device_runtime(DeviceType::CUDA, {.count = []() noexcept { return devices().count; },
                                             .synchronize =
                                                 [](Device device) {
                                                   const DeviceGuard guard(device);
                                                   check(cudaDeviceSynchronize(), "synchronize");
                                                 }});
  register_current_stream(DeviceType::CUDA, [](Device device) -> void* { return current_stream(device); });
  return true;
}();

}  // namespace

void detail::fail_cuda(cudaError_t status, std::string_view op) {
  cudaGetLastError();
  fail<RuntimeError>("[", op, "] CUDA: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")");
}

void check_device(Device device) {
  const DeviceProbe& found = devices();
  if (device.is_cuda() && device.index >= 0 && device.index < found.count) return;
  if (found.status != cudaSuccess) {
    fail<RuntimeError>("[device] ", device, " cannot be used: ", cudaGetErrorString(found.status), " (",
                       cudaGetErrorName(found.status), ")");
  }
  fail<RuntimeError>("[device] there is no ", device, ": CUDA devices here: ", found.count);
}

DeviceGuard::DeviceGuard(Device device) {
  check_device(device);
  check(cudaGetDevice(&previous_), "device");
  if (previous_ != device.index) {
    check(cudaSetDevice(device.index), "device");
    changed_ = true;
  }
}

DeviceGuard::~DeviceGuard() {
  if (changed_) static_cast<void>(cudaSetDevice(previous_));
}

cudaStream_t current_stream(Device device) noexcept {
  const auto index = static_cast<std::size_t>(device.index);
  return current_streams && index < kMaxDevices ? current_streams->of[index] : nullptr;
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

StreamGuard::StreamGuard(const Stream& stream) : device_(stream.device()), previous_(current_stream(device_)) {
  own_streams().of[static_cast<std::size_t>(device_.index)] = stream.get();
}

StreamGuard::~StreamGuard() { own_streams().of[static_cast<std::size_t>(device_.index)] = previous_; }

}  // namespace lamella::cuda

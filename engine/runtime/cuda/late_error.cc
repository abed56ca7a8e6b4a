#include "engine/runtime/cuda/late_error.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/graphs.h"

namespace lamella::cuda {
namespace {

constexpr std::size_t kMaxDevices = 64;

/// The slots of devices whose kernels have been given one; they stay until the process ends, as kernels may run then.
std::array<std::atomic<LateErrorSlot*>, kMaxDevices>& slots() {
  static std::array<std::atomic<LateErrorSlot*>, kMaxDevices> all{};
  return all;
}

LateErrorSlot* slot_of(Device device) {
  std::atomic<LateErrorSlot*>& slot = slots().at(static_cast<std::size_t>(device.index));
  if (LateErrorSlot* const found = slot.load(std::memory_order_acquire)) return found;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (LateErrorSlot* const found = slot.load(std::memory_order_acquire)) return found;
  const DeviceGuard guard(device);
  void* made = nullptr;
  check(cudaHostAlloc(&made, sizeof(LateErrorSlot), cudaHostAllocPortable | cudaHostAllocMapped), "device");
  auto* const result = new (made) LateErrorSlot{};
  slot.store(result, std::memory_order_release);
  return result;
}

bool is_blocking() {
  static const bool blocking = [] {
    const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
    return value && *value && std::string_view(value) != "0";
  }();
  return blocking;
}

}  // namespace

LateReport late_report(Device device, RaiseLate raise, const char* op) { return {slot_of(device), raise, op}; }

void raise_late_error(Device device) {
  LateErrorSlot* const slot = slots().at(static_cast<std::size_t>(device.index)).load(std::memory_order_acquire);
  if (!slot) return;
  const std::atomic_ref state(slot->state);
  if (state.load(std::memory_order_acquire) != LateErrorSlot::kComplete) return;
  const LateErrorSlot found = *slot;
  state.store(LateErrorSlot::kFree, std::memory_order_release);
  LateNumbers numbers{};
  std::ranges::copy(found.numbers, numbers.begin());
  found.raise(
      found.op, numbers,
      is_blocking() ? "" : " (found on the device: CUDA_LAUNCH_BLOCKING=1 raises this in the call that it is from)");
}

void raise_if_blocking(Device device) {
  if (is_blocking() && !is_capturing()) raise_late_error(device);
}

}  // namespace lamella::cuda

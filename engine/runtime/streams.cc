#include "engine/runtime/streams.h"

#include <array>
#include <utility>

#include "engine/core/allocator.h"
#include "engine/core/error.h"

namespace lamella {
namespace {

/// Never destroyed: streams outlive static objects.
StreamRuntime*& runtime_of(DeviceType type) {
  static constinit std::array<StreamRuntime*, kDeviceTypeCount> runtimes{};
  return runtimes[static_cast<std::size_t>(type)];
}

}  // namespace

void register_stream_runtime(DeviceType type, std::unique_ptr<StreamRuntime> runtime) {
  runtime_of(type) = runtime.release();
}

StreamRuntime& stream_runtime(Device device) {
  if (StreamRuntime* const runtime = runtime_of(device.type)) return *runtime;
  fail<RuntimeError>("[stream] ", device, " has no streams in this build of Lamella");
}

namespace detail {
std::atomic<bool> streams_in_use{false};
}

void note_streams_in_use() noexcept { detail::streams_in_use.store(true, std::memory_order_relaxed); }

void join_streams() {
  for (std::size_t type = 0; type < kDeviceTypeCount; ++type) {
    if (StreamRuntime* const runtime = runtime_of(static_cast<DeviceType>(type))) runtime->join();
  }
}

void note_use(const Tensor& x, void* stream) {
  if (!x->storage) return;
  const Storage& storage = *x->storage;
  if (storage.data && !storage.deleter && storage.context != stream)
    allocator(x.device()).record_use(storage.data, stream);
}

void note_use(const Tensor& x) {
  if (!x.defined()) return;
  if (StreamRuntime* const runtime = runtime_of(x.device().type)) note_use(x, runtime->current(x.device()));
}

Event::Event(Device device, bool timed)
    : device_(device), timed_(timed), event_(stream_runtime(device).create_event(device, timed)) {}

Event::~Event() { stream_runtime(device_).destroy_event(device_, event_); }

void Event::record(void* stream) {
  stream_runtime(device_).record(device_, event_, stream);
  recorded_ = true;
}

}  // namespace lamella

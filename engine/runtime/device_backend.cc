#include "engine/runtime/device_backend.h"

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "engine/core/allocator.h"
#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/runtime/device_query.h"

namespace lamella {
namespace {

constexpr int kMaxDevices = 64;

enum class State : std::uint8_t { None, Usable, Forked, Ended };

std::mutex mutex;                                 // guards the registration
std::atomic<DeviceBackend*> registered{nullptr};  // never freed: tensors in static objects are freed late
std::atomic<State> state{State::None};

/// The memory of one device.
class BackendAllocator final : public CachingAllocator {
 public:
  explicit BackendAllocator(Device device) : CachingAllocator(device), device_(device) {}

 protected:
  void* system_allocate(std::size_t bytes) override {
    const HostRelease release(INT64_MAX);
    return device_backend(device_).allocate(device_.index, bytes);
  }
  // Frees a block where its device is usable; the memory of a process that ends, or of another process's device, needs
  // no freeing.
  void system_free(void* pointer) noexcept override {
    if (state.load(std::memory_order_acquire) == State::Usable) {
      registered.load(std::memory_order_acquire)->deallocate(device_.index, pointer);
    }
  }
  void synchronize() noexcept override {
    try {
      const HostRelease release(INT64_MAX);
      device_backend(device_).synchronize(device_.index);
    } catch (...) {
      // Ignored: errors of the device are reported to whoever waits for its work; this only returns blocks.
    }
  }

 private:
  Device device_;
};

/// Returns the index of a device in tables; beyond their end for a negative index.
constexpr std::size_t slot_of(Device device) { return static_cast<std::uint8_t>(device.index); }

/// A thread's current streams, if it has set any.
struct Streams;
thread_local constinit Streams* own_streams = nullptr;

struct Streams {
  std::array<void*, kMaxDevices> of{};

  Streams() { own_streams = this; }
  ~Streams() { own_streams = nullptr; }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
};

Streams& streams() {
  thread_local const auto own = std::make_unique<Streams>();
  return *own;
}

/// Keeps the library that contains an object's class loaded: its code is called until the process ends.
void keep_library_of(const DeviceBackend& backend) {
  const void* const table = *reinterpret_cast<const void* const*>(&backend);
  Dl_info info{};
  if (dladdr(table, &info) == 0 || !info.dli_fname) return;
  // The handle is never closed. The program itself is not a library and is not found.
  static_cast<void>(dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
}

void end_backend() {
  if (state.exchange(State::Ended, std::memory_order_acq_rel) != State::Usable) return;
  registered.load(std::memory_order_acquire)->shutdown();
}

void enter_child() noexcept {
  State usable = State::Usable;
  state.compare_exchange_strong(usable, State::Forked, std::memory_order_acq_rel);
}

[[noreturn, gnu::cold]] void fail_unusable() {
  const std::string_view name = privateuse1_backend_name();
  switch (state.load(std::memory_order_acquire)) {
    case State::Forked:
      fail<RuntimeError>("[device] ", name,
                         " cannot be used in a process that was forked off after its extension was loaded: start it "
                         "anew (multiprocessing's \"spawn\")");
    case State::Ended:
      fail<RuntimeError>("[device] ", name, " cannot be used any more: the process is ending");
    default:
      fail<RuntimeError>("[device] there is no device ", name, ": no extension that brings it has been loaded");
  }
}

}  // namespace

bool DeviceBackend::copy_between_devices(int, void*, int, const void*, std::size_t) { return false; }
bool DeviceBackend::copy_strided(const Tensor&, const Tensor&, void*) { return false; }
bool DeviceBackend::fill(const Tensor&, const void*, void*) { return false; }

void* DeviceBackend::create_stream(int device) {
  fail<NotImplementedError>("[stream] ", Device(DeviceType::PrivateUse1, device), " has one stream, its own");
}
void DeviceBackend::destroy_stream(int, void*) noexcept {}

void register_device_backend(std::string_view name, std::unique_ptr<DeviceBackend> backend) {
  if (!backend) fail<ValueError>("[register_device_backend] got no backend for '", name, "'");
  const int count = backend->device_count();
  if (count < 0 || count > kMaxDevices) {
    fail<ValueError>("[register_device_backend] '", name, "' has ", count, " devices: there can be 0 to ", kMaxDevices);
  }
  const std::lock_guard lock(mutex);
  if (registered.load(std::memory_order_relaxed)) {
    fail<RuntimeError>("[register_device_backend] '", name, "' cannot be registered: an extension has brought '",
                       privateuse1_backend_name(), "' already, and a process has one such kind of device");
  }
  rename_privateuse1_backend(name);
  keep_library_of(*backend);
  static_cast<void>(pthread_atfork(nullptr, nullptr, enter_child));
  static_cast<void>(std::atexit(end_backend));
  registered.store(backend.release(), std::memory_order_release);
  state.store(State::Usable, std::memory_order_release);

  register_allocator(DeviceType::PrivateUse1, [](Device device) -> CachingAllocator* {
    device_backend(device);
    return new BackendAllocator(device);
  });
  register_current_stream(DeviceType::PrivateUse1, [](Device device) { return backend_stream(device); });
  register_device_runtime(DeviceType::PrivateUse1, {.count = []() noexcept -> int {
                                                      const DeviceBackend* const all =
                                                          registered.load(std::memory_order_acquire);
                                                      return all ? all->device_count() : 0;
                                                    },
                                                    .synchronize =
                                                        [](Device device) {
                                                          const HostRelease release(INT64_MAX);
                                                          device_backend(device).synchronize(device.index);
                                                        }});
}

bool has_device_backend() noexcept { return registered.load(std::memory_order_acquire) != nullptr; }

DeviceBackend& device_backend() {
  if (state.load(std::memory_order_acquire) != State::Usable) [[unlikely]]
    fail_unusable();
  return *registered.load(std::memory_order_acquire);
}

DeviceBackend& device_backend(Device device) {
  DeviceBackend& backend = device_backend();
  const int count = backend.device_count();
  if (device.type != DeviceType::PrivateUse1 || device.index < 0 || device.index >= count) [[unlikely]] {
    fail<RuntimeError>("[device] there is no ", device, ": this process can use ", count, " of its kind");
  }
  return backend;
}

int current_device_index() noexcept { return detail::current_privateuse1; }

void set_current_device_index(int index) {
  device_backend(Device(DeviceType::PrivateUse1, index < -1 || index > 127 ? -1 : index));
  detail::current_privateuse1 = index;
}

BackendDeviceGuard::BackendDeviceGuard(Device device) : before_(detail::current_privateuse1) {
  if (device.type == DeviceType::PrivateUse1) set_current_device_index(device.index);
}

BackendDeviceGuard::~BackendDeviceGuard() { detail::current_privateuse1 = before_; }

void* backend_stream(Device device) noexcept {
  const std::size_t index = slot_of(device);
  return own_streams && index < kMaxDevices ? own_streams->of[index] : nullptr;
}

void* set_backend_stream(Device device, void* stream) {
  device_backend(device);
  void*& current = streams().of[slot_of(device)];
  return std::exchange(current, stream);
}

// The guard's constructor has created this thread's streams.
BackendStreamGuard::~BackendStreamGuard() { streams().of[slot_of(device_)] = before_; }

BackendStream::BackendStream(Device device)
    : device_(device), stream_(device_backend(device).create_stream(device.index)) {}

BackendStream::~BackendStream() {
  if (state.load(std::memory_order_acquire) != State::Usable) return;
  try {
    synchronize();
  } catch (...) {
    // The next wait for the device reports the error.
  }
  registered.load(std::memory_order_acquire)->destroy_stream(device_.index, stream_);
}

void BackendStream::synchronize() const {
  const HostRelease release(INT64_MAX);
  device_backend(device_).synchronize_stream(device_.index, stream_);
}

}  // namespace lamella

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

// An accelerator in software. As on a real one, the program cannot touch the device's memory: its addresses are mapped
// without access, and reading one on the host is a fault. Work is queued on streams, each of which is a thread, and
// runs later; what went wrong is told when somebody waits for it.

namespace sim {

constexpr int kDevices = 2;
constexpr std::size_t kMemory = std::size_t{256} << 20;  // bytes of each device

/// Memory of a device; null where none is left.
void* allocate(int device, std::size_t bytes);
void release(int device, void* address) noexcept;

/// Where a kernel that runs on a stream finds what lies at a device's address.
template <class T>
T* on_device(T* address);

class Stream;
/// The stream of a device that is always there.
Stream& own_stream(int device);
Stream* create_stream();
void destroy_stream(Stream* stream) noexcept;

/// Queues work. Throws what went wrong on the stream before.
void launch(Stream& stream, std::function<void()> work);
/// Waits until a stream has done its work. Throws what went wrong there.
void wait(Stream& stream);
/// The same for all streams of all devices.
void wait_for_all();
/// Ends all threads; what is still queued is done before.
void shut_down() noexcept;

namespace detail {
std::ptrdiff_t distance_to_view() noexcept;
}

template <class T>
T* on_device(T* address) {
  return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(address) + detail::distance_to_view());
}

}  // namespace sim

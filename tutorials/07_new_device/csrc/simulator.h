#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

// Simulates an accelerator in software. As on a real one, the program cannot touch the device's memory: its addresses
// are mapped without access, and reading one on the host is a fault. Work is queued on streams, each of which is a
// thread, and runs later; an error is reported when somebody waits for the stream.

namespace sim {

constexpr int kDevices = 2;
constexpr std::size_t kMemory = std::size_t{256} << 20;  // bytes of each device

/// Allocates memory of a device; null if there is none left.
void* allocate(int device, std::size_t bytes);
void release(int device, void* address) noexcept;

/// Returns the host pointer by which a kernel that runs on a stream reaches a device's address.
template <class T>
T* on_device(T* address);

class Stream;
/// Returns the default stream of a device, which always exists.
Stream& own_stream(int device);
Stream* create_stream();
void destroy_stream(Stream* stream) noexcept;

/// Queues work. Throws the error of earlier work on the stream.
void launch(Stream& stream, std::function<void()> work);
/// Waits until a stream has done its work. Throws the error of that work.
void wait(Stream& stream);
/// Waits until all streams of all devices have done their work.
void wait_for_all();
/// Ends all threads after the queued work is done.
void shut_down() noexcept;

namespace detail {
std::ptrdiff_t distance_to_view() noexcept;
}

template <class T>
T* on_device(T* address) {
  return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(address) + detail::distance_to_view());
}

}  // namespace sim

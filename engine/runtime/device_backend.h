#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "engine/core/privateuse1.h"
#include "engine/core/tensor.h"

// A device that an extension brings.
//
//     class Npu final : public lamella::DeviceBackend { ... };
//     lamella::register_device_backend("npu", std::make_unique<Npu>());
//
// After that "npu:0" is a device like others: the engine allocates on it, copies to and from it, and runs the kernels
// that are registered for DispatchKey::PrivateUse1. See docs/devices.md.

namespace lamella {

/// The interface that the engine requires of a kind of devices. Derive from it, and register an object of it.
///
/// Called by any thread, by several at once. `device` is below device_count(). A `stream` is one that create_stream()
/// returned, or null for the device's own; work on one stream runs in order. Exceptions are raised in Python; functions
/// that are noexcept must not throw.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  virtual ~DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;

  /// Returns the number of devices that this process can use, at most 64; the same in every call.
  virtual int device_count() const noexcept { return 1; }

  /// Returns at least `bytes` (above 0) bytes of the device's memory, aligned for any dtype, or null if none is left:
  /// the engine then frees its cache, tries again, and throws OutOfMemoryError. The engine caches blocks, so that calls
  /// are rare.
  virtual void* allocate(int device, std::size_t bytes) = 0;
  /// Frees a block on which no work is pending.
  virtual void deallocate(int device, void* pointer) noexcept = 0;

  /// Copies bytes to the device, in the order of the stream. `from` may change after this returns.
  virtual void copy_from_host(int device, void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// Copies bytes from the device, after all earlier work of the stream; returns when they have arrived.
  virtual void copy_to_host(int device, void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// Copies bytes within a device, in the order of the stream. The two ranges do not overlap.
  virtual void copy_on_device(int device, void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// Copies bytes from one device to another, after all earlier work on both; returns when they have arrived. Returns
  /// false if that is not possible: they are then copied through the host.
  virtual bool copy_between_devices(int to_device, void* to, int from_device, const void* from, std::size_t bytes);

  /// Writes the values of `from`, cast, into `to`, of the same shape and on the same device; any strides, including 0
  /// in `from`. Returns false if this combination is not supported: it is then done on the host.
  virtual bool copy_strided(const Tensor& to, const Tensor& from, void* stream);
  /// Sets every element of `to`, of any strides, to the one at `value`, in host memory, which may change after this
  /// returns. Returns false if this is not supported.
  virtual bool fill(const Tensor& to, const void* value, void* stream);

  /// Waits for all work on a device. Throws the error that occurred there since the last call.
  virtual void synchronize(int device) = 0;

  /// Returns a new stream. Throws NotImplementedError if the device has only its own.
  virtual void* create_stream(int device);
  /// Destroys a stream whose work has been waited for.
  virtual void destroy_stream(int device, void* stream) noexcept;
  /// Waits for the work of one stream.
  virtual void synchronize_stream(int device, void* stream) { static_cast<void>(stream), synchronize(device); }

  /// Called once when the process ends, before static objects are destroyed: ends the backend's threads. Only
  /// deallocate() may be called afterwards.
  virtual void shutdown() noexcept {}
};

/// Registers the devices of the kind PrivateUse1, under a name (see rename_privateuse1_backend()). The library with the
/// backend's code then stays loaded until the process ends. Throws RuntimeError if there are such devices already: a
/// process has one such kind.
void register_device_backend(std::string_view name, std::unique_ptr<DeviceBackend> backend);

/// True if an extension has registered devices.
bool has_device_backend() noexcept;
/// Returns the backend; throws RuntimeError if there is none, in a process that was forked after its registration, and
/// while the process ends.
DeviceBackend& device_backend();
/// Returns the backend; throws RuntimeError also if there is no such device.
DeviceBackend& device_backend(Device device);

/// Returns this thread's current device, for which its kind's name without an index stands; initially 0.
int current_device_index() noexcept;
/// Sets this thread's current device; throws RuntimeError if there is no such device.
void set_current_device_index(int index);

/// Makes an extension's device current for a scope; does nothing for other devices.
class BackendDeviceGuard {
 public:
  explicit BackendDeviceGuard(Device device);
  ~BackendDeviceGuard();
  BackendDeviceGuard(const BackendDeviceGuard&) = delete;
  BackendDeviceGuard& operator=(const BackendDeviceGuard&) = delete;

 private:
  int before_;
};

/// Returns the stream for this thread's work on an extension's device; null for the device's own.
void* backend_stream(Device device) noexcept;

/// A stream of an extension's device. Memory belongs to the stream that was current when it was allocated: a tensor
/// used on another stream must live until that stream is done.
class BackendStream {
 public:
  /// Throws NotImplementedError if the device has only its own stream.
  explicit BackendStream(Device device);
  /// Waits for the stream's work.
  ~BackendStream();
  BackendStream(const BackendStream&) = delete;
  BackendStream& operator=(const BackendStream&) = delete;

  Device device() const noexcept { return device_; }
  void* get() const noexcept { return stream_; }
  /// Waits for the stream's work.
  void synchronize() const;

 private:
  Device device_;
  void* stream_;
};

/// Sets the stream for this thread's work on its device; null for the device's own. Returns the previous one.
void* set_backend_stream(Device device, void* stream);

/// Directs this thread's work on a device to `stream` during its lifetime.
class BackendStreamGuard {
 public:
  explicit BackendStreamGuard(const BackendStream& stream)
      : device_(stream.device()), before_(set_backend_stream(device_, stream.get())) {}
  ~BackendStreamGuard();
  BackendStreamGuard(const BackendStreamGuard&) = delete;
  BackendStreamGuard& operator=(const BackendStreamGuard&) = delete;

 private:
  Device device_;
  void* before_;
};

}  // namespace lamella

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
// From there on "npu:0" is a device like others: the engine allocates on it, copies to and from it, and runs the
// kernels that are registered for DispatchKey::PrivateUse1. See docs/devices.md.

namespace lamella {

/// What the engine asks of the devices of a kind. Derive from it, and register an object of it.
///
/// Called by any thread, by several at once. `device` is below device_count(). A `stream` is one that create_stream()
/// gave, or null for the device's own; work on one stream runs in order. What a function throws is raised in Python;
/// those that are noexcept must not throw.
class DeviceBackend {
 public:
  DeviceBackend() = default;
  virtual ~DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;

  /// How many devices this process can use, at most 64; the same in every call.
  virtual int device_count() const noexcept { return 1; }

  /// At least `bytes` (above 0) bytes of the device's memory, aligned for any dtype; null where none is left: the
  /// engine then gives back what it keeps for reuse, asks again, and raises OutOfMemoryError. Blocks are cached by the
  /// engine, so that this is called seldom.
  virtual void* allocate(int device, std::size_t bytes) = 0;
  /// Takes a block back. No work on it is under way.
  virtual void deallocate(int device, void* pointer) noexcept = 0;

  /// Copies bytes to the device, in the order of the stream. `from` may change when this returns.
  virtual void copy_from_host(int device, void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// Copies bytes from the device: they have arrived when this returns, after all work that the stream had before.
  virtual void copy_to_host(int device, void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// Copies bytes within a device, in the order of the stream. The two do not overlap.
  virtual void copy_on_device(int device, void* to, const void* from, std::size_t bytes, void* stream) = 0;
  /// Copies bytes from one device to another: they have arrived when this returns, and all work on the two before has
  /// been done. False where that is not possible: then they go by way of the host.
  virtual bool copy_between_devices(int to_device, void* to, int from_device, const void* from, std::size_t bytes);

  /// Writes from's values, cast, into `to`, of the same shape and on the same device; any strides, 0 among those of
  /// `from`. False where this one is not supported: it then goes by way of the host.
  virtual bool copy_strided(const Tensor& to, const Tensor& from, void* stream);
  /// Sets every element of `to`, of any strides, to the one at `value`, in host memory, which may change when this
  /// returns. False where this one is not supported.
  virtual bool fill(const Tensor& to, const void* value, void* stream);

  /// Waits for all work on a device. What went wrong there since the last call is thrown here.
  virtual void synchronize(int device) = 0;

  /// A new stream. NotImplementedError where the device has its own only.
  virtual void* create_stream(int device);
  /// Takes a stream back. Its work has been waited for.
  virtual void destroy_stream(int device, void* stream) noexcept;
  /// Waits for the work of one stream.
  virtual void synchronize_stream(int device, void* stream) { static_cast<void>(stream), synchronize(device); }

  /// Called once as the process ends, before objects with static storage go: ends the backend's threads. Nothing but
  /// deallocate() is called after it.
  virtual void shutdown() noexcept {}
};

/// Brings the devices of the kind PrivateUse1, under a name (see rename_privateuse1_backend()). The library that the
/// backend's code lies in then stays loaded until the process ends. RuntimeError where there are such devices already:
/// a process has one such kind.
void register_device_backend(std::string_view name, std::unique_ptr<DeviceBackend> backend);

/// Whether an extension has brought devices.
bool has_device_backend() noexcept;
/// The backend; RuntimeError where there is none, in a process that was forked off after it was registered, and as the
/// process ends.
DeviceBackend& device_backend();
/// The same, and that there is such a device: RuntimeError otherwise.
DeviceBackend& device_backend(Device device);

/// The device that its kind's name without an index stands for, on this thread; 0 at first.
int current_device_index() noexcept;
/// Makes another the current one; RuntimeError where there is no such device.
void set_current_device_index(int index);

/// Makes a device that an extension brings the current one for a scope; does nothing for another.
class BackendDeviceGuard {
 public:
  explicit BackendDeviceGuard(Device device);
  ~BackendDeviceGuard();
  BackendDeviceGuard(const BackendDeviceGuard&) = delete;
  BackendDeviceGuard& operator=(const BackendDeviceGuard&) = delete;

 private:
  int before_;
};

/// The stream that this thread's work on a device that an extension brings goes to; null for the device's own.
void* backend_stream(Device device) noexcept;

/// A stream of such a device. Memory belongs to the stream that was current when it was taken: a tensor used on another
/// stream must live until that stream is done.
class BackendStream {
 public:
  /// NotImplementedError where the device has its own only.
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

/// Sends this thread's work on the stream's device there, from now on; null for the device's own. The stream before is
/// returned.
void* set_backend_stream(Device device, void* stream);

/// Sends this thread's work on a device to `stream` while it lives.
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

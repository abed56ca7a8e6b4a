#pragma once

#include <atomic>
#include <memory>

#include "engine/core/device.h"
#include "engine/core/tensor.h"

// Note [Streams in a pass]
// A pass of gradients works on the streams that are current where it was asked for, also on what was computed on
// others. Where a process uses streams of its own, those current ones therefore first wait for the work that all others
// have by then, and memory of other streams that the pass reads is noted, so that it is not reused too early. A process
// without such streams reads one flag.

namespace lamella {

/// The streams and events of a kind of devices. Streams and events are addresses of the runtime's own objects; a null
/// stream is the device's default one.
class StreamRuntime {
 public:
  StreamRuntime() = default;
  virtual ~StreamRuntime() = default;
  StreamRuntime(const StreamRuntime&) = delete;
  StreamRuntime& operator=(const StreamRuntime&) = delete;

  /// Returns one of the device's streams, in turn; they live as long as the process. Work of a stream with a lower
  /// number for its priority is preferred; numbers beyond the device's range count as its ends.
  virtual void* stream(Device device, int priority) = 0;
  /// True if stream() has returned it for the device, or it is null.
  virtual bool knows(Device device, void* stream) = 0;
  /// Returns the stream of this thread's work on a device.
  virtual void* current(Device device) = 0;
  /// Sends this thread's work on a device to a stream.
  virtual void set_current(Device device, void* stream) = 0;
  /// Waits for the work of a stream.
  virtual void synchronize(Device device, void* stream) = 0;
  /// Has the current streams of this thread wait for the work that all others of their device have now.
  virtual void join() = 0;
  /// True if a stream has no work left.
  virtual bool is_idle(Device device, void* stream) = 0;

  /// Returns a new event; `timed` ones tell the time between them.
  virtual void* create_event(Device device, bool timed) = 0;
  virtual void destroy_event(Device device, void* event) noexcept = 0;
  /// Has an event occur once a stream's work so far is done.
  virtual void record(Device device, void* event, void* stream) = 0;
  /// Has a stream's later work wait for an event.
  virtual void wait(Device device, void* stream, void* event) = 0;
  /// Waits for an event.
  virtual void synchronize_event(Device device, void* event) = 0;
  /// True if an event has occurred, or was never recorded.
  virtual bool has_occurred(Device device, void* event) = 0;
  /// Returns the milliseconds between two timed events that have occurred.
  virtual float milliseconds(Device device, void* begin, void* end) = 0;

  /// Has later work of one stream wait for the work that another has now; either may be another library's.
  virtual void order(Device device, void* before, void* after) = 0;
  /// Returns the index of the device in whose memory an address lies, or -1.
  virtual int device_of(const void* address) = 0;
};

/// Registers the streams of a kind of devices, when its runtime's library loads.
void register_stream_runtime(DeviceType type, std::unique_ptr<StreamRuntime> runtime);
/// Returns the streams of a kind of devices. Throws RuntimeError if there are none in this build.
StreamRuntime& stream_runtime(Device device);

namespace detail {
extern std::atomic<bool> streams_in_use;
}

/// True once work was sent to another stream than a device's default one.
inline bool streams_in_use() noexcept { return detail::streams_in_use.load(std::memory_order_relaxed); }
void note_streams_in_use() noexcept;
/// Has this thread's current streams wait for the work that all others have now.
void join_streams();
/// Says that work on a stream uses a tensor, which may have been made on another.
void note_use(const Tensor& x, void* stream);
/// Says so of this thread's current stream.
void note_use(const Tensor& x);

/// An event of a device, see StreamRuntime.
class Event {
 public:
  Event(Device device, bool timed);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Device device() const noexcept { return device_; }
  void* get() const noexcept { return event_; }
  bool timed() const noexcept { return timed_; }
  bool recorded() const noexcept { return recorded_; }
  /// Has the event occur once the work so far of a stream of its device is done.
  void record(void* stream);

 private:
  Device device_;
  bool timed_;
  bool recorded_ = false;
  void* event_;
};

}  // namespace lamella

#pragma once

#include <cstddef>
#include <memory>

#include "engine/core/device.h"

// Note [Captured work]
// While work is captured into a graph it is not done: the stream on which it is captured, which nothing else uses, only
// notes it, with the addresses and numbers of its arguments. So the memory that it takes belongs to that stream, and is
// kept for it as long as there is a graph that uses it (CachingAllocator::hold); and nothing may wait for the work, or
// depend on what the host draws or counts at each call.

namespace lamella {

/// Captures the work of a kind of devices into graphs, which repeat it.
class GraphRuntime {
 public:
  GraphRuntime() = default;
  virtual ~GraphRuntime() = default;
  GraphRuntime(const GraphRuntime&) = delete;
  GraphRuntime& operator=(const GraphRuntime&) = delete;

  /// Waits for a device, and starts to capture this thread's work on it, on a stream that becomes its current one:
  /// `pool`, which an earlier call returned, to share the memory of its graphs, or one of its own for null. Returns
  /// that stream.
  virtual void* begin(Device device, void* pool) = 0;
  /// Ends it, and makes the stream current that was before. Returns the graph; throws RuntimeError if there is none.
  virtual void* end(Device device) = 0;
  /// Queues the work of a graph in the current stream.
  virtual void launch(Device device, void* graph) = 0;
  /// Copies bytes within a device, in the order of the current stream. The two ranges do not overlap.
  virtual void copy(Device device, void* to, const void* from, std::size_t bytes) = 0;
  /// Gives up a graph, which may be null, and its hold on the memory of a pool.
  virtual void destroy(Device device, void* graph, void* pool) noexcept = 0;
};

/// Registers the graphs of a kind of devices, when its runtime's library loads.
void register_graph_runtime(DeviceType type, std::unique_ptr<GraphRuntime> runtime);
/// True if this build has them.
bool has_graph_runtime(Device device) noexcept;
/// Returns them. Throws RuntimeError if there are none in this build.
GraphRuntime& graph_runtime(Device device);

/// True if this thread's work is captured.
bool is_capturing() noexcept;
void set_capturing(bool capturing) noexcept;
/// Throws RuntimeError if it is: `op` does what a graph cannot repeat.
void refuse_capture(const char* op, const char* reason);

/// A scope whose captured work stands for calls that are not made again, so that code of the host language, which a
/// program expects to run in each of them, is refused.
class CallCapture {
 public:
  CallCapture() noexcept;
  ~CallCapture();
  CallCapture(const CallCapture&) = delete;
  CallCapture& operator=(const CallCapture&) = delete;
};
/// Throws RuntimeError in such a scope: `op` has a kernel in the host language.
void refuse_host_code(const char* op);

}  // namespace lamella

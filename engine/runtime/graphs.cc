#include "engine/runtime/graphs.h"

#include <array>

#include "engine/core/error.h"

namespace lamella {
namespace {

/// Never destroyed: graphs outlive static objects.
GraphRuntime*& runtime_of(DeviceType type) {
  static constinit std::array<GraphRuntime*, kDeviceTypeCount> runtimes{};
  return runtimes[static_cast<std::size_t>(type)];
}

thread_local constinit bool capturing_now = false;
thread_local constinit bool capturing_calls = false;

}  // namespace

void register_graph_runtime(DeviceType type, std::unique_ptr<GraphRuntime> runtime) {
  runtime_of(type) = runtime.release();
}

bool has_graph_runtime(Device device) noexcept { return runtime_of(device.type) != nullptr; }

GraphRuntime& graph_runtime(Device device) {
  if (GraphRuntime* const runtime = runtime_of(device.type)) return *runtime;
  fail<RuntimeError>("[CUDAGraph] ", device, " has no graphs in this build of Lamella");
}

bool is_capturing() noexcept { return capturing_now; }
void set_capturing(bool capturing) noexcept { capturing_now = capturing; }

void refuse_capture(const char* op, const char* reason) {
  if (capturing_now) [[unlikely]]
    fail<RuntimeError>("[", op, "] this cannot be captured into a CUDA graph: ", reason);
}

CallCapture::CallCapture() noexcept { capturing_calls = true; }
CallCapture::~CallCapture() { capturing_calls = false; }

void refuse_host_code(const char* op) {
  if (capturing_calls) [[unlikely]]
    fail<RuntimeError>("[", op, "] this cannot be captured into a CUDA graph: its kernel is Python code");
}

}  // namespace lamella

#include "python/bindings/streams.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/core/tensor.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/streams.h"
#include "engine/runtime/sync_debug.h"
#include "python/bindings/adapted.h"
#include "python/bindings/method.h"

// Devices come as names, streams as addresses, and events as numbers in a table: whatever a program makes of these,
// none of them leads to memory that is not there.

namespace lamella::python {
namespace {

/// Returns a device of a name with streams.
Device device_of(const std::string& name) {
  const Device device = Device::parse(name);
  if (device.index < 0 || device.index >= device_count(device.type))
    fail<RuntimeError>("[stream] there is no ", device, ": devices of its kind here: ", device_count(device.type));
  return device;
}

void* stream_of(Device device, std::int64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is compared with the streams that there are
  void* const stream = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  if (!stream_runtime(device).knows(device, stream)) fail<ValueError>("[stream] this is no stream of ", device);
  return stream;
}

std::int64_t address_of(void* stream) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(stream)); }

std::int64_t make_stream(PyObject*, const std::string& name, std::int64_t priority) {
  const Device device = device_of(name);
  return address_of(stream_runtime(device).stream(device, static_cast<int>(priority)));
}

std::int64_t get_stream(PyObject*, const std::string& name) {
  const Device device = device_of(name);
  return address_of(stream_runtime(device).current(device));
}

void set_stream(PyObject*, const std::string& name, std::int64_t stream) {
  const Device device = device_of(name);
  stream_runtime(device).set_current(device, stream_of(device, stream));
}

void synchronize_stream(PyObject*, const std::string& name, std::int64_t stream) {
  const Device device = device_of(name);
  stream_runtime(device).synchronize(device, stream_of(device, stream));
}

void synchronize_device(PyObject*, const std::string& name) { synchronize(device_of(name)); }

bool is_idle(PyObject*, const std::string& name, std::int64_t stream) {
  const Device device = device_of(name);
  return stream_runtime(device).is_idle(device, stream_of(device, stream));
}

void record_stream(PyObject*, const Tensor& x, const std::string& name, std::int64_t stream) {
  const Device device = device_of(name);
  if (x.device() != device)
    fail<ValueError>("[record_stream] the tensor is on ", x.device(), ", the stream belongs to ", device);
  note_use(x, stream_of(device, stream));
}

/// Events that Python holds, by number. Never destroyed: they may outlive the interpreter.
struct Events {
  std::mutex mutex;
  std::map<std::int64_t, std::shared_ptr<Event>> all;
  std::int64_t last = 0;
};

Events& events() {
  static auto* const known = new Events;
  return *known;
}

std::shared_ptr<Event> event_of(std::int64_t number) {
  const std::lock_guard lock(events().mutex);
  const auto found = events().all.find(number);
  if (found == events().all.end()) fail<ValueError>("[event] there is no such event");
  return found->second;
}

std::int64_t make_event(PyObject*, const std::string& name, bool timed) {
  auto event = std::make_shared<Event>(device_of(name), timed);
  const std::lock_guard lock(events().mutex);
  events().all.emplace(++events().last, std::move(event));
  return events().last;
}

void end_event(PyObject*, std::int64_t number) {
  std::shared_ptr<Event> gone;
  const std::lock_guard lock(events().mutex);
  if (const auto found = events().all.find(number); found != events().all.end()) {
    gone = std::move(found->second);
    events().all.erase(found);
  }
}

void record_event(PyObject*, std::int64_t number, std::int64_t stream) {
  const auto event = event_of(number);
  event->record(stream_of(event->device(), stream));
}

void wait_event(PyObject*, const std::string& name, std::int64_t stream, std::int64_t number) {
  const Device device = device_of(name);
  void* const waiting = stream_of(device, stream);
  const auto event = event_of(number);
  if (event->recorded()) stream_runtime(device).wait(device, waiting, event->get());
}

void synchronize_event(PyObject*, std::int64_t number) {
  const auto event = event_of(number);
  if (event->recorded()) stream_runtime(event->device()).synchronize_event(event->device(), event->get());
}

bool has_occurred(PyObject*, std::int64_t number) {
  const auto event = event_of(number);
  return !event->recorded() || stream_runtime(event->device()).has_occurred(event->device(), event->get());
}

PyRef milliseconds(PyObject*, std::int64_t begin, std::int64_t end) {
  const auto first = event_of(begin), second = event_of(end);
  if (first->device() != second->device())
    fail<ValueError>("[elapsed_time] the events are of ", first->device(), " and ", second->device());
  for (const auto& event : {first, second}) {
    if (!event->timed()) fail<ValueError>("[elapsed_time] both events are made with enable_timing=True");
    if (!event->recorded()) fail<ValueError>("[elapsed_time] both events are recorded first");
  }
  StreamRuntime& runtime = stream_runtime(first->device());
  for (const auto& event : {first, second}) {
    if (!runtime.has_occurred(event->device(), event->get()))
      fail<RuntimeError>("[elapsed_time] an event has not occurred yet: call its synchronize() first");
  }
  return PyRef::adopt(checked(
      PyFloat_FromDouble(static_cast<double>(runtime.milliseconds(first->device(), first->get(), second->get())))));
}

std::int64_t get_device(PyObject*) { return current_cuda_device(); }

void set_device(PyObject*, std::int64_t index) {
  set_current_cuda_device(index < 0 || index > 127 ? -1 : static_cast<int>(index));
}

PyRef properties(PyObject*, const std::string& name) {
  const DeviceProperties found = device_properties(device_of(name));
  return adapted_tuple(found.name, static_cast<std::int64_t>(found.memory), static_cast<std::int64_t>(found.major),
                       static_cast<std::int64_t>(found.minor), static_cast<std::int64_t>(found.processors));
}

PyRef memory(PyObject*, const std::string& name) {
  const DeviceMemory found = device_memory(device_of(name));
  return adapted_tuple(static_cast<std::int64_t>(found.free), static_cast<std::int64_t>(found.total));
}

std::int64_t get_sync_debug(PyObject*) { return static_cast<std::int64_t>(sync_debug_mode()); }

void set_sync_debug(PyObject*, std::int64_t mode) {
  if (mode < 0 || mode > 2) fail<ValueError>("[set_sync_debug_mode] the mode is 0, 1 or 2, not ", mode);
  set_sync_debug_mode(static_cast<SyncDebugMode>(mode));
}

PyObject* module_itself(PyObject* module) { return module; }

template <auto F>
PyMethodDef entry(const char* name, const char* doc) {
  return {name, as_c_function(adapted_method<F, module_itself>), METH_FASTCALL, doc};
}

}  // namespace

PyMethodDef* stream_functions() {
  static PyMethodDef functions[] = {
      entry<make_stream>("_stream_make", "Returns one of a device's streams, in turn."),
      entry<get_stream>("_stream_current", "Returns this thread's current stream of a device, 0 for the default one."),
      entry<set_stream>("_stream_set_current", "Sets this thread's current stream of a device."),
      entry<synchronize_stream>("_stream_synchronize", "Waits for a stream's work."),
      entry<synchronize_device>("_stream_synchronize_device", "Waits for all work on a device."),
      entry<is_idle>("_stream_is_idle", "True if a stream has no work left."),
      entry<record_stream>("_stream_record", "Says that a stream uses a tensor's memory."),
      entry<make_event>("_event_make", "Returns the number of a new event."),
      entry<end_event>("_event_end", "Ends an event."),
      entry<record_event>("_event_record", "Has an event occur after a stream's work so far."),
      entry<wait_event>("_event_wait", "Has a stream's later work wait for an event."),
      entry<synchronize_event>("_event_synchronize", "Waits for an event."),
      entry<has_occurred>("_event_has_occurred", "True if an event has occurred, or was never recorded."),
      entry<milliseconds>("_event_milliseconds", "Returns the time between two events."),
      entry<get_device>("_cuda_device", "Returns this thread's current CUDA device."),
      entry<set_device>("_cuda_set_device", "Sets this thread's current CUDA device."),
      entry<properties>("_device_properties", "Returns name, bytes, compute capability and number of processors."),
      entry<memory>("_device_memory", "Returns the bytes that are free, and all."),
      entry<get_sync_debug>("_sync_debug_mode", "Returns what happens where the host waits: 0, 1 (warn), 2 (raise)."),
      entry<set_sync_debug>("_set_sync_debug_mode", "Sets it."),
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python

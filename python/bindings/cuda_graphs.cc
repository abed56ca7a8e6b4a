#include "python/bindings/cuda_graphs.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/core/error.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/graphs.h"
#include "python/bindings/adapted.h"
#include "python/bindings/method.h"

// Graphs come as numbers in a table, and their pools as the numbers of their first graphs: whatever a program makes of
// these, none of them leads to memory that is not there.

namespace lamella::python {
namespace {

/// A graph, captured or still to be.
struct Graph {
  Device device;
  void* pool = nullptr;
  void* work = nullptr;

  Graph(Device on, void* of) : device(on), pool(of) {}
  ~Graph() { graph_runtime(device).destroy(device, work, pool); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
};

/// Never destroyed: graphs may outlive the interpreter.
struct Graphs {
  std::mutex mutex;
  std::map<std::int64_t, std::shared_ptr<Graph>> all;
  std::int64_t last = 0;
};

Graphs& graphs() {
  static auto* const known = new Graphs;
  return *known;
}

std::shared_ptr<Graph> graph_of(std::int64_t number) {
  const std::lock_guard lock(graphs().mutex);
  const auto found = graphs().all.find(number);
  if (found == graphs().all.end()) fail<ValueError>("[CUDAGraph] there is no such graph");
  return found->second;
}

std::int64_t begin(PyObject*, const std::string& name, std::int64_t sharing) {
  const Device device = Device::parse(name);
  if (device.index < 0 || device.index >= device_count(device.type))
    fail<RuntimeError>("[CUDAGraph] there is no ", device, ": devices of its kind here: ", device_count(device.type));
  void* pool = nullptr;
  if (sharing != 0) {
    const auto other = graph_of(sharing);
    if (other->device != device) fail<ValueError>("[CUDAGraph] the pool belongs to ", other->device, ", not ", device);
    pool = other->pool;
  }
  auto graph = std::make_shared<Graph>(device, graph_runtime(device).begin(device, pool));
  const std::lock_guard lock(graphs().mutex);
  graphs().all.emplace(++graphs().last, std::move(graph));
  return graphs().last;
}

void end(PyObject*, std::int64_t number) {
  const auto graph = graph_of(number);
  graph->work = graph_runtime(graph->device).end(graph->device);
}

void launch(PyObject*, std::int64_t number) {
  const auto graph = graph_of(number);
  if (!graph->work) fail<RuntimeError>("[CUDAGraph] nothing was captured yet");
  graph_runtime(graph->device).launch(graph->device, graph->work);
}

void destroy(PyObject*, std::int64_t number) {
  std::shared_ptr<Graph> gone;
  const std::lock_guard lock(graphs().mutex);
  if (const auto found = graphs().all.find(number); found != graphs().all.end()) {
    gone = std::move(found->second);
    graphs().all.erase(found);
  }
}

bool capturing(PyObject*) { return lamella::is_capturing(); }  // not of the recorder of calls

PyObject* module_itself(PyObject* module) { return module; }

template <auto F>
PyMethodDef entry(const char* name, const char* doc) {
  return {name, as_c_function(adapted_method<F, module_itself>), METH_FASTCALL, doc};
}

}  // namespace

PyMethodDef* graph_capture_functions() {
  static PyMethodDef functions[] = {
      entry<begin>("_graph_begin", "Captures this thread's work on a device; returns the number of the graph."),
      entry<end>("_graph_end", "Ends the capture."),
      entry<launch>("_graph_launch", "Queues a graph's work in the current stream."),
      entry<destroy>("_graph_destroy", "Gives up a graph."),
      entry<capturing>("_is_capturing", "True if this thread's work is captured."),
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python

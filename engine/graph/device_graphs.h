#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/graph/executor.h"

// Note [Device graphs]
// Steps of an executor that call operators on one device, and the pass that computes gradients from them, make a
// *region*, which is captured into a graph of that device once it has run a few times. Launching the graph does the
// work of the region's steps, and what they do beside it is done by hand at each launch: gradients are added to the
// `grad` of leaves, and writes into the memory of captured tensors are counted.
//
// The graph has memory of its own. What a run gives the region is copied there before a launch, and results are copied
// out after it, so that nothing that a caller holds is ever overwritten. Tensors that the program refers to
// (parameters) are read and written where they lie, which never changes. Everything that kernels are chosen by, such as
// shapes, strides, alignment, the stream and process-wide settings, is compared: where something differs, the steps run
// one by one, and become another graph if such calls go on.
//
// A region is left to its steps, and the reason noted, where a graph would not do what they do: they draw random
// numbers, run code of the host language, wait for the device, work on several devices, leave results on the tape, or
// return memory that something else shows. Nothing has happened by then, as captured work is not done.

namespace lamella::graph {

/// Says what became of a region, or of a step that is in none.
struct DeviceGraphReport {
  /// Descriptions of the first and the last step; the last is empty where there is one alone.
  std::string first;
  std::string last;
  std::size_t steps = 1;
  /// Number of graphs, which differ in the kinds of their inputs, and of their launches.
  std::size_t graphs = 0;
  std::int64_t launches = 0;
  /// Reason why steps run one by one; empty where they do not, or were not captured yet.
  std::string reason;
};

/// The device's graphs of an executor that runs on its caller's tape. Threads may use it at the same time: while one
/// captures or launches a region, others run its steps.
class DeviceGraphs final : public Executor::Runner {
 public:
  using IsKnown = std::function<bool(const OperatorHandle&)>;

  /// Finds the regions. `is_known` is true for operators that do nothing but work on the device, so that their calls
  /// can be captured.
  DeviceGraphs(const Executor& executor, const IsKnown& is_known);
  ~DeviceGraphs() override;

  /// Runs the region that begins at a step by a launch. Returns the step behind it; `at` if the step is to be run.
  std::size_t run(ExecutorState& state, std::size_t at, Executor::Failure& failure) override;
  /// True if no region waits for more runs before it is captured.
  bool is_settled() const noexcept;
  std::vector<DeviceGraphReport> reports() const;

 private:
  struct Capture;
  struct Region;
  /// All that kernels are chosen by: settings, the stream, and the layouts of what a run gives.
  using Signature = std::vector<std::uint64_t>;

  std::string reason_against(const GraphNode& node, const IsKnown& is_known) const;
  void add_region(std::size_t begin, std::size_t end);
  bool is_captured_value(ValueId id) const;
  Signature signature_of(const Region& region, const ExecutorState& state) const;
  Capture* find(Region& region, const ExecutorState& state) const;
  bool may_launch(const Region& region, const Capture& capture, const ExecutorState& state) const;
  void capture(const Region& region, Capture& capture, const ExecutorState& state) const;
  void run_steps(const Region& region, Capture& capture, ExecutorState& scratch) const;
  /// Computes the gradients of the pass that ends a region, whose tensors are `ids`.
  void run_pass(const Region& region, const std::vector<ValueId>& ids, const BackwardPass& pass, Capture& capture,
                ExecutorState& scratch) const;
  /// True if a step behind the region puts what it computes from a value on the tape.
  bool is_recorded_later(const Region& region, ValueId id) const;
  void keep_results(const Region& region, Capture& capture, const ExecutorState& scratch) const;
  void count_writes(const Capture& capture) const;
  void launch(const Region& region, Capture& capture, ExecutorState& state, Executor::Failure& failure) const;

  const Executor& executor_;
  std::vector<std::unique_ptr<Region>> regions_;
  /// The region that begins at each step, or null.
  std::vector<Region*> begins_;
  /// Reason why a step is in no region; empty for the others.
  std::vector<std::string> reasons_;
};

}  // namespace lamella::graph

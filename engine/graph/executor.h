#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/graph/executor_state.h"
#include "engine/graph/graph.h"

namespace lamella::graph {

class DeviceGraphs;

/// Runs a graph, node after node, in the eager engine: with its kernels and, where the graph asks for gradients, on its
/// tape. So every number is that of the eager program.
class Executor {
 public:
  /// Tells what became of a run that ended with an exception.
  struct Failure {
    /// Describes the node that the exception is from; empty if it is from none.
    std::string node;
    /// True if something may have changed by then: memory, random generators, whatever functions do.
    bool changed = false;
  };

  /// Runs steps in place of the executor.
  class Runner {
   public:
    Runner() = default;
    virtual ~Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// Runs steps from `at` on. Returns the step behind them; `at` if it runs none.
    virtual std::size_t run(ExecutorState& state, std::size_t at, Failure& failure) = 0;
  };

  struct Options {
    /// Leaves out nodes that neither the fetches need nor have effects.
    bool prune = false;
    /// Runs the nodes as the caller would: on the tape if the calling thread records, and with the tensors' own places
    /// on it. The graph has no gradients of its own then. Random numbers are drawn even where nobody needs them, as the
    /// caller would.
    bool callers_tape = false;
    /// Makes what runs some of the steps in its own way; for a graph without gradients of its own.
    std::function<std::unique_ptr<Runner>(const Executor&)> runner = {};
  };

  /// Prepares runs of the graph, which is copied.
  Executor(const Graph& graph, std::vector<ValueId> fetches, Options options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Returns the inputs that a run needs, in the order of `feeds`.
  std::span<const ValueId> inputs() const noexcept { return inputs_; }
  const Graph& graph() const noexcept { return graph_; }

  /// Runs the graph and returns the fetched values. ValueError that names the input where a feed is undefined or of
  /// another dtype or shape. An exception of a node passes through, and `failure` then describes the node. Threads may
  /// run one executor at the same time.
  std::vector<Tensor> run(std::span<const Tensor> feeds, Failure& failure);

 private:
  friend class DeviceGraphs;
  using Step = ExecutorStep;
  using State = ExecutorState;

  void plan_gradients();
  std::unique_ptr<State> make_state() const;
  std::unique_ptr<State> take_state();
  void feed(State& state, std::span<const Tensor> feeds) const;
  void define(State& state, ValueId id, Tensor x) const;
  /// Runs a step in its mode of recording, and describes it where it fails.
  void run_described(State& state, std::size_t at, Failure& failure) const;
  /// True if a step is recorded, where the caller's mode is the current one.
  bool records(std::size_t at) const;
  void run_step(State& state, std::size_t at) const;
  void run_operator(State& state, std::size_t at) const;
  void run_function(State& state, std::size_t at) const;
  void run_gradients(State& state, std::size_t at) const;
  void keep_result(State& state, const GraphNode& node, std::size_t k, Tensor x) const;

  Graph graph_;
  std::vector<ValueId> fetches_;
  bool callers_tape_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> captured_;
  std::vector<Step> steps_;
  /// True for values that gradients are asked for, which therefore have a place on the tape.
  std::vector<bool> sources_;
  /// Number of steps that run with recording on.
  std::size_t recorded_steps_ = 0;
  std::unique_ptr<Runner> runner_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<State>> idle_;
};

}  // namespace lamella::graph

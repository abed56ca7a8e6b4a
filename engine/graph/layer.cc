#include "engine/graph/layer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/layers/function.h"
#include "engine/core/error.h"
#include "engine/graph/executor.h"

namespace lamella::graph {
namespace {

/// A graph that is ready to run, with the positions of its inputs among what it is given.
class Runner {
 public:
  Runner(const Graph& graph, std::vector<ValueId> fetches, const std::vector<ValueId>& given)
      : executor_(std::make_unique<Executor>(graph, std::move(fetches),
                                             Executor::Options{.prune = true, .callers_tape = true})) {
    for (const ValueId id : executor_->inputs()) {
      const auto at = std::ranges::find(given, id);
      if (at == given.end()) fail<ValueError>("[graph] the input '", graph.value(id).name, "' is none of the layer's");
      positions_.push_back(static_cast<std::size_t>(at - given.begin()));
    }
  }

  std::vector<Tensor> operator()(std::span<const Tensor> given) {
    std::vector<Tensor> feeds;
    feeds.reserve(positions_.size());
    for (const std::size_t at : positions_) feeds.push_back(given[at]);
    Executor::Failure failure;
    return executor_->run(feeds, failure);
  }

 private:
  std::unique_ptr<Executor> executor_;
  std::vector<std::size_t> positions_;
};

/// State that calls of a layer share.
struct Plan {
  std::string name;
  Runner forward;
  Runner backward;
  /// For each input, the position of its gradient among what `backward` gives; -1 for None.
  std::vector<int> positions;
};

struct GraphLayer : Function<GraphLayer> {
  static std::string name_of(const Context& ctx) { return static_cast<const Plan*>(ctx.tag)->name; }

  static Tensor forward(Context& ctx, const std::shared_ptr<Plan>& plan, const std::vector<Tensor>& inputs) {
    ctx.tag = plan.get();
    ctx.state<std::shared_ptr<Plan>>() = plan;
    std::vector<Tensor> values = plan->forward(inputs);
    if (ctx.recording()) ctx.save_for_backward(std::span<const Tensor>(values).subspan(1));
    return std::move(values.front());
  }

  static TensorList backward(Context& ctx, const TensorList& grads) {
    Plan& plan = *ctx.state<std::shared_ptr<Plan>>();
    const TensorList saved = ctx.saved_tensors();
    std::vector<Tensor> given(saved.begin(), saved.end());
    given.push_back(grads[0]);
    const std::vector<Tensor> found = plan.backward(given);
    TensorList results;
    for (const int at : plan.positions) results.push_back(at < 0 ? Tensor() : found[static_cast<std::size_t>(at)]);
    return results;
  }
};

}  // namespace

GraphFunction layer_function(const LayerGraphs& layer, const Graph& forward, const Graph& backward) {
  std::vector<ValueId> values{layer.result};
  values.insert(values.end(), layer.saved.begin(), layer.saved.end());
  std::vector<ValueId> given = layer.backward_saved;
  given.push_back(layer.gradient);
  std::vector<ValueId> found;
  std::vector<int> positions;
  for (const ValueId id : layer.gradients) {
    positions.push_back(id == kNoValue ? -1 : static_cast<int>(found.size()));
    if (id != kNoValue) found.push_back(id);
  }
  auto plan = std::make_shared<Plan>(Plan{.name = layer.name,
                                          .forward = Runner(forward, std::move(values), layer.inputs),
                                          .backward = Runner(backward, std::move(found), given),
                                          .positions = std::move(positions)});
  return [plan](std::vector<Tensor> inputs) { return std::vector{GraphLayer::apply(plan, inputs)}; };
}

}  // namespace lamella::graph

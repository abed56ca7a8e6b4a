#include "engine/autograd/layers/once.h"

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/place.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

class OnceDifferentiable final : public Node {
 public:
  explicit OnceDifferentiable(std::string layer) : layer_(std::move(layer)) {}
  std::string name() const override { return "OnceDifferentiable"; }
  TensorList run(TensorList) override {
    fail<RuntimeError>("[", layer_,
                       "] the layer's backward is marked once_differentiable: it has no second derivative");
  }

 private:
  std::string layer_;
};

}  // namespace

void forbid_second_derivative(const Node& layer, const TensorList& incoming, TensorList& results) {
  const auto node = Ref<Node>::adopt(new OnceDifferentiable(layer.name()));
  for (const Edge& edge : layer.edges()) {
    if (edge) node->add_edge(edge);
  }
  for (const Tensor& grad : incoming) {
    if (!grad.defined()) continue;
    if (Edge edge = gradient_edge(grad)) node->add_edge(std::move(edge));
  }
  node->set_output_count(static_cast<std::uint32_t>(results.size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    results[i] = make_alias(results[i]);
    AutogradMeta& meta = make_meta(results[i]);
    meta.grad_fn = node;
    meta.output_nr = static_cast<std::uint32_t>(i);
  }
}

}  // namespace lamella::autograd

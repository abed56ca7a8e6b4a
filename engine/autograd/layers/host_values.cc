#include "engine/autograd/layers/host_values.h"

#include <utility>

#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {
namespace {

/// Node of a tensor made of the host's values in a recorded backward. It has the edges of all that the value may depend
/// on, so that a pass for one of those reaches it, and another pass does not.
class HostValue final : public Node {
 public:
  HostValue(const Node& layer, const TensorList* incoming) : layer_(layer.name()) {
    for (const Edge& edge : layer.edges()) {
      if (edge) add_edge(edge);
    }
    for (std::size_t i = 0; incoming && i < incoming->size(); ++i) {
      if (!(*incoming)[i].defined()) continue;
      if (Edge edge = gradient_edge((*incoming)[i])) add_edge(std::move(edge));
    }
    set_output_count(1);
  }
  std::string name() const override { return "HostValue"; }
  TensorList run(TensorList) override {
    fail<RuntimeError>(
        "[", layer_,
        "] a derivative reached a value that the layer's backward or jvp made of numpy arrays or numbers, where "
        "nothing "
        "is recorded: how it depends on the inputs is unknown, and the result would be wrong. Compute it with "
        "Lamella's "
        "operators from what save_for_backward kept (and, for forward mode through a backward, define jvp), or have "
        "backward marked by lm.autograd.once_differentiable");
  }

 private:
  std::string layer_;
};

}  // namespace

FollowHost::FollowHost(const Node& layer, const Context& ctx, const TensorList& incoming, bool escaped, bool numbers)
    : layer_(layer),
      ctx_(ctx),
      incoming_(incoming),
      follows_(is_grad_enabled() || duals_active()),
      escaped_before_(modes().escaped),
      incoming_before_(thread_state().incoming),
      numbers_before_(thread_state().host_numbers) {
  modes().escaped = follows_ && escaped;
  thread_state().incoming = &incoming;
  thread_state().host_numbers = follows_ && numbers;
}

FollowHost::~FollowHost() {
  modes().escaped = escaped_before_;
  thread_state().incoming = incoming_before_;
  thread_state().host_numbers = numbers_before_;
}

void FollowHost::settle(TensorList& results) const {
  if (!follows_) return;
  for (Tensor& x : results) {
    const bool numbers = thread_state().host_numbers;
    if (!x.defined() || !(numbers || (x->flags & TensorImpl::kDerived))) continue;
    if (duals_active() && (ctx_.was_called_dual() || any_dual(std::span(incoming_.data(), incoming_.size())))) {
      fail<RuntimeError>(
          "[", layer_.name(),
          "] backward or jvp returned values that numpy arrays or numbers were made into, or that forward "
          "computed: forward mode cannot follow them, and the result would be wrong. Compute them with "
          "Lamella's operators from what save_for_backward kept");
    }
    if (!is_grad_enabled() || !(numbers || is_unplaced(x))) continue;
    auto node = Ref<Node>::adopt(new HostValue(layer_, &incoming_));
    if (node->edges().empty()) continue;
    x = make_alias(x);
    make_meta(x).grad_fn = std::move(node);
  }
}

Tensor came_from_host(Tensor x) {
  if (modes().escaped && is_differentiable(x.dtype())) {
    x->flags |= TensorImpl::kDerived;
    const Node* const layer = modes().recorded_backward;
    if (layer && is_grad_enabled() && is_unplaced(x))
      make_meta(x).grad_fn = Ref<Node>::adopt(new HostValue(*layer, thread_state().incoming));
  }
  if (is_tracing()) [[unlikely]]
    note_made_by_host(x);
  return x;
}

void note_escape(const Tensor& x) {
  Modes& now = modes();
  const bool matters = (x->flags & TensorImpl::kDerived) || x.requires_grad() || has_tangents(x);
  // Counts every value that a backward reads, as it may be detached, or derive from one that is.
  if (now.in_forward ? matters : now.recorded_backward && thread_state().incoming && is_differentiable(x.dtype()))
    now.escaped = true;
  if (is_tracing()) [[unlikely]]
    note_escape_to_host(x);
}

void note_host_number() noexcept {
  if (modes().recorded_backward && thread_state().incoming) thread_state().host_numbers = true;
}

void refuse_dual_escape(const Tensor& x, const char* op) {
  if (!duals_active() || !is_dual(x)) return;
  const bool method = std::string_view(op) == "numpy" || std::string_view(op) == "item" ||
                      std::string_view(op) == "tolist" || std::string_view(op) == "__dlpack__";
  fail<RuntimeError>("[", op,
                     "] the tensor has a tangent of forward mode, which would be lost here: compute with Lamella's "
                     "operators, or take the values alone by ",
                     method ? str("x.detach().", op, "()") : std::string("x.detach()"));
}

}  // namespace lamella::autograd

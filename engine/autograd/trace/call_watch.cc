#include "engine/autograd/trace/call_watch.h"

#include "engine/autograd/graph/origin.h"
#include "engine/autograd/trace/anomaly.h"
#include "engine/autograd/trace/departure.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

/// Throws RuntimeError where a result of a call is not finite.
void check_result(const Node& node, std::size_t i, const Tensor& y, const AnomalyChecks& checks) {
  const NonFinite bad = count_bad(y, checks);
  if (bad.nan + bad.inf == 0) return;
  std::string message = str("[", node.name(), "] forward gave ", describe_bad(bad, y), " in its output ", i,
                            "; look at the values it was called with");
  if (const auto origin = origin_of(node)) message += "\n" + long_place(*origin, "  ");
  if (message.ends_with('\n')) message.pop_back();
  fail<RuntimeError>(message);
}

}  // namespace

void note_call(Node& node, std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
  auto origin = origin_of(node);
  auto noted = origin ? std::make_shared<Origin>(*origin) : std::make_shared<Origin>();
  for (const Tensor* y : outputs) noted->outputs.emplace_back(*y);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i < node.edges().size() && node.edges()[i]) continue;
    if (auto departure = departure_of(*inputs[i])) {
      noted->departed.emplace_back(static_cast<std::uint32_t>(i), std::move(departure));
    }
  }
  set_origin(node, std::move(noted));
  const auto anomaly = detected_anomaly();
  if (!anomaly || !anomaly->checks().forward) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) check_result(node, i, *outputs[i], anomaly->checks());
}

}  // namespace lamella::autograd

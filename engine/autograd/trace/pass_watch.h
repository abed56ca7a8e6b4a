#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/trace/anomaly.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"

namespace lamella::autograd {

/// Reason why a backward pass brought a leaf no gradient: an operation between gave none.
struct Missed {
  /// Name of the operation, its place (may be empty), and the number of the input that got none.
  std::string op;
  std::string place;
  std::size_t input = 0;
  /// Line of the call of the pass.
  SourceLine pass;
};

/// Watches a pass, under trace(), in detect_anomaly or while it is profiled: checks gradients, notes on leaves why they
/// got none, and measures.
class PassWatch {
 public:
  using Run = TensorList (*)(Node*, TensorList);

  /// Returns the watch of a pass that this thread begins; null where there is nothing to watch.
  static std::unique_ptr<PassWatch> begin();
  explicit PassWatch(std::shared_ptr<Anomaly> anomaly);
  /// Notes on each leaf that got no gradient why it got none.
  ~PassWatch();
  PassWatch(const PassWatch&) = delete;
  PassWatch& operator=(const PassWatch&) = delete;

  /// Calls run(node, grads). RuntimeError where detect_anomaly is on and a result is not finite; exceptions then get a
  /// note that names the operation.
  TensorList call(Node& node, TensorList grads, Run run);
  /// Notes that no gradient flows along edge `input` of the node.
  void missed(const Node& node, std::size_t input);

 private:
  void check(const Node& node, const TensorList& incoming, const TensorList& results) const;

  const bool tracing_ = is_tracing();
  const std::shared_ptr<Anomaly> anomaly_;
  const SourceLine line_;
  std::unordered_map<const Node*, std::pair<Ref<Node>, std::shared_ptr<const Missed>>> missed_;
  std::unordered_set<const Node*> reached_;
};

}  // namespace lamella::autograd

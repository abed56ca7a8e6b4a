#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/trace/anomaly.h"
#include "engine/core/host.h"

namespace lamella::autograd {

/// Why a backward pass brought a leaf no gradient: an operation between gave none.
struct Missed {
  /// The operation, its place (may be empty), and which of its inputs got none.
  std::string op;
  std::string place;
  std::size_t input = 0;
  /// Where the pass was called.
  SourceLine pass;
};

/// Looks on while a pass runs, under trace() or in detect_anomaly: checks gradients, and notes on leaves why they got
/// none.
class PassWatch {
 public:
  using Run = TensorList (*)(Node*, TensorList);

  /// For a pass that this thread begins; null where nobody wants to know.
  static std::unique_ptr<PassWatch> begin();
  explicit PassWatch(std::shared_ptr<Anomaly> anomaly);
  /// Tells the leaves.
  ~PassWatch();
  PassWatch(const PassWatch&) = delete;
  PassWatch& operator=(const PassWatch&) = delete;

  /// run(node, grads). RuntimeError where a result is not finite; exceptions get a note that tells the operation.
  TensorList call(Node& node, TensorList grads, Run run);
  /// Nothing flows along edge `input` of the node.
  void missed(const Node& node, std::size_t input);

 private:
  void check(const Node& node, const TensorList& incoming, const TensorList& results) const;

  const std::shared_ptr<Anomaly> anomaly_;
  const SourceLine line_;
  std::unordered_map<const Node*, std::pair<Ref<Node>, std::shared_ptr<const Missed>>> missed_;
  std::unordered_set<const Node*> reached_;
};

}  // namespace lamella::autograd

#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/graph/node.h"
#include "engine/core/host.h"
#include "engine/core/tensor_meta.h"

namespace lamella::autograd {

struct Departure;

/// Where an operation was called. Written down under trace() only.
struct Origin {
  /// The user's calls in the host language, innermost first.
  std::vector<HostFrame> host;
  /// Return addresses of the calls in C++, innermost first; names are looked up when they are wanted.
  std::vector<void*> native;
  /// The operation's results.
  std::vector<TensorMeta> outputs;
  /// The inputs that had left the tape before.
  std::vector<std::pair<std::uint32_t, std::shared_ptr<const Departure>>> departed;
  /// In a recorded backward pass: the node that ran, and where its operation was called.
  std::string parent_name;
  std::shared_ptr<const Origin> parent;
  std::uint32_t generation = 0;

  /// The line of the user's call, where the host language knows it.
  SourceLine line() const { return host.empty() ? SourceLine{} : SourceLine{host[0].file, host[0].line}; }
};

/// Notes where a new node was made, and counts it among the live ones.
void note_origin(Node& node);
/// Replaces what was noted of the node's origin.
void set_origin(Node& node, std::shared_ptr<const Origin> origin);
/// What was noted; null where nothing was.
std::shared_ptr<const Origin> origin_of(const Node& node);

/// "file:line", or the innermost of the user's C++ functions; empty where neither is known.
std::string short_place(const Origin& origin);
/// All that is known of the place, one line for each call, each indented by `indent` and ended by a newline.
std::string long_place(const Origin& origin, const std::string& indent);
/// "log (called at loss.py:12)", or the name alone.
std::string name_and_place(const Node& node);

/// While a node runs, nodes that are recorded are its children.
class RunningNode {
 public:
  explicit RunningNode(const Node& node) noexcept;
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;

 private:
  const Node* before_;
};

/// The nodes that were made under trace() and live, on any thread. Of a thread that records at this moment the newest
/// may be missing.
std::vector<Ref<Node>> traced_nodes();

}  // namespace lamella::autograd

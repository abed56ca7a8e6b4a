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

/// Place where an operation was called. Noted under trace() only.
struct Origin {
  /// The user's calls in the host language, innermost first.
  std::vector<HostFrame> host;
  /// Return addresses of the calls in C++, innermost first; names are looked up when they are wanted.
  std::vector<void*> native;
  /// Shapes, dtypes and devices of the operation's results.
  std::vector<TensorMeta> outputs;
  /// Inputs that had left the tape before, by their numbers.
  std::vector<std::pair<std::uint32_t, std::shared_ptr<const Departure>>> departed;
  /// Name of the node that ran when this one was recorded in a backward pass, and the origin of that node.
  std::string parent_name;
  std::shared_ptr<const Origin> parent;
  std::uint32_t generation = 0;

  /// Returns the line of the user's call, where the host language knows it.
  SourceLine line() const { return host.empty() ? SourceLine{} : SourceLine{host[0].file, host[0].line}; }
};

/// Notes where a new node was made, and counts it among the live ones.
void note_origin(Node& node);
/// Replaces the node's origin.
void set_origin(Node& node, std::shared_ptr<const Origin> origin);
/// Returns the node's origin; null where none was noted.
std::shared_ptr<const Origin> origin_of(const Node& node);

/// Returns "file:line", or the innermost of the user's C++ functions; empty where neither is known.
std::string short_place(const Origin& origin);
/// Returns all that is known of the place, one line for each call, each indented by `indent` and ended by a newline.
std::string long_place(const Origin& origin, const std::string& indent);
/// Returns "`log` (called at loss.py:12)", or the name alone where the place is not known.
std::string name_and_place(const Node& node);

/// Makes the nodes that are recorded in this scope children of the node that runs.
class RunningNode {
 public:
  explicit RunningNode(const Node& node) noexcept;
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;

 private:
  const Node* before_;
};

/// Returns the live nodes that were made under trace(), on any thread. The newest node of another thread that records
/// at this moment may be missing.
std::vector<Ref<Node>> traced_nodes();

}  // namespace lamella::autograd

#include "engine/autograd/graph/origin.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "engine/core/cpp_frames.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

constexpr std::size_t kHostFrames = 8;
constexpr std::size_t kNativeFrames = 4;
/// Number of recorded passes within one another down to which origins are kept.
constexpr std::uint32_t kMaxGeneration = 4;

thread_local const Node* running = nullptr;

/// Nodes made under trace(), for the counts. A node enters when the next one is made on its thread, or when that thread
/// asks: before that it is under construction, and must not be looked at.
class LiveNodes {
 public:
  void add(WeakNode node) {
    const std::lock_guard lock(mutex_);
    if (nodes_.size() >= sweep_at_) sweep();
    nodes_.push_back(std::move(node));
  }
  std::vector<Ref<Node>> all() {
    std::vector<Ref<Node>> alive;
    const std::lock_guard lock(mutex_);
    sweep();
    for (const WeakNode& node : nodes_) {
      if (Ref<Node> held = node.lock()) alive.push_back(std::move(held));
    }
    return alive;
  }

 private:
  /// Drops the references to nodes that were freed, which keep their memory.
  void sweep() {
    std::erase_if(nodes_, [](const WeakNode& n) { return n.expired(); });
    sweep_at_ = std::max(kSweep, 2 * nodes_.size());
  }

  static constexpr std::size_t kSweep = 1024;
  std::mutex mutex_;
  std::vector<WeakNode> nodes_;
  std::size_t sweep_at_ = kSweep;
};

LiveNodes& live_nodes_list() {
  static auto* const list = new LiveNodes;  // never destroyed: threads may end after it would be
  return *list;
}

/// Newest node of a thread, which the list of live nodes does not have yet.
struct Newest {
  WeakNode node;
  void settle() {
    if (!node.expired()) live_nodes_list().add(std::move(node));
    node = WeakNode();
  }
  ~Newest() { settle(); }
};
thread_local Newest newest;

std::shared_ptr<const Origin> capture() {
  auto origin = std::make_shared<Origin>();
  if (const auto stack = host_hooks().stack) {
    std::array<HostFrame, kHostFrames> frames;
    origin->host.assign(frames.begin(),
                        frames.begin() + static_cast<std::ptrdiff_t>(stack(frames.data(), kHostFrames)));
  }
  origin->native = capture_frames();
  if (running) {
    origin->parent_name = running->name();
    if (auto parent = origin_of(*running); parent && parent->generation < kMaxGeneration) {
      origin->generation = parent->generation + 1;
      origin->parent = std::move(parent);
    }
  }
  return origin;
}

}  // namespace

void note_origin(Node& node) {
  set_origin(node, capture());
  newest.settle();
  newest.node = WeakNode(&node);
}

void set_origin(Node& node, std::shared_ptr<const Origin> origin) {
  NodeExtras& extras = node.make_extras();
  const std::lock_guard lock(extras.lock);
  extras.origin.swap(origin);  // the old one is freed after the lock
}

std::shared_ptr<const Origin> origin_of(const Node& node) {
  NodeExtras* extras = node.extras();
  if (!extras) return {};
  const std::lock_guard lock(extras->lock);
  return extras->origin;
}

std::string short_place(const Origin& origin) {
  if (const SourceLine line = origin.line()) return str(line.file, ":", line.line);
  const auto frames = user_frames(origin.native, 1);
  return frames.empty() ? std::string() : frames[0].function;
}

std::string long_place(const Origin& origin, const std::string& indent) {
  std::string text;
  for (std::size_t i = 0; i < origin.host.size(); ++i) {
    const HostFrame& frame = origin.host[i];
    text += str(indent, i ? "from " : "called at ", frame.file, ":", frame.line, ", in ", frame.function, "\n");
  }
  const auto frames = user_frames(origin.native, kNativeFrames);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const bool first = i == 0 && origin.host.empty();
    text += str(indent, first ? "called in " : "from ", frames[i].function, " (C++, ", frames[i].object, "+0x",
                std::hex, frames[i].offset, ")\n");
  }
  if (!origin.parent_name.empty()) {
    text += str(indent, "recorded while the backward of `", origin.parent_name, "` ran",
                origin.parent ? ", which was\n" : "\n");
    if (origin.parent) text += long_place(*origin.parent, indent + "  ");
  }
  return text;
}

std::string name_and_place(const Node& node) {
  const auto origin = origin_of(node);
  const std::string place = origin ? short_place(*origin) : std::string();
  return str("`", node.name(), "`", place.empty() ? "" : " (called at ", place, place.empty() ? "" : ")");
}

RunningNode::RunningNode(const Node& node) noexcept : before_(std::exchange(running, &node)) {}
RunningNode::~RunningNode() { running = before_; }

std::vector<Ref<Node>> traced_nodes() {
  newest.settle();
  return live_nodes_list().all();
}

}  // namespace lamella::autograd

#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/distributed/backend.h"
#include "engine/distributed/lane.h"
#include "engine/distributed/progress.h"
#include "engine/distributed/work.h"

namespace lamella::distributed {

struct GroupOptions {
  std::string name = {};
  std::string backend_name = {};
  /// The members, by their ranks among all processes, in the order of their ranks in the group.
  std::vector<int> ranks = {};
  /// Rank of this process in the group; -1 if it is not a member.
  int rank = -1;
  /// Limit for each operation.
  Milliseconds timeout{};
  /// True if the processes compare their calls before each operation.
  bool debug = false;
  /// Folder that the processes of a machine share, for the record of their progress; empty if there is none.
  std::string folder = {};
  /// Null for a group that no data passes through: on a process that is not a member, and for shapes alone.
  std::unique_ptr<Backend> backend = nullptr;
};

/// Processes that work together. Operations run on a thread of the group, in the order of the calls; each message
/// between two processes waits on another one, so that it needs no order among them.
class ProcessGroup {
 public:
  explicit ProcessGroup(GroupOptions options);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  /// Leaves the group; operations that still run are given up.
  ~ProcessGroup();

  const std::string& name() const noexcept { return options_.name; }
  const std::string& backend_name() const noexcept { return options_.backend_name; }
  const std::vector<int>& ranks() const noexcept { return options_.ranks; }
  int rank() const noexcept { return options_.rank; }
  int size() const noexcept { return static_cast<int>(options_.ranks.size()); }
  Milliseconds timeout() const noexcept { return options_.timeout; }
  bool is_debug() const noexcept { return options_.debug; }

  /// Body of an operation. What it holds is dropped when the operation has ended.
  using Body = std::function<void(Backend& backend, Milliseconds timeout)>;

  /// Starts an operation. `call` describes its arguments, and must be the same on all processes; it is asked for in
  /// debug mode alone. Throws DistributedError if the group has failed before, RuntimeError without a backend.
  std::shared_ptr<Work> start(const char* op, const std::function<std::string()>& call, Body body);
  /// Starts a message by `begin`; `keep` is held until it has ended. Throws as start() does, and DistributedError where
  /// the connection is lost already.
  std::shared_ptr<Work> start_transfer(const char* op,
                                       const std::function<std::unique_ptr<Transfer>(Backend& backend)>& begin,
                                       std::shared_ptr<void> keep);
  /// Returns the backend; throws as start() does.
  Backend& usable_backend(const char* op);
  /// Returns a group of some of these processes, by their ranks here. All processes of this group call it together.
  std::shared_ptr<ProcessGroup> subset(const std::string& name, const std::vector<int>& ranks);

 private:
  using Clock = std::chrono::steady_clock;

  void execute(Work& work, std::uint64_t sequence, const char* op, const std::string& call, Body& body);
  /// Throws if the processes' calls differ.
  void compare_calls(const char* op, std::uint64_t sequence, const std::string& call);
  /// Marks the group as failed, and returns the error to throw for an operation that began at that time.
  std::exception_ptr give_up(const char* op, std::uint64_t sequence, Clock::time_point begin, const std::string& cause);
  std::string absentees(std::uint64_t sequence, bool in_time) const;
  /// Returns the reason why the group is not used any more; empty if it is.
  std::string failure() const;
  std::string title() const;
  /// Returns a thread that waits for no message.
  Lane& idle_lane();

  GroupOptions options_;
  std::unique_ptr<Progress> progress_;
  mutable std::mutex mutex_;
  /// Number of operations that were started.
  std::uint64_t sequence_ = 0;
  /// Number of operations and messages that have not ended.
  std::uint64_t pending_ = 0;
  std::string failure_;
  // Declared last, as their threads use the other members.
  Lane operations_;
  std::vector<std::unique_ptr<Lane>> transfers_;
};

/// Returns a group by its name; the default one for "". The group "self", of this process alone, is always there.
/// Throws RuntimeError if there is no such group.
std::shared_ptr<ProcessGroup> find_group(std::string_view name);
/// Returns the default group, or null.
std::shared_ptr<ProcessGroup> default_group();
/// Adds a group; the first one becomes the default. Throws RuntimeError if there is one of this name.
void add_group(const std::shared_ptr<ProcessGroup>& group);
/// Removes a group, which is left when nobody uses it any more; the default one takes all others with it.
void remove_group(std::string_view name);

}  // namespace lamella::distributed

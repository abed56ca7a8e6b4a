#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/device.h"
#include "engine/distributed/backend.h"
#include "engine/distributed/lane.h"
#include "engine/distributed/progress.h"
#include "engine/distributed/work.h"

namespace lamella::distributed {

/// Use of the libraries that devices have of their own (engine/distributed/device_backend.h).
enum class DeviceUse : std::uint8_t {
  /// Tensors of devices go through the memory of the host.
  None,
  /// They go through the device's library where it connects all processes.
  IfThere,
  /// They do, or their operations are errors.
  Required,
};

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
  /// Record of where the processes of this machine stand; null if there is none.
  std::unique_ptr<Progress> progress = nullptr;
  /// Null for a group that no data passes through: on a process that is not a member, and for shapes alone.
  std::unique_ptr<Backend> backend = nullptr;
  DeviceUse device_use = DeviceUse::None;
  /// File of the devices' library where it is none of the system's; empty if not known.
  std::string device_library = {};
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

  /// Leaves the group while others may hold it, for whom later operations are errors.
  void leave();

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
  /// debug mode alone. The body gets the backend for the memory of `device`: the host, or one that it reaches. Throws
  /// DistributedError if the group has failed before, or was left, RuntimeError without a backend.
  std::shared_ptr<Work> start(const char* op, const std::function<std::string()>& call, Body body,
                              Device device = kCPU);
  /// True if operations take the memory of a device as it is, through the device's library. All processes call it
  /// together, on devices of one type; the first call connects them. Throws ValueError for another device of a type
  /// than the one that was connected.
  bool reaches(Device device);
  /// Returns the name of the library of the devices that the group reaches; "" as long as it reaches none.
  std::string device_backend_name() const;
  /// True if reductions of such numbers are the backend's own, on a device that the group reaches.
  bool joins(Device device, DType dtype, ReduceOp op);
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

  /// An operation that waits for its turn.
  struct Call {
    std::uint64_t sequence = 0;
    const char* op = nullptr;
    std::string text;
    Body body;
    Backend* backend = nullptr;
    /// Null for memory of the host.
    std::shared_ptr<void> begins_after;
  };
  void execute(Work& work, Call& call);
  /// Returns the backend for a device's memory; null where there is none.
  Backend* backend_for(Device device);
  /// Lets calls that wait end, on all backends.
  void abort() noexcept;
  /// Throws if the processes' calls differ.
  void compare_calls(const char* op, std::uint64_t sequence, const std::string& call);
  /// Marks the group as failed, and returns the error to throw for an operation that began at that time.
  std::exception_ptr give_up(const char* op, std::uint64_t sequence, Clock::time_point begin, const std::string& cause);
  std::string absentees(std::uint64_t sequence, bool in_time) const;
  /// Returns the reason why the group is not used any more; empty if it is.
  std::string failure() const;
  bool has_left() const;
  std::string title() const;
  /// Returns a thread that waits for no message.
  Lane& idle_lane();

  GroupOptions options_;
  mutable std::mutex mutex_;
  /// Number of operations that were started.
  std::uint64_t sequence_ = 0;
  /// Number of operations and messages that have not ended.
  std::uint64_t pending_ = 0;
  std::string failure_;
  bool has_left_ = false;
  /// Backends of devices, by their types and numbers; null for those that go through the host. They are connected once.
  std::map<std::pair<DeviceType, int>, std::unique_ptr<Backend>> device_backends_;
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

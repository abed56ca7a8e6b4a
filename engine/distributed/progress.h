#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/distributed/backend.h"

namespace lamella::distributed {

/// A process of the group that does not take part in an operation, and what is known of it.
struct Absentee {
  int rank = 0;
  /// True if it has ended or left the group: it will not come. Else it is only behind.
  bool is_gone = false;
  std::string reason;
};

/// Where each process of a group stands, in memory that all processes of one machine map: writing to it costs a store
/// to memory. It is read when an operation has failed, to say which processes were not there. The memory has no name
/// in any folder, and goes with the last process.
class Progress {
 public:
  /// Shares memory with those processes of a group that run on this machine. All processes of the group call it
  /// together. Returns null where the system does not let them, and for a group of one process.
  static std::unique_ptr<Progress> share(Backend& backend, int rank, int size, Milliseconds timeout);
  /// Maps a file of memory, which may be closed afterwards, for a group of `size` processes. Throws RuntimeError if
  /// that fails.
  Progress(int file, int rank, int size);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Notes that this process begins its operation of this number, which starts with 1.
  void begin(std::uint64_t sequence, std::string_view op) noexcept;
  /// Notes that it has ended.
  void end() noexcept;
  /// Notes that this process has given the group up.
  void give_up() noexcept;
  /// Notes that this process has left the group, which its end does otherwise.
  void leave() noexcept;

  /// Returns the processes of this machine that have not begun operation `sequence`, have left the group, or have
  /// ended.
  std::vector<Absentee> absent(std::uint64_t sequence) const;
  /// True if one of the other processes has left the group or has ended.
  bool has_lost_one() const;

 private:
  struct Record;
  /// Elsewhere is a process that does not map this memory: of another machine, say.
  enum class State : std::uint32_t { Elsewhere, Waiting, Running, GivenUp, Left };

  void enter(State state) noexcept;
  bool has_ended(const Record& record) const;

  int rank_;
  int size_;
  std::size_t bytes_;
  Record* records_ = nullptr;
  std::atomic<bool> has_left_ = false;
};

}  // namespace lamella::distributed

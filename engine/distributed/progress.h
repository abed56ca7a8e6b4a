#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamella::distributed {

/// A process of the group that does not take part in an operation, and what is known of it.
struct Absentee {
  int rank = 0;
  std::string reason;
};

/// Where each process of a group stands, in a file that all processes of one machine map: writing to it costs a store
/// to memory. It is read when an operation has failed, to say which processes were not there. The process that leaves
/// last removes it.
class Progress {
 public:
  /// Opens the file, or makes it, for a group of `size` processes. Throws RuntimeError if that fails.
  Progress(const std::string& path, int rank, int size);
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

  /// Returns the processes that have not begun operation `sequence`, have left the group, or have ended.
  std::vector<Absentee> absent(std::uint64_t sequence) const;
  /// True if one of the other processes has left the group or has ended.
  bool has_lost_one() const;

 private:
  struct Record;
  enum class State : std::uint32_t { Unknown, Waiting, Running, GivenUp, Left };

  void enter(State state) noexcept;
  bool has_ended(const Record& record) const;

  std::string path_;
  int rank_;
  int size_;
  std::size_t bytes_;
  Record* records_ = nullptr;
  std::atomic<bool> has_left_ = false;
};

}  // namespace lamella::distributed

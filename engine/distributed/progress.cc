#include "engine/distributed/progress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

#include "engine/core/error.h"

namespace lamella::distributed {

struct alignas(128) Progress::Record {
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint64_t> machine;
  std::atomic<std::int32_t> process;
  std::atomic<State> state;
  char op[64];
};

namespace {

/// Returns a number that differs between machines, so that the ids of their processes are not mixed up.
std::uint64_t this_machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::hash<std::string>()(std::string(name.data()) + boot);
}

/// True if a process of this machine has ended, whether or not its parent has taken note of it.
bool process_has_ended(std::int32_t process) {
  if (kill(process, 0) != 0) return errno == ESRCH;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the name before it may hold anything
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
}

}  // namespace

Progress::Progress(const std::string& path, int rank, int size)
    : path_(path), rank_(rank), size_(size), bytes_(sizeof(Record) * static_cast<std::size_t>(size)) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    fail<RuntimeError>("[distributed] cannot share the file ", path, " between processes: ", std::strerror(error));
  }
  records_ = static_cast<Record*>(memory);
  // The file may be that of an earlier program.
  records_[rank].sequence = 0;
  records_[rank].machine = this_machine();
  records_[rank].process = static_cast<std::int32_t>(getpid());
  enter(State::Waiting);
}

Progress::~Progress() {
  leave();
  munmap(records_, bytes_);
}

void Progress::leave() noexcept {
  if (has_left_.exchange(true)) return;
  if (records_[rank_].state != State::GivenUp) enter(State::Left);
  bool is_last = true;
  for (int i = 0; i < size_; ++i) {
    const State state = records_[i].state;
    const bool is_there = state == State::Waiting || state == State::Running;
    if (i != rank_ && is_there && !has_ended(records_[i])) is_last = false;
  }
  if (is_last) unlink(path_.c_str());
}

void Progress::enter(State state) noexcept { records_[rank_].state.store(state, std::memory_order_release); }

void Progress::begin(std::uint64_t sequence, std::string_view op) noexcept {
  Record& own = records_[rank_];
  const std::size_t length = std::min(op.size(), sizeof own.op - 1);
  std::memcpy(own.op, op.data(), length);
  own.op[length] = '\0';
  own.sequence.store(sequence, std::memory_order_relaxed);
  enter(State::Running);
}
void Progress::end() noexcept { enter(State::Waiting); }
void Progress::give_up() noexcept { enter(State::GivenUp); }

bool Progress::has_ended(const Record& record) const {
  return record.machine == records_[rank_].machine && record.process > 0 && process_has_ended(record.process);
}

bool Progress::has_lost_one() const {
  for (int i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    const State state = records_[i].state;
    if (state == State::Left || state == State::GivenUp || has_ended(records_[i])) return true;
  }
  return false;
}

std::vector<Absentee> Progress::absent(std::uint64_t sequence) const {
  std::vector<Absentee> found;
  for (int i = 0; i < size_; ++i) {
    const Record& record = records_[i];
    const State state = record.state.load(std::memory_order_acquire);
    if (i == rank_ || state == State::GivenUp) continue;
    const std::uint64_t reached = record.sequence;
    std::array<char, sizeof record.op> op{};
    std::memcpy(op.data(), record.op, op.size() - 1);
    const std::string where = reached == 0              ? std::string("before its first operation")
                              : state == State::Running ? str("in operation ", reached, ", ", op.data())
                                                        : str("after operation ", reached, ", ", op.data());
    if (state == State::Unknown) {
      found.push_back({i, "has not joined the group"});
    } else if (state == State::Left) {
      found.push_back({i, "left the group " + where});
    } else if (has_ended(record)) {
      found.push_back({i, "ended (killed, crashed or exited) " + where});
    } else if (reached < sequence) {
      found.push_back({i, "is " + where});
    }
  }
  return found;
}

}  // namespace lamella::distributed

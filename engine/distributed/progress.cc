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
#include <memory>
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

/// A file that is closed at the end of its scope.
class File {
 public:
  explicit File(int number) : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) close(number_);
  }
  int number() const noexcept { return number_; }

 private:
  int number_;
};

/// Describes the memory that a process offers to the others.
struct Offer {
  std::uint64_t machine = 0;
  std::int32_t process = 0;
  /// Number of its file of memory; -1 if it has none.
  std::int32_t file = -1;
};

}  // namespace

std::unique_ptr<Progress> Progress::share(Backend& backend, int rank, int size, Milliseconds timeout) {
  if (size == 1) return nullptr;
  const auto count = static_cast<std::size_t>(size);
  // Each offers some, and those of a machine take what the first of them offers.
  const File own(memfd_create("lamella-progress", MFD_CLOEXEC));
  Offer offer{.machine = this_machine(), .process = static_cast<std::int32_t>(getpid())};
  const auto bytes = static_cast<off_t>(sizeof(Record) * count);
  if (own.number() >= 0 && ftruncate(own.number(), bytes) == 0) offer.file = own.number();
  std::vector<Offer> all(count);
  backend.all_gather(&offer, all.data(), std::vector<std::size_t>(count, sizeof(Offer)), timeout);
  const auto first =
      std::ranges::find_if(all, [&](const Offer& one) { return one.machine == offer.machine && one.file >= 0; });
  std::unique_ptr<Progress> made;
  if (first != all.end()) {
    const std::string path = str("/proc/", first->process, "/fd/", first->file);
    const File shared(open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat found{};
    // Another container of the machine may have another process of this number.
    if (shared.number() >= 0 && fstat(shared.number(), &found) == 0 && found.st_size == bytes) {
      made = std::make_unique<Progress>(shared.number(), rank, size);
    }
  }
  backend.barrier(timeout);  // all have opened it
  return made;
}

Progress::Progress(int file, int rank, int size)
    : rank_(rank), size_(size), bytes_(sizeof(Record) * static_cast<std::size_t>(size)) {
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    fail<RuntimeError>("[distributed] cannot share memory between processes: ", std::strerror(errno));
  }
  records_ = static_cast<Record*>(memory);
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
    if (i == rank_ || state == State::Elsewhere || state == State::GivenUp) continue;
    const std::uint64_t reached = record.sequence;
    std::array<char, sizeof record.op> op{};
    std::memcpy(op.data(), record.op, op.size() - 1);
    const std::string where = reached == 0              ? std::string("before its first operation")
                              : state == State::Running ? str("in operation ", reached, ", ", op.data())
                                                        : str("after operation ", reached, ", ", op.data());
    if (state == State::Left) {
      found.push_back({.rank = i, .is_gone = true, .reason = "left the group " + where});
    } else if (has_ended(record)) {
      found.push_back({.rank = i, .is_gone = true, .reason = "ended (killed, crashed or exited) " + where});
    } else if (reached < sequence) {
      found.push_back({.rank = i, .is_gone = false, .reason = "is " + where});
    }
  }
  return found;
}

}  // namespace lamella::distributed

// NCCL on the emulation: processes of one machine, which hand each other messages in shared memory. Collectives are
// loops over the messages of all processes, and every call is one of NCCL's that ops/distributed/cuda/nccl_api.h has.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/distributed/cuda/nccl_api.h"
#include "tests/cuda/emulation/runtime/memory.h"
#include "tests/cuda/emulation/runtime/streams.h"

using lamella::nccl::Config;
using lamella::nccl::Op;
using lamella::nccl::Result;
using lamella::nccl::Type;
using lamella::nccl::UniqueId;

namespace {

bool has_ended(std::int32_t process) {
  if (process == 0) return false;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || text[end + 2] == 'Z' || text[end + 2] == 'X';
}

/// Messages from one process to another, one at a time, in a file that both map.
class Mailbox {
 public:
  explicit Mailbox(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    struct stat state{};
    if (fstat(file_, &state) == 0 && state.st_size < kStart) (void)!ftruncate(file_, kStart);
    head_ = static_cast<Head*>(mmap(nullptr, kStart, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~Mailbox() {
    munmap(head_, kStart);
    close(file_);
    unlink(path_.c_str());
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void note_owner(bool sends) { (sends ? head_->sender : head_->receiver) = static_cast<std::int32_t>(getpid()); }
  bool other_has_ended(bool sends) const { return has_ended(sends ? head_->receiver : head_->sender); }

  /// Posts a message; returns false while the one before has not been taken.
  bool post(const char* data, std::size_t bytes) {
    if (head_->posted != head_->taken) return false;
    if (bytes > 0) (void)!pwrite(file_, data, bytes, kStart);
    head_->bytes = bytes;
    ++head_->posted;
    return true;
  }
  /// Takes a message; returns false while there is none. `fits` says whether it has as many bytes as are wanted.
  bool take(char* data, std::size_t bytes, bool& fits) {
    if (head_->posted == head_->taken) return false;
    fits = head_->bytes == bytes;
    if (fits && bytes > 0) (void)!pread(file_, data, bytes, kStart);
    ++head_->taken;
    return true;
  }

 private:
  static constexpr off_t kStart = 4096;
  struct Head {
    std::atomic<std::uint64_t> posted;
    std::atomic<std::uint64_t> taken;
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::int32_t> sender;
    std::atomic<std::int32_t> receiver;
  };
  std::string path_;
  int file_;
  Head* head_ = nullptr;
};

template <class T>
T joined(Op op, T a, T b) {
  switch (op) {
    case Op::Sum:
      return static_cast<T>(a + b);
    case Op::Product:
      return static_cast<T>(a * b);
    case Op::Max:
      return a > b ? a : b;
    default:
      return a < b ? a : b;
  }
}

template <class T>
void join(Op op, char* to, const char* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a{};
    T b{};
    std::memcpy(&a, to + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    a = joined(op, a, b);
    std::memcpy(to + i * sizeof(T), &a, sizeof(T));
  }
}

/// Size of a type's numbers, and the function that joins them: null for types that Lamella does not ask for.
struct Kind {
  std::size_t bytes;
  void (*join)(Op op, char* to, const char* from, std::size_t count);
};
Kind kind_of(Type type) {
  switch (type) {
    case Type::Int8:
      return {1, join<std::int8_t>};
    case Type::UInt8:
      return {1, join<std::uint8_t>};
    case Type::Int32:
      return {4, join<std::int32_t>};
    case Type::UInt32:
      return {4, join<std::uint32_t>};
    case Type::Int64:
      return {8, join<std::int64_t>};
    case Type::UInt64:
      return {8, join<std::uint64_t>};
    case Type::Float32:
      return {4, join<float>};
    case Type::Float64:
      return {8, join<double>};
    default:
      return {2, nullptr};
  }
}

}  // namespace

namespace lamella::nccl {

/// A process's place in a group, and its mailboxes to and from the others.
struct Communicator {
  int rank = 0;
  int size = 1;
  std::vector<std::unique_ptr<Mailbox>> to;
  std::vector<std::unique_ptr<Mailbox>> from;
  std::atomic<Result> error = Result::InProgress;
  std::atomic<bool> aborted = false;
  std::thread meeting;
};

}  // namespace lamella::nccl

namespace {

using lamella::nccl::Communicator;

/// Steps of an operation in any order; each returns true when it is done.
using Steps = std::vector<std::function<bool()>>;

struct Piece {
  Steps steps;
  /// Runs when all steps are done.
  std::function<void()> end = [] {};
};

struct Group {
  int depth = 0;
  Communicator* communicator = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Piece> pieces;
  /// Messages of this process to itself that it has not received.
  std::vector<std::pair<const void*, std::size_t>> to_itself;
};
thread_local Group group;

char* address(const void* pointer) { return emulation::Memory::instance().alias(pointer); }

bool is_device_memory(const void* pointer, std::size_t bytes) {
  return bytes == 0 || emulation::Memory::instance().find(pointer, bytes) != nullptr;
}

/// Does what is possible now; returns true when all is done, or nothing will be.
bool advance(Communicator& communicator, std::vector<Piece>& pieces) {
  if (communicator.aborted || communicator.error != Result::Success) return true;
  bool all = true;
  for (Piece& piece : pieces) {
    if (!piece.end) continue;
    std::erase_if(piece.steps, [](const auto& step) { return step(); });
    if (piece.steps.empty()) {
      piece.end();
      piece.end = nullptr;
    } else {
      all = false;
    }
  }
  if (all) return true;
  for (int i = 0; i < communicator.size; ++i) {
    if (i != communicator.rank && communicator.to[static_cast<std::size_t>(i)]->other_has_ended(true)) {
      communicator.error = Result::RemoteError;
      return true;
    }
  }
  return false;
}

Result queue_group() {
  const auto pieces = std::make_shared<std::vector<Piece>>(std::move(group.pieces));
  Communicator* const communicator = group.communicator;
  group.pieces.clear();
  group.communicator = nullptr;
  if (!communicator) return Result::Success;
  const std::lock_guard lock(emulation::lock());
  const auto work = [communicator, pieces] {
    return advance(*communicator, *pieces) ? cudaSuccess : cudaErrorNotReady;
  };
  return emulation::enqueue(group.stream, work) == cudaSuccess ? Result::Success : Result::UnhandledCudaError;
}

Result add(Communicator* communicator, cudaStream_t stream, Piece piece) {
  if (!communicator || communicator->error == Result::InProgress) return Result::InvalidArgument;
  if (group.communicator && group.communicator != communicator) return Result::InvalidUsage;
  group.communicator = communicator;
  group.stream = stream;
  group.pieces.push_back(std::move(piece));
  return group.depth > 0 ? Result::Success : queue_group();
}

std::function<bool()> posts(Communicator* communicator, int to, const void* data, std::size_t bytes) {
  return
      [=] { return communicator->to[static_cast<std::size_t>(to)]->post(bytes > 0 ? address(data) : nullptr, bytes); };
}

/// Returns the step that takes a message into memory of the host, which is asked for when it comes.
std::function<bool()> takes(Communicator* communicator, int source, std::function<char*()> to, std::size_t bytes) {
  return [=] {
    bool fits = true;
    if (!communicator->from[static_cast<std::size_t>(source)]->take(to(), bytes, fits)) return false;
    if (!fits) communicator->error = Result::InvalidUsage;
    return true;
  };
}

/// Every process sends its elements to those for which `receives` is true, which join them in the order of the ranks.
Result reduce(const void* in, void* out, std::size_t count, Type type, Op op, Communicator* communicator,
              cudaStream_t stream, const std::function<bool(int)>& receives) {
  const Kind kind = kind_of(type);
  const std::size_t bytes = count * kind.bytes;
  if (!kind.join || !is_device_memory(in, bytes) || !is_device_memory(out, bytes)) return Result::InvalidArgument;
  Piece piece;
  const auto all = std::make_shared<std::vector<std::vector<char>>>(static_cast<std::size_t>(communicator->size));
  for (int i = 0; i < communicator->size; ++i) {
    if (i == communicator->rank) continue;
    if (receives(i)) piece.steps.push_back(posts(communicator, i, in, bytes));
    if (receives(communicator->rank)) {
      auto& place = (*all)[static_cast<std::size_t>(i)];
      place.resize(bytes);
      piece.steps.push_back(takes(communicator, i, [all, &place] { return place.data(); }, bytes));
    }
  }
  if (receives(communicator->rank)) {
    piece.end = [=] {
      auto& own = (*all)[static_cast<std::size_t>(communicator->rank)];
      own.assign(address(in), address(in) + bytes);
      for (std::size_t i = 1; i < all->size(); ++i) kind.join(op, (*all)[0].data(), (*all)[i].data(), count);
      std::memcpy(address(out), (*all)[0].data(), bytes);
    };
  }
  return add(communicator, stream, std::move(piece));
}

/// Every process for which `sends` is true sends its bytes to all, which write them to the places of their ranks.
Result spread(const void* in, const std::function<char*(int)>& place, std::size_t bytes, Communicator* communicator,
              cudaStream_t stream, const std::function<bool(int)>& sends) {
  Piece piece;
  for (int i = 0; i < communicator->size; ++i) {
    if (i == communicator->rank) continue;
    if (sends(communicator->rank)) piece.steps.push_back(posts(communicator, i, in, bytes));
    if (sends(i)) piece.steps.push_back(takes(communicator, i, [place, i] { return address(place(i)); }, bytes));
  }
  if (sends(communicator->rank)) {
    piece.end = [=, rank = communicator->rank] { std::memmove(address(place(rank)), address(in), bytes); };
  }
  return add(communicator, stream, std::move(piece));
}

std::string path_of(const UniqueId& id, int from, int to) {
  return "/dev/shm/lamella-nccl-" + std::string(id.bytes) + "-" + std::to_string(from) + "-" + std::to_string(to);
}

}  // namespace

extern "C" {

Result ncclGetVersion(int* version) {
  *version = 21400;
  return Result::Success;
}

const char* ncclGetErrorString(Result result) {
  constexpr std::array<const char*, 8> kTexts{"no error",
                                              "unhandled cuda error",
                                              "unhandled system error",
                                              "internal error",
                                              "invalid argument",
                                              "invalid usage",
                                              "remote process exited or there was a network error",
                                              "operation in progress"};
  return kTexts[static_cast<std::size_t>(result)];
}

Result ncclGetUniqueId(UniqueId* id) {
  std::random_device random;
  std::snprintf(id->bytes, sizeof id->bytes, "%d-%08x%08x", getpid(), random(), random());
  return Result::Success;
}

Result ncclCommInitRankConfig(Communicator** made, int size, UniqueId id, int rank, Config* config) {
  if (!config || config->magic != 0xcafebeef || config->size < sizeof(Config) || config->blocking != 0) {
    return Result::InvalidArgument;
  }
  auto* const communicator = new Communicator;
  communicator->rank = rank;
  communicator->size = size;
  for (int i = 0; i < size; ++i) {
    communicator->to.push_back(i == rank ? nullptr : std::make_unique<Mailbox>(path_of(id, rank, i)));
    communicator->from.push_back(i == rank ? nullptr : std::make_unique<Mailbox>(path_of(id, i, rank)));
    if (i == rank) continue;
    communicator->to.back()->note_owner(true);
    communicator->from.back()->note_owner(false);
  }
  // All have met when each has an empty message from each other one.
  communicator->meeting = std::thread([communicator] {
    std::vector<Piece> pieces(1);
    for (int i = 0; i < communicator->size; ++i) {
      if (i == communicator->rank) continue;
      pieces[0].steps.push_back(posts(communicator, i, nullptr, 0));
      pieces[0].steps.push_back(takes(communicator, i, [] { return nullptr; }, 0));
    }
    while (!communicator->aborted && !pieces[0].steps.empty()) {
      std::erase_if(pieces[0].steps, [](const auto& step) { return step(); });
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    communicator->error = Result::Success;
  });
  *made = communicator;
  return Result::InProgress;
}

Result ncclCommAbort(Communicator* communicator) {
  communicator->aborted = true;
  communicator->meeting.join();
  const std::lock_guard lock(emulation::lock());
  // The work of an operation that was given up may still be queued, and knows the communicator.
  communicator->to.clear();
  communicator->from.clear();
  return Result::Success;
}

Result ncclCommGetAsyncError(Communicator* communicator, Result* error) {
  *error = communicator->error;
  return Result::Success;
}

Result ncclGroupStart() {
  ++group.depth;
  return Result::Success;
}
Result ncclGroupEnd() {
  if (group.depth == 0) return Result::InvalidUsage;
  return --group.depth > 0 ? Result::Success : queue_group();
}

Result ncclAllReduce(const void* in, void* out, std::size_t count, Type type, Op op, Communicator* communicator,
                     cudaStream_t stream) {
  return reduce(in, out, count, type, op, communicator, stream, [](int) { return true; });
}

Result ncclReduce(const void* in, void* out, std::size_t count, Type type, Op op, int root, Communicator* communicator,
                  cudaStream_t stream) {
  return reduce(in, out, count, type, op, communicator, stream, [root](int rank) { return rank == root; });
}

Result ncclBroadcast(const void* in, void* out, std::size_t count, Type type, int root, Communicator* communicator,
                     cudaStream_t stream) {
  const std::size_t bytes = count * kind_of(type).bytes;
  // Only the root's input is read.
  const void* const checked = communicator->rank == root ? in : out;
  if (!is_device_memory(checked, bytes) || !is_device_memory(out, bytes)) return Result::InvalidArgument;
  const auto place = [out](int) { return static_cast<char*>(out); };
  return spread(in, place, bytes, communicator, stream, [root](int rank) { return rank == root; });
}

Result ncclAllGather(const void* in, void* out, std::size_t count, Type type, Communicator* communicator,
                     cudaStream_t stream) {
  const std::size_t bytes = count * kind_of(type).bytes;
  if (!is_device_memory(in, bytes) || !is_device_memory(out, bytes * static_cast<std::size_t>(communicator->size))) {
    return Result::InvalidArgument;
  }
  const auto place = [=](int rank) { return static_cast<char*>(out) + bytes * static_cast<std::size_t>(rank); };
  return spread(in, place, bytes, communicator, stream, [](int) { return true; });
}

Result ncclSend(const void* data, std::size_t count, Type type, int to, Communicator* communicator,
                cudaStream_t stream) {
  const std::size_t bytes = count * kind_of(type).bytes;
  if (!is_device_memory(data, bytes)) return Result::InvalidArgument;
  if (to == communicator->rank) {
    if (group.depth == 0) return Result::InvalidUsage;
    group.to_itself.emplace_back(data, bytes);  // its receiver, which is in the same group, copies
    return Result::Success;
  }
  Piece piece;
  piece.steps.push_back(posts(communicator, to, data, bytes));
  return add(communicator, stream, std::move(piece));
}

Result ncclRecv(void* data, std::size_t count, Type type, int source, Communicator* communicator, cudaStream_t stream) {
  const std::size_t bytes = count * kind_of(type).bytes;
  if (!is_device_memory(data, bytes)) return Result::InvalidArgument;
  Piece piece;
  if (source == communicator->rank) {
    if (group.to_itself.empty() || group.to_itself.front().second != bytes) return Result::InvalidUsage;
    const void* const from = group.to_itself.front().first;
    group.to_itself.erase(group.to_itself.begin());
    piece.end = [=] { std::memmove(address(data), address(from), bytes); };
    return add(communicator, stream, std::move(piece));
  }
  piece.steps.push_back(takes(communicator, source, [data] { return address(data); }, bytes));
  return add(communicator, stream, std::move(piece));
}

}  // extern "C"

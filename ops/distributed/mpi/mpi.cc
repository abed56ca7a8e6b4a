// The backend of MPI. A program is started by mpirun or srun, which tell the processes of one another.

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "engine/distributed/backend.h"

namespace lamella::distributed::mpi {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes that one call takes at most: MPI counts with int.
constexpr std::size_t kMost = std::numeric_limits<int>::max();

/// Guards all calls, so that a library of the level MPI_THREAD_SERIALIZED is enough.
std::mutex& mutex() {
  static auto* const one = new std::mutex;  // never destroyed: threads may outlive static destructors
  return *one;
}

/// True after an operation was given up: MPI cannot end its work in order then.
std::atomic<bool> gave_up = false;

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> message{};
  int length = 0;
  MPI_Error_string(status, message.data(), &length);
  fail<RuntimeError>(call, ": ", std::string(message.data(), static_cast<std::size_t>(length)));
}

/// Has the process end, when it does, without what MPI does then, which may wait for the call that has not returned.
void skip_the_end() {
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

/// Makes a call of MPI that has no limit of time of its own, and does not return where another process has ended;
/// throws if the time passes. MPI is not to be used any more then.
template <class Call>
void call_within(Milliseconds timeout, const char* name, Call call) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool has_returned = false;
    int status = 0;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, call] {
    const int status = call();
    const std::lock_guard lock(state->mutex);
    state->status = status;
    state->has_returned = true;
    state->changed.notify_all();
  }).detach();
  std::unique_lock lock(state->mutex);
  if (!state->changed.wait_for(lock, timeout, [&] { return state->has_returned; })) {
    gave_up = true;
    skip_the_end();
    fail<RuntimeError>(name, " has not returned within ", static_cast<double>(timeout.count()) / 1000.0,
                       " s: a process has ended, or has not started MPI");
  }
  check(state->status, name);
}

/// Makes a group of processes by a call of MPI, within a time.
template <class Call>
MPI_Comm made_within(Milliseconds timeout, const char* name, Call call) {
  const auto comm = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
  call_within(timeout, name, [comm, call] { return call(comm.get()); });
  return *comm;
}

/// The types whose numbers MPI hands to the functions below, by DType; MPI_DATATYPE_NULL for numbers of 16 bits, which
/// are joined in float32.
MPI_Datatype datatype_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return MPI_C_BOOL;
    case DType::Int8:
      return MPI_INT8_T;
    case DType::Int16:
      return MPI_INT16_T;
    case DType::Int32:
      return MPI_INT32_T;
    case DType::Int64:
      return MPI_INT64_T;
    case DType::UInt8:
      return MPI_UINT8_T;
    case DType::UInt16:
      return MPI_UINT16_T;
    case DType::UInt32:
      return MPI_UINT32_T;
    case DType::UInt64:
      return MPI_UINT64_T;
    case DType::Float32:
      return MPI_FLOAT;
    case DType::Float64:
      return MPI_DOUBLE;
    case DType::Complex64:
      return MPI_C_FLOAT_COMPLEX;
    case DType::Complex128:
      return MPI_C_DOUBLE_COMPLEX;
    default:
      return MPI_DATATYPE_NULL;
  }
}

/// Joins numbers as the other backends do, where MPI's own maximum would lose NaN.
template <ReduceOp kOp>
void join(void* in, void* in_out, int* count, MPI_Datatype* type) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (datatype_of(dtype) != *type) continue;
    reduction_for(kOp, dtype)(in_out, in, in_out, static_cast<std::size_t>(*count));
    return;
  }
}

MPI_Op operation_of(ReduceOp op) {
  static const std::array<MPI_Op, 4> operations = [] {
    std::array<MPI_Op, 4> made{};
    MPI_Op_create(join<ReduceOp::Sum>, 1, &made[0]);
    MPI_Op_create(join<ReduceOp::Max>, 1, &made[1]);
    MPI_Op_create(join<ReduceOp::Min>, 1, &made[2]);
    MPI_Op_create(join<ReduceOp::Product>, 1, &made[3]);
    return made;
  }();
  return operations[static_cast<std::size_t>(op)];
}

/// Waits for a request; throws if the time passes, or when the group is given up.
void wait_for(MPI_Request& request, Milliseconds timeout, const std::atomic<bool>& aborted) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    int done = 0;
    {
      const std::lock_guard lock(mutex());
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (done) return;
    const auto elapsed = Clock::now() - begin;
    if (aborted || elapsed > timeout) {
      gave_up = true;
      fail<RuntimeError>(aborted ? "the group was given up" : "the other processes have not answered in time");
    }
    // Messages within a machine take microseconds; longer waits leave the core to others.
    constexpr std::chrono::microseconds kShort{100};
    if (elapsed < kShort) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kShort / 2);
    }
  }
}

class Message final : public Transfer {
 public:
  Message(MPI_Request request, const std::atomic<bool>& aborted) : request_(request), aborted_(aborted) {}
  void wait(Milliseconds timeout) override { wait_for(request_, timeout, aborted_); }

 private:
  MPI_Request request_;
  const std::atomic<bool>& aborted_;
};

/// Returns numbers of bytes, and the sums of those before each, as MPI takes them.
struct Blocks {
  std::vector<int> bytes;
  std::vector<int> places;
};
Blocks blocks_of(std::span<const std::size_t> bytes) {
  Blocks blocks;
  std::size_t place = 0;
  for (const std::size_t each : bytes) {
    if (place + each > kMost) {
      fail<RuntimeError>("MPI moves less than 2 GiB in one exchange: split the tensor");
    }
    blocks.bytes.push_back(static_cast<int>(each));
    blocks.places.push_back(static_cast<int>(place));
    place += each;
  }
  return blocks;
}

class Mpi final : public Backend {
 public:
  explicit Mpi(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Mpi() override {
    int finalized = 0;
    const std::lock_guard lock(mutex());
    MPI_Finalized(&finalized);
    if (!finalized && !gave_up) MPI_Comm_free(&comm_);
  }

  void all_reduce(void* data, std::size_t count, DType dtype, ReduceOp op, Milliseconds timeout) override {
    in_pieces(data, count, dtype, [&](void* piece, int length) {
      finish(timeout, "MPI_Iallreduce", [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, piece, length, datatype_of(dtype), operation_of(op), comm_, request);
      });
    });
  }

  void reduce(void* data, std::size_t count, DType dtype, ReduceOp op, int root, Milliseconds timeout) override {
    in_pieces(data, count, dtype, [&](void* piece, int length) {
      finish(timeout, "MPI_Ireduce", [&](MPI_Request* request) {
        return MPI_Ireduce(rank_ == root ? MPI_IN_PLACE : piece, piece, length, datatype_of(dtype), operation_of(op),
                           root, comm_, request);
      });
    });
  }

  void all_gather(const void* in, void* out, std::span<const std::size_t> bytes, Milliseconds timeout) override {
    const Blocks blocks = blocks_of(bytes);
    finish(timeout, "MPI_Iallgatherv", [&](MPI_Request* request) {
      return MPI_Iallgatherv(in, blocks.bytes[static_cast<std::size_t>(rank_)], MPI_BYTE, out, blocks.bytes.data(),
                             blocks.places.data(), MPI_BYTE, comm_, request);
    });
  }

  void all_to_all(const void* in, std::span<const std::size_t> sent, void* out, std::span<const std::size_t> received,
                  Milliseconds timeout) override {
    const Blocks from = blocks_of(sent);
    const Blocks to = blocks_of(received);
    finish(timeout, "MPI_Ialltoallv", [&](MPI_Request* request) {
      return MPI_Ialltoallv(in, from.bytes.data(), from.places.data(), MPI_BYTE, out, to.bytes.data(), to.places.data(),
                            MPI_BYTE, comm_, request);
    });
  }

  void broadcast(void* data, std::size_t bytes, int root, Milliseconds timeout) override {
    in_pieces(data, bytes, DType::UInt8, [&](void* piece, int length) {
      finish(timeout, "MPI_Ibcast",
             [&](MPI_Request* request) { return MPI_Ibcast(piece, length, MPI_BYTE, root, comm_, request); });
    });
  }

  void barrier(Milliseconds timeout) override {
    finish(timeout, "MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
  }

  std::unique_ptr<Transfer> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) override {
    return message([&](MPI_Request* request) {
      return MPI_Isend(data, length_of(bytes), MPI_BYTE, to, tag_of(tag), comm_, request);
    });
  }

  std::unique_ptr<Transfer> receive(void* data, std::size_t bytes, int source, std::uint32_t tag) override {
    return message([&](MPI_Request* request) {
      return MPI_Irecv(data, length_of(bytes), MPI_BYTE, source, tag_of(tag), comm_, request);
    });
  }

  std::unique_ptr<Backend> subset(std::span<const int> ranks, Milliseconds timeout) override {
    int key = -1;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == rank_) key = static_cast<int>(i);
    }
    barrier(timeout);  // waits for others without keeping MPI from other groups
    const std::lock_guard lock(mutex());
    const MPI_Comm comm = made_within(timeout, "MPI_Comm_split", [from = comm_, key](MPI_Comm* made) {
      return MPI_Comm_split(from, key < 0 ? MPI_UNDEFINED : 0, key, made);
    });
    return comm == MPI_COMM_NULL ? nullptr : std::make_unique<Mpi>(comm);
  }

  void abort() noexcept override { aborted_ = true; }

 private:
  static int length_of(std::size_t bytes) {
    if (bytes > kMost) fail<RuntimeError>("MPI sends less than 2 GiB in one message: split the tensor");
    return static_cast<int>(bytes);
  }
  static int tag_of(std::uint32_t tag) {
    void* bound = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    if (found && tag > static_cast<std::uint32_t>(*static_cast<int*>(bound))) {
      fail<ValueError>("this MPI takes tags up to ", *static_cast<int*>(bound), ", not ", tag);
    }
    return static_cast<int>(tag);
  }

  /// Calls f(begin, count) for parts of an array whose numbers of elements an int holds.
  template <class F>
  static void in_pieces(void* data, std::size_t count, DType dtype, F&& f) {
    constexpr std::size_t kPiece = std::size_t{1} << 27;
    auto* const bytes = static_cast<char*>(data);
    for (std::size_t at = 0; at < count; at += kPiece) {
      f(static_cast<void*>(bytes + at * item_size(dtype)), static_cast<int>(std::min(kPiece, count - at)));
    }
  }

  template <class Start>
  void finish(Milliseconds timeout, const char* call, Start&& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mutex());
      check(start(&request), call);
    }
    wait_for(request, timeout, aborted_);
  }

  template <class Start>
  std::unique_ptr<Transfer> message(Start&& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    const std::lock_guard lock(mutex());
    check(start(&request), "MPI_Isend or MPI_Irecv");
    return std::make_unique<Message>(request, aborted_);
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::atomic<bool> aborted_ = false;
};

/// The value of a variable of the environment; "" if there is none.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// Keeps Open MPI from listening on all addresses of a machine that none of the processes has left, while it starts.
class OnOneMachine {
 public:
  OnOneMachine() {
    const std::string here = variable("OMPI_COMM_WORLD_LOCAL_SIZE");
    is_set_ = !here.empty() && here == variable("OMPI_COMM_WORLD_SIZE") && variable(kComponents).empty();
    if (is_set_) setenv(kComponents, "^tcp,ofi", 1);
  }
  OnOneMachine(const OnOneMachine&) = delete;
  OnOneMachine& operator=(const OnOneMachine&) = delete;
  ~OnOneMachine() {
    if (is_set_) unsetenv(kComponents);
  }

 private:
  /// The variable that says which of its ways to move bytes Open MPI takes; what is left below is shared memory, and
  /// networks without addresses.
  static constexpr const char* kComponents = "OMPI_MCA_btl";
  bool is_set_ = false;
};

/// Ends MPI with the process, unless operations were given up.
void finish_mpi(Milliseconds timeout) noexcept {
  if (gave_up) return;
  try {
    call_within(timeout, "MPI_Finalize", MPI_Finalize);
  } catch (const std::exception&) {  // the process ends all the same
  }
}

/// Starts MPI in this process, if nobody else has; it ends with the process.
void start_mpi(Milliseconds timeout) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  int level = MPI_THREAD_SINGLE;
  if (initialized) {
    MPI_Query_thread(&level);
  } else {
    // Open MPI loads parts of its own that look for its functions among the process's global symbols.
    Dl_info library{};
    if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &library) && library.dli_fname) {
      dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    }
    static int started_level = MPI_THREAD_SINGLE;
    static Milliseconds limit{};
    limit = timeout;
    {
      const OnOneMachine here;
      call_within(timeout, "MPI_Init_thread",
                  [] { return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &started_level); });
    }
    level = started_level;
    std::atexit([] { finish_mpi(limit); });
  }
  if (level < MPI_THREAD_SERIALIZED) {
    fail<RuntimeError>("MPI was started without threads: ask MPI_Init_thread for MPI_THREAD_SERIALIZED");
  }
}

std::unique_ptr<Backend> make(const BackendOptions& options) {
  const std::lock_guard lock(mutex());
  start_mpi(options.timeout);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != options.rank || size != options.size) {
    fail<RuntimeError>("MPI says that this process is rank ", rank, " of ", size, ", not ", options.rank, " of ",
                       options.size, ": start the program by mpirun or srun, and leave rank and world_size out");
  }
  return std::make_unique<Mpi>(
      made_within(options.timeout, "MPI_Comm_dup", [](MPI_Comm* made) { return MPI_Comm_dup(MPI_COMM_WORLD, made); }));
}

}  // namespace
}  // namespace lamella::distributed::mpi

extern "C" lamella::distributed::BackendFactory lamella_distributed_backend() {
  return lamella::distributed::mpi::make;
}

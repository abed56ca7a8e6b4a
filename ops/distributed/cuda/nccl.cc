// The backend of NCCL for the memory of CUDA devices: one device for each process of a group.

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/distributed/device_backend.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/distributed/cuda/nccl_api.h"

namespace lamella::distributed {
namespace {

using nccl::Op;
using nccl::Result;
using nccl::Type;
using Clock = std::chrono::steady_clock;

/// Waits between two looks at what is under way: messages within a machine take microseconds, and longer waits leave
/// the core to others.
class Pauses {
 public:
  void operator()() {
    if (Clock::now() - begin_ < kShort) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kShort / 4);
    }
  }

 private:
  static constexpr std::chrono::microseconds kShort{200};
  Clock::time_point begin_ = Clock::now();
};

/// A point in a stream's work.
class Event {
 public:
  explicit Event(Device device) : device_(device) {
    const cuda::DeviceGuard guard(device);
    cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "distributed");
  }
  ~Event() {
    const cuda::DeviceGuard guard(device_);
    cudaEventDestroy(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) {
    const cuda::DeviceGuard guard(device_);
    cuda::check(cudaEventRecord(event_, stream), "distributed");
  }

 private:
  Device device_;
  cudaEvent_t event_ = nullptr;
};

/// Numbers of a dtype as NCCL takes them: complex ones as two.
struct Numbers {
  Type type;
  std::size_t each = 1;
};

/// Returns how sums are made; each = 0 for a dtype that NCCL does not know.
Numbers numbers_of(DType dtype) {
  switch (dtype) {
    case DType::Int8:
      return {Type::Int8};
    case DType::UInt8:
      return {Type::UInt8};
    case DType::Int32:
      return {Type::Int32};
    case DType::UInt32:
      return {Type::UInt32};
    case DType::Int64:
      return {Type::Int64};
    case DType::UInt64:
      return {Type::UInt64};
    case DType::Float32:
      return {Type::Float32};
    case DType::Float64:
      return {Type::Float64};
    case DType::Complex64:
      return {Type::Float32, 2};
    case DType::Complex128:
      return {Type::Float64, 2};
    default:
      return {Type::Int8, 0};
  }
}

class Nccl final : public Backend {
 public:
  Nccl(const nccl::Api& api, const DeviceBackendOptions& options, const nccl::UniqueId& id)
      : api_(api), device_(options.device), rank_(options.rank), stream_(options.device), done_(options.device) {
    const cuda::DeviceGuard guard(device_);
    nccl::Config config;
    const Clock::time_point begin = Clock::now();
    try {
      settle(api_.init(&communicator_, options.size, id, rank_, &config), begin, options.timeout);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Nccl() override { release(); }

  void all_reduce(void* data, std::size_t count, DType dtype, ReduceOp op, Milliseconds timeout) override {
    const Numbers numbers = numbers_of(dtype);
    if (count == 0) return;
    run(timeout, [&] {
      return api_.all_reduce(data, data, count * numbers.each, numbers.type, op_of(op), communicator_, stream_.get());
    });
  }

  void reduce(void* data, std::size_t count, DType dtype, ReduceOp op, int root, Milliseconds timeout) override {
    const Numbers numbers = numbers_of(dtype);
    if (count == 0) return;
    run(timeout, [&] {
      return api_.reduce(data, data, count * numbers.each, numbers.type, op_of(op), root, communicator_, stream_.get());
    });
  }

  void all_gather(const void* in, void* out, std::span<const std::size_t> bytes, Milliseconds timeout) override {
    if (std::ranges::all_of(bytes, [&](std::size_t each) { return each == bytes[0]; })) {
      if (bytes[0] == 0) return;
      run(timeout, [&] { return api_.all_gather(in, out, bytes[0], Type::Int8, communicator_, stream_.get()); });
      return;
    }
    run_group(timeout, [&] {
      auto* to = static_cast<char*>(out);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] > 0) {
          take(api_.broadcast(in, to, bytes[i], Type::Int8, static_cast<int>(i), communicator_, stream_.get()));
        }
        to += bytes[i];
      }
    });
  }

  void all_to_all(const void* in, std::span<const std::size_t> sent, void* out, std::span<const std::size_t> received,
                  Milliseconds timeout) override {
    run_group(timeout, [&] {
      const auto* from = static_cast<const char*>(in);
      auto* to = static_cast<char*>(out);
      for (std::size_t i = 0; i < sent.size(); ++i) {
        const int other = static_cast<int>(i);
        if (sent[i] > 0) take(api_.send(from, sent[i], Type::Int8, other, communicator_, stream_.get()));
        if (received[i] > 0) take(api_.receive(to, received[i], Type::Int8, other, communicator_, stream_.get()));
        from += sent[i];
        to += received[i];
      }
    });
  }

  void broadcast(void* data, std::size_t bytes, int root, Milliseconds timeout) override {
    if (bytes == 0) return;
    run(timeout, [&] { return api_.broadcast(data, data, bytes, Type::Int8, root, communicator_, stream_.get()); });
  }

  // The group's backend for the host does these.
  void barrier(Milliseconds) override { not_here("barrier"); }
  std::unique_ptr<Transfer> send(const void*, std::size_t, int, std::uint32_t) override { not_here("send"); }
  std::unique_ptr<Transfer> receive(void*, std::size_t, int, std::uint32_t) override { not_here("recv"); }
  std::unique_ptr<Backend> subset(std::span<const int>, Milliseconds) override { not_here("new_group"); }

  std::shared_ptr<void> point() override {
    auto event = std::make_shared<Event>(device_);
    event->record(cuda::current_stream(device_));
    return event;
  }
  void follow(const std::shared_ptr<void>& point) override {
    const cuda::DeviceGuard guard(device_);
    cuda::check(cudaStreamWaitEvent(stream_.get(), static_cast<const Event*>(point.get())->get(), 0), "distributed");
  }

  bool joins(DType dtype, ReduceOp op) const override {
    const bool is_float = is_differentiable(dtype);
    // NCCL's extrema lose NaN, and its products know no complex numbers.
    const bool is_right = op == ReduceOp::Sum || (op == ReduceOp::Product ? !is_complex(dtype) : !is_float);
    return is_right && numbers_of(dtype).each > 0;
  }

  void abort() noexcept override { aborted_ = true; }

 private:
  [[noreturn]] static void not_here(const char* what) { fail<RuntimeError>("NCCL is not asked for ", what); }

  static Op op_of(ReduceOp op) {
    constexpr Op kOps[] = {Op::Sum, Op::Max, Op::Min, Op::Product};
    return kOps[static_cast<std::size_t>(op)];
  }

  void take(Result result) const {
    if (result != Result::Success && result != Result::InProgress) fail<RuntimeError>(api_.error_string(result));
  }

  /// Waits until NCCL has begun what a call asks for.
  void settle(Result result, Clock::time_point begin, Milliseconds timeout) {
    Pauses pause;
    while (result == Result::InProgress) {
      look(begin, timeout);
      pause();
      if (communicator_) take(api_.get_async_error(communicator_, &result));
    }
    take(result);
  }

  /// Throws where nobody is to wait any longer.
  void look(Clock::time_point begin, Milliseconds timeout) const {
    if (aborted_) fail<RuntimeError>("the group was given up");
    if (Clock::now() - begin > timeout) fail<RuntimeError>("the other processes have not answered in time");
  }

  template <class Start>
  void run_group(Milliseconds timeout, Start&& start) {
    run(timeout, [&] {
      take(api_.group_start());
      try {
        start();
      } catch (...) {
        api_.group_end();
        throw;
      }
      return api_.group_end();
    });
  }

  /// Starts an operation in the stream, and waits until it is done; throws if the communicator fails or the time
  /// passes.
  template <class Start>
  void run(Milliseconds timeout, Start&& start) {
    const cuda::DeviceGuard guard(device_);
    const Clock::time_point begin = Clock::now();
    settle(start(), begin, timeout);
    done_.record(stream_.get());
    Pauses pause;
    for (;;) {
      const cudaError_t state = cudaEventQuery(done_.get());
      Result error = Result::Success;
      take(api_.get_async_error(communicator_, &error));
      if (error != Result::InProgress) take(error);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) cuda::check(state, "distributed");
      look(begin, timeout);
      pause();
    }
  }

  /// Frees the communicator. Work that still runs is given up; where all has ended, as after every operation that went
  /// well, an end in order would only make processes wait for each other.
  void release() noexcept {
    if (communicator_) api_.abort(communicator_);
    communicator_ = nullptr;
  }

  const nccl::Api& api_;
  Device device_;
  int rank_;
  cuda::Stream stream_;
  Event done_;
  nccl::Communicator* communicator_ = nullptr;
  std::atomic<bool> aborted_ = false;
};

/// Facts that each process tells the others before they connect.
struct Told {
  std::array<char, 64> machine{};
  /// Where the device is on the machine's bus: its number differs between processes that see different devices.
  std::array<char, 32> device{};
  std::array<char, 160> refusal{};
};

std::vector<Told> tell_each_other(const Told& own, Backend& host, int size, Milliseconds timeout) {
  std::vector<Told> all(static_cast<std::size_t>(size));
  const std::vector<std::size_t> bytes(all.size(), sizeof(Told));
  host.all_gather(&own, all.data(), bytes, timeout);
  return all;
}

template <std::size_t kSize>
void write(std::array<char, kSize>& to, const std::string& text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), kSize - 1));
}

/// Returns why these processes cannot be connected; empty if they can.
std::string refusal(const std::vector<Told>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].refusal[0] != '\0') return str("rank ", i, ": ", all[i].refusal.data());
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].machine == all[j].machine && all[i].device == all[j].device) {
        return str("ranks ", j, " and ", i, " have one device (", all[i].device.data(), " of ", all[i].machine.data(),
                   "): give each process its own, such as f\"cuda:{get_local_rank()}\"");
      }
    }
  }
  return "";
}

void load(const std::string& library) { nccl::api(library); }

/// Returns true if no process has a refusal; otherwise all throw, where the library is required.
bool all_agree(const Told& own, const DeviceBackendOptions& options, Backend& host) {
  const std::string reason = refusal(tell_each_other(own, host, options.size, options.timeout));
  if (!reason.empty() && options.required) fail<RuntimeError>("NCCL cannot connect the processes: ", reason);
  return reason.empty();
}

std::unique_ptr<Backend> connect(const DeviceBackendOptions& options, Backend& host) {
  Told own;
  gethostname(own.machine.data(), own.machine.size() - 1);
  nccl::UniqueId id{};
  const nccl::Api* api = nullptr;
  try {
    cuda::check(cudaDeviceGetPCIBusId(own.device.data(), static_cast<int>(own.device.size()), options.device.index),
                "distributed");
    api = &nccl::api(options.library);
    if (options.rank == 0 && api->get_unique_id(&id) != Result::Success) fail<RuntimeError>("NCCL finds no network");
  } catch (const std::exception& error) {
    write(own.refusal, error.what());
  }
  if (!all_agree(own, options, host)) return nullptr;
  host.broadcast(&id, sizeof id, 0, options.timeout);
  std::unique_ptr<Nccl> made;
  try {
    made = std::make_unique<Nccl>(*api, options, id);
  } catch (const std::exception& error) {
    write(own.refusal, error.what());
  }
  return all_agree(own, options, host) ? std::move(made) : nullptr;
}

[[maybe_unused]] const bool kRegistered = [] {
  register_device_library(DeviceType::CUDA, {.name = "nccl", .load = load, .connect = connect});
  return true;
}();

}  // namespace
}  // namespace lamella::distributed

#include "engine/distributed/process_group.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <tuple>
#include <utility>

#include "engine/core/error.h"
#include "engine/distributed/device_backend.h"
#include "engine/distributed/error.h"

namespace lamella::distributed {
namespace {

/// Bytes of the description of a call that the processes compare.
constexpr std::size_t kCallBytes = 512;

/// Thrown where the processes' calls do not fit together; the group is still good.
class Mismatch : public DistributedError {
 public:
  using DistributedError::DistributedError;
};

std::string seconds(Milliseconds time) { return str(static_cast<double>(time.count()) / 1000.0, " s"); }

/// Returns numbers as text: "0, 2".
std::string listed(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

}  // namespace

ProcessGroup::ProcessGroup(GroupOptions options) : options_(std::move(options)) {}

ProcessGroup::~ProcessGroup() { leave(); }

void ProcessGroup::leave() {
  bool is_idle = true;
  {
    const std::lock_guard lock(mutex_);
    is_idle = pending_ == 0;
    has_left_ = true;
  }
  if (!is_idle && options_.backend) abort();
  if (options_.progress) options_.progress->leave();
}

void ProcessGroup::abort() noexcept {
  options_.backend->abort();
  const std::lock_guard lock(mutex_);
  for (const auto& [device, backend] : device_backends_) {
    if (backend) backend->abort();
  }
}

std::string ProcessGroup::title() const { return str("group '", name(), "'"); }

std::string ProcessGroup::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool ProcessGroup::has_left() const {
  const std::lock_guard lock(mutex_);
  return has_left_;
}

Backend& ProcessGroup::usable_backend(const char* op) {
  if (rank() < 0) {
    fail<RuntimeError>("[", op, "] this process is not a member of ", title(), ", whose members are the processes ",
                       listed(ranks()));
  }
  if (!options_.backend) {
    fail<RuntimeError>("[", op, "] ", title(), " of the backend '", backend_name(),
                       "' moves no data: it takes tensors on the device 'meta' alone");
  }
  if (has_left()) fail<DistributedError>("[", op, "] this process has left ", title(), " (destroy_process_group)");
  if (const std::string reason = failure(); !reason.empty()) {
    fail<DistributedError>("[", op, "] ", title(), " has failed before and cannot be used any more: ", reason);
  }
  return *options_.backend;
}

std::shared_ptr<Work> ProcessGroup::start(const char* op, const std::function<std::string()>& call, Body body,
                                          Device device) {
  usable_backend(op);
  auto work = std::make_shared<Work>();
  // std::function holds copies, so that the call is shared.
  const auto shared = std::make_shared<Call>();
  shared->op = op;
  if (is_debug()) shared->text = str(op, "(", call(), ")");
  shared->body = std::move(body);
  shared->backend = backend_for(device);
  shared->begins_after = shared->backend->point();
  const std::lock_guard lock(mutex_);
  ++pending_;
  shared->sequence = ++sequence_;
  operations_.push([this, work, shared] { execute(*work, *shared); });
  return work;
}

Backend* ProcessGroup::backend_for(Device device) {
  if (device.is_cpu()) return options_.backend.get();
  const std::lock_guard lock(mutex_);
  const auto found = device_backends_.find({device.type, device.index});
  return found == device_backends_.end() ? nullptr : found->second.get();
}

bool ProcessGroup::reaches(Device device) {
  if (device.is_cpu()) return true;
  const DeviceLibrary* const library = find_device_library(device.type);
  if (options_.device_use == DeviceUse::None || size() == 1 || !library) return false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = device_backends_.find({device.type, device.index}); found != device_backends_.end()) {
      return found->second != nullptr;
    }
    for (const auto& [other, backend] : device_backends_) {
      // The other processes, which are connected, would not take part in connecting once more.
      if (other.first != device.type) continue;
      if (!backend) return false;
      fail<ValueError>("[distributed] ", title(), " is connected on ", Device(other.first, other.second),
                       " of this process, and the tensor is on ", device, ": a process has one device in a group");
    }
  }
  const DeviceBackendOptions options{.device = device,
                                     .rank = rank(),
                                     .size = size(),
                                     .library = options_.device_library,
                                     .required = options_.device_use == DeviceUse::Required,
                                     .timeout = timeout()};
  const auto call = [&] { return str("over ", library->name); };
  const auto made = std::make_shared<std::unique_ptr<Backend>>();
  const auto connect = [made, options, library](Backend& host, Milliseconds) {
    *made = library->connect(options, host);
  };
  start("connect", call, connect)->wait();
  const std::lock_guard lock(mutex_);
  return (device_backends_[{device.type, device.index}] = std::move(*made)) != nullptr;
}

std::string ProcessGroup::device_backend_name() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [device, backend] : device_backends_) {
    if (backend) return find_device_library(device.first)->name;
  }
  return "";
}

bool ProcessGroup::joins(Device device, DType dtype, ReduceOp op) { return backend_for(device)->joins(dtype, op); }

std::shared_ptr<Work> ProcessGroup::start_transfer(
    const char* op, const std::function<std::unique_ptr<Transfer>(Backend& backend)>& begin,
    std::shared_ptr<void> keep) {
  Backend& backend = usable_backend(op);
  // std::function holds copies, so that the transfer is shared.
  std::shared_ptr<Transfer> shared;
  try {
    shared = begin(backend);
  } catch (const ValueError&) {
    throw;
  } catch (const std::exception& cause) {
    if (size() == 1) throw;  // the program's own mistake
    std::rethrow_exception(give_up(op, 0, Clock::now(), backend_name() + ": " + cause.what()));
  }
  auto work = std::make_shared<Work>();
  const std::lock_guard lock(mutex_);
  ++pending_;
  idle_lane().push([this, work, op, shared, keep = std::move(keep)]() mutable {
    std::exception_ptr error;
    const Clock::time_point begin = Clock::now();
    try {
      shared->wait(timeout());
    } catch (const std::exception& cause) {
      error = give_up(op, 0, begin, backend_name() + ": " + cause.what());
    }
    keep.reset();
    {
      const std::lock_guard ended(mutex_);
      --pending_;
    }
    work->finish(std::move(error));
  });
  return work;
}

Lane& ProcessGroup::idle_lane() {
  for (const auto& lane : transfers_) {
    if (lane->is_idle()) return *lane;
  }
  return *transfers_.emplace_back(std::make_unique<Lane>());
}

void ProcessGroup::execute(Work& work, Call& call) {
  std::exception_ptr error;
  const Clock::time_point begin = Clock::now();
  try {
    usable_backend(call.op);
    try {
      if (options_.progress) options_.progress->begin(call.sequence, call.op);
      if (is_debug()) compare_calls(call.op, call.sequence, call.text);
      call.backend->follow(call.begins_after);
      call.body(*call.backend, timeout());
      if (options_.progress) options_.progress->end();
    } catch (const Mismatch&) {
      if (options_.progress) options_.progress->end();
      throw;
    } catch (const std::exception& cause) {
      const std::string library = call.backend == options_.backend.get() ? backend_name() : device_backend_name();
      std::rethrow_exception(give_up(call.op, call.sequence, begin, library + ": " + cause.what()));
    }
  } catch (...) {
    error = std::current_exception();
  }
  call.body = nullptr;  // the caller is then the only owner of the result
  {
    const std::lock_guard lock(mutex_);
    --pending_;
  }
  work.finish(std::move(error));
}

void ProcessGroup::compare_calls(const char* op, std::uint64_t sequence, const std::string& call) {
  const auto count = static_cast<std::size_t>(size());
  std::string own = call.substr(0, kCallBytes);
  own.resize(kCallBytes);
  std::string all(kCallBytes * count, '\0');
  const std::vector<std::size_t> bytes(count, kCallBytes);
  options_.backend->all_gather(own.data(), all.data(), bytes, timeout());
  bool differs = false;
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const char* const other = all.data() + i * kCallBytes;
    differs = differs || std::memcmp(other, own.data(), kCallBytes) != 0;
    text += str(i == 0 ? "" : "; ", "rank ", i, ": ", std::string(other, strnlen(other, kCallBytes)));
  }
  if (differs) {
    fail<Mismatch>("[", op, "] the processes of ", title(), " call different operations as their operation ", sequence,
                   ": ", text);
  }
}

std::string ProcessGroup::absentees(std::uint64_t sequence, bool in_time) const {
  if (!options_.progress) return "";
  // A process that is being killed closes its connections a little before the system shows it as ended.
  constexpr Milliseconds kStep{10};
  for (int i = 0; in_time && i < 20 && !options_.progress->has_lost_one(); ++i) std::this_thread::sleep_for(kStep);
  std::vector<Absentee> absent = options_.progress->absent(sequence);
  // Before the time has passed, those that are only behind are no cause beside one that will not come.
  if (in_time && std::ranges::any_of(absent, &Absentee::is_gone)) {
    std::erase_if(absent, [](const Absentee& one) { return !one.is_gone; });
  }
  std::string text;
  for (const Absentee& one : absent) {
    text += str(text.empty() ? "" : "; ", "rank ", one.rank, " ", one.reason);
  }
  return text;
}

std::exception_ptr ProcessGroup::give_up(const char* op, std::uint64_t sequence, Clock::time_point begin,
                                         const std::string& cause) {
  const auto elapsed = std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
  const bool in_time = elapsed < timeout();
  const std::string absent = absentees(sequence, in_time);
  std::string text =
      str(sequence > 0 ? str("operation ", sequence, ", ", op) : std::string(op), ", failed on rank ", rank(), " of ",
          size(), in_time ? " after " : ": no answer within ", seconds(in_time ? elapsed : timeout()));
  if (!absent.empty()) text += str("; missing: ", absent);
  text += "; " + cause;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = text;
  }
  if (options_.progress) options_.progress->give_up();
  // The others need not wait for their own time to pass.
  abort();
  return std::make_exception_ptr(DistributedError(str("[", op, "] ", title(), ": ", text)));
}

std::shared_ptr<ProcessGroup> ProcessGroup::subset(const std::string& name, const std::vector<int>& ranks) {
  GroupOptions options{.name = name,
                       .backend_name = backend_name(),
                       .timeout = timeout(),
                       .debug = is_debug(),
                       .device_use = options_.device_use,
                       .device_library = options_.device_library};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    options.ranks.push_back(options_.ranks[static_cast<std::size_t>(ranks[i])]);
    if (ranks[i] == rank()) options.rank = static_cast<int>(i);
  }
  if (options_.backend && ranks.size() == 1) {
    if (options.rank == 0) options.backend = solo_backend();
  } else if (options_.backend) {
    const auto call = [&] { return str("ranks=[", listed(ranks), "]"); };
    // Shared with the operation, as an interrupt may end the wait before it.
    const auto made = std::make_shared<std::pair<std::unique_ptr<Backend>, std::unique_ptr<Progress>>>();
    const auto connect = [made, ranks, place = options.rank, size = static_cast<int>(ranks.size())](
                             Backend& backend, Milliseconds limit) {
      made->first = backend.subset(ranks, limit);
      if (made->first) made->second = Progress::share(*made->first, place, size, limit);
    };
    start("new_group", call, connect)->wait();
    std::tie(options.backend, options.progress) = std::move(*made);
  }
  return std::make_shared<ProcessGroup>(std::move(options));
}

}  // namespace lamella::distributed

#include "simulator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace sim {
namespace {

/// The same pages at two places: where the program sees them, without access, and where kernels do.
class Memory {
 public:
  Memory() {
    const std::size_t bytes = kDevices * kMemory;
    const int file = memfd_create("simulated accelerator", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("no memory for devices");
    void* const shown = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    void* const view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (shown == MAP_FAILED || view == MAP_FAILED) throw std::runtime_error("no memory for devices");
    base_ = static_cast<char*>(shown);
    distance_ = reinterpret_cast<std::intptr_t>(view) - reinterpret_cast<std::intptr_t>(shown);
    for (int device = 0; device < kDevices; ++device)
      free_[device][static_cast<std::size_t>(device) * kMemory] = kMemory;
  }

  std::ptrdiff_t distance() const noexcept { return distance_; }

  void* allocate(int device, std::size_t bytes) {
    bytes = (bytes + 511) / 512 * 512;
    const std::lock_guard lock(mutex_);
    auto& free = free_[device];
    const auto hole = std::find_if(free.begin(), free.end(), [&](const auto& each) { return each.second >= bytes; });
    if (hole == free.end()) return nullptr;
    const auto [start, size] = *hole;
    free.erase(hole);
    if (size > bytes) free[start + bytes] = size - bytes;
    taken_[start] = bytes;
    return base_ + start;
  }

  void release(int device, void* address) {
    const std::lock_guard lock(mutex_);
    const auto start = static_cast<std::size_t>(static_cast<char*>(address) - base_);
    auto& free = free_[device];
    auto hole = free.emplace(start, taken_.extract(start).mapped()).first;
    const auto next = std::next(hole);
    if (next != free.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      free.erase(next);
    }
    if (hole == free.begin()) return;
    const auto before = std::prev(hole);
    if (before->first + before->second == hole->first) {
      before->second += hole->second;
      free.erase(hole);
    }
  }

 private:
  std::mutex mutex_;
  char* base_ = nullptr;
  std::ptrdiff_t distance_ = 0;
  std::array<std::map<std::size_t, std::size_t>, kDevices> free_;  // start and size
  std::map<std::size_t, std::size_t> taken_;
};

/// Never destroyed: tensors are freed as late as the process ends.
Memory& memory() {
  static auto* const all = new Memory;
  return *all;
}

}  // namespace

class Stream {
 public:
  Stream() : thread_([this] { run(); }) {}
  ~Stream() { end(); }

  void launch(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    throw_error();
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty(); });
    throw_error();
  }
  void end() noexcept {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void throw_error() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::function<void()> work = std::move(queue_.front());
      lock.unlock();
      std::exception_ptr error;
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      work = nullptr;
      lock.lock();
      if (error && !error_) error_ = error;
      queue_.pop_front();  // it counts as queued until it is done
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;
};

namespace {

struct Streams {
  std::mutex mutex;
  std::array<Stream, kDevices> own;
  std::vector<Stream*> others;
};

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

}  // namespace

void* allocate(int device, std::size_t bytes) { return memory().allocate(device, bytes); }
void release(int device, void* address) noexcept { memory().release(device, address); }
std::ptrdiff_t detail::distance_to_view() noexcept { return memory().distance(); }

Stream& own_stream(int device) { return streams().own[static_cast<std::size_t>(device)]; }

Stream* create_stream() {
  auto made = std::make_unique<Stream>();
  const std::lock_guard lock(streams().mutex);
  streams().others.push_back(made.get());
  return made.release();
}

void destroy_stream(Stream* stream) noexcept {
  {
    const std::lock_guard lock(streams().mutex);
    std::erase(streams().others, stream);
  }
  delete stream;
}

void launch(Stream& stream, std::function<void()> work) { stream.launch(std::move(work)); }
void wait(Stream& stream) { stream.wait(); }

void wait_for_all() {
  for (Stream& stream : streams().own) stream.wait();
  const std::lock_guard lock(streams().mutex);
  for (Stream* stream : streams().others) stream->wait();
}

void shut_down() noexcept {
  for (Stream& stream : streams().own) stream.end();
  const std::lock_guard lock(streams().mutex);
  for (Stream* stream : streams().others) stream->end();
}

}  // namespace sim

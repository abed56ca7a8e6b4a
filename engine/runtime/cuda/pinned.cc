// Registers CUDA's page-locked memory.

#include "engine/runtime/pinned.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"

namespace lamella::cuda {
namespace {

/// Blocks are kept for reuse, as locking pages takes long and waits for the devices. A block is free again once the
/// events behind its copies have occurred.
class Memory final : public PinnedMemory {
 public:
  void* allocate(std::size_t bytes) override {
    const std::size_t size = std::bit_ceil(std::max(bytes, kSmallest));
    const std::lock_guard lock(mutex_);
    collect();
    if (std::vector<char*>& spare = spare_[size]; !spare.empty()) {
      char* const found = spare.back();
      spare.pop_back();
      return found;
    }
    void* made = nullptr;
    const cudaError_t status = cudaHostAlloc(&made, size, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      fail<OutOfMemoryError>("[pin_memory] the system has no ", bytes, " bytes left that may be locked");
    }
    check(status, "pin_memory");
    blocks_.emplace(static_cast<char*>(made), Block{size, {}});
    return made;
  }

  void release(void* pointer) noexcept override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(static_cast<char*>(pointer));
    collect();
  }

  bool holds(const void* pointer) noexcept override {
    const std::lock_guard lock(mutex_);
    return find(pointer) != blocks_.end();
  }

  void note_copy(const void* pointer, Device device) override {
    const DeviceGuard guard(device);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "copy");
    const std::lock_guard lock(mutex_);
    find(pointer)->second.copies.push_back(event);
    check(cudaEventRecord(event, current_stream(device)), "copy");
  }

 private:
  static constexpr std::size_t kSmallest = 512;

  struct Block {
    std::size_t size;
    std::vector<cudaEvent_t> copies;
  };
  using Blocks = std::map<char*, Block>;

  Blocks::iterator find(const void* pointer) noexcept {
    const auto following = blocks_.upper_bound(static_cast<char*>(const_cast<void*>(pointer)));
    if (following == blocks_.begin()) return blocks_.end();
    const auto found = std::prev(following);
    return static_cast<const char*>(pointer) < found->first + found->second.size ? found : blocks_.end();
  }

  /// Makes the blocks spare whose copies are done.
  void collect() noexcept {
    std::erase_if(waiting_, [&](char* pointer) {
      Block& block = blocks_.find(pointer)->second;
      std::erase_if(block.copies, [](cudaEvent_t event) {
        if (cudaEventQuery(event) == cudaErrorNotReady) {
          static_cast<void>(cudaGetLastError());
          return false;
        }
        static_cast<void>(cudaEventDestroy(event));
        return true;
      });
      if (!block.copies.empty()) return false;
      spare_[block.size].push_back(pointer);
      return true;
    });
  }

  std::mutex mutex_;
  Blocks blocks_;  // all, by their first address
  std::map<std::size_t, std::vector<char*>> spare_;
  std::vector<char*> waiting_;  // released, with copies that may not be done
};

[[maybe_unused]] const bool kRegistered = [] {
  register_pinned_memory(std::make_unique<Memory>());
  return true;
}();

}  // namespace
}  // namespace lamella::cuda

#include "tests/cuda/emulation/runtime/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/emulation/runtime/settings.h"

namespace emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSpan = std::size_t{1} << 38;  // addresses per device
constexpr unsigned char kMargin = 0xCB;
/// NaN in every floating dtype, and an index out of range.
constexpr unsigned char kPoison = 0xFF;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

std::uintptr_t Allocation::first_page() const { return reinterpret_cast<std::uintptr_t>(pointer) / kPage * kPage; }
std::uintptr_t Allocation::end_page() const {
  return round_up(reinterpret_cast<std::uintptr_t>(pointer) + std::max<std::size_t>(bytes, 1), kPage);
}

Memory& Memory::instance() {
  static Memory* const memory = new Memory;
  return *memory;
}

Memory::Memory() : devices_(settings().devices), limit_(settings().memory_bytes) {
  const std::size_t bytes = kSpan * static_cast<std::size_t>(devices_);
  file_ = memfd_create("device memory", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) give_up("memory of the emulated devices");
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE;
  closed_ = static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, kFlags, file_, 0));
  open_ = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, file_, 0));
  if (closed_ == MAP_FAILED || open_ == MAP_FAILED) give_up("addresses of the emulated devices");
  next_.assign(static_cast<std::size_t>(devices_), kPage);
  used_.assign(static_cast<std::size_t>(devices_), 0);
}

char* Memory::alias(const void* pointer) const { return open_ + (static_cast<const char*>(pointer) - closed_); }

bool Memory::is_device_address(const void* pointer) const {
  const auto* const at = static_cast<const char*>(pointer);
  return at >= closed_ && at < closed_ + kSpan * static_cast<std::size_t>(devices_);
}

void* Memory::allocate(int device, std::size_t bytes) {
  const auto of = static_cast<std::size_t>(device);
  const std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const std::size_t pages = round_up(rounded, kPage);
  if (bytes > limit_ - used_[of]) return nullptr;
  if (next_[of] + pages + kPage > kSpan) next_[of] = kPage;  // addresses freed long ago are used again
  char* const first = closed_ + of * kSpan + next_[of];
  const auto following = allocations_.lower_bound(reinterpret_cast<std::uintptr_t>(first));
  if (following != allocations_.end() && following->first < reinterpret_cast<std::uintptr_t>(first) + pages + kPage) {
    return nullptr;
  }
  next_[of] += pages + kPage;
  used_[of] += bytes;
  char* const pointer = first + pages - rounded;
  std::memset(alias(first), kMargin, pages);
  std::memset(alias(pointer), kPoison, bytes);
  const Allocation allocation{pointer, bytes, device};
  allocations_.emplace(allocation.first_page(), allocation);
  return pointer;
}

bool Memory::release(void* pointer) {
  const Allocation* const found = find(pointer, 0);
  if (!found || found->pointer != pointer) return false;
  const std::uintptr_t first = found->first_page();
  const std::size_t pages = found->end_page() - first;
  used_[static_cast<std::size_t>(found->device)] -= found->bytes;
  const auto offset = static_cast<off_t>(first - reinterpret_cast<std::uintptr_t>(closed_));
  static_cast<void>(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(pages)));
  allocations_.erase(first);
  return true;
}

const Allocation* Memory::find(const void* pointer, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  auto following = allocations_.upper_bound(at);
  if (following == allocations_.begin()) return nullptr;
  const Allocation& allocation = std::prev(following)->second;
  const auto start = reinterpret_cast<std::uintptr_t>(allocation.pointer);
  return at >= start && at + bytes <= start + allocation.bytes ? &allocation : nullptr;
}

void Memory::begin_kernel(int device) {
  kernel_device_ = device;
  touched_.clear();
}

bool Memory::open(const void* address) {
  if (kernel_device_ < 0) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto following = allocations_.upper_bound(at);
  if (following == allocations_.begin()) return false;
  const Allocation& allocation = std::prev(following)->second;
  if (at >= allocation.end_page() || allocation.device != kernel_device_) return false;
  Touched touched{&allocation, {}};
  if (keep_) {
    const char* const contents = alias(allocation.pointer);
    touched.before.assign(contents, contents + allocation.bytes);
  }
  touched_.push_back(std::move(touched));
  return mprotect(reinterpret_cast<void*>(allocation.first_page()), allocation.end_page() - allocation.first_page(),
                  PROT_READ | PROT_WRITE) == 0;
}

bool Memory::margins_are_whole(const Allocation& allocation) const {
  const char* const pages = alias(reinterpret_cast<void*>(allocation.first_page()));
  const char* const start = alias(allocation.pointer);
  const char* const end = pages + (allocation.end_page() - allocation.first_page());
  const auto is_margin = [](char byte) { return static_cast<unsigned char>(byte) == kMargin; };
  return std::all_of(pages, start, is_margin) && std::all_of(start + allocation.bytes, end, is_margin);
}

const Allocation* Memory::end_kernel() {
  kernel_device_ = -1;
  const Allocation* broken = nullptr;
  for (const Touched& touched : touched_) {
    const Allocation& allocation = *touched.allocation;
    static_cast<void>(mprotect(reinterpret_cast<void*>(allocation.first_page()),
                               allocation.end_page() - allocation.first_page(), PROT_NONE));
    if (!broken && !margins_are_whole(allocation)) broken = &allocation;
  }
  return broken;
}

}  // namespace emulation

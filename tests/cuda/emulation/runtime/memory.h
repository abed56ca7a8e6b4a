#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace emulation {

/// A piece of device memory. Its last byte is at most kAlignment - 1 bytes before a page that is never readable.
struct Allocation {
  char* pointer;
  std::size_t bytes;
  int device;

  std::uintptr_t first_page() const;
  std::uintptr_t end_page() const;
};

/// Device memory: one range of addresses per device, which neither the host nor a kernel can read as they are.
///
/// Each page exists twice: where device pointers point to it is closed, until a kernel touches it; through alias(),
/// the runtime itself copies. Around each allocation there are closed pages, and marked bytes up to them.
class Memory {
 public:
  static constexpr std::size_t kAlignment = 256;

  static Memory& instance();

  int device_count() const { return devices_; }
  /// Returns null if the device has no `bytes` bytes left.
  void* allocate(int device, std::size_t bytes);
  /// Frees an allocation; its addresses are not used again soon. False if `pointer` is not the start of one.
  bool release(void* pointer);
  /// Returns the allocation that holds the bytes, or null.
  const Allocation* find(const void* pointer, std::size_t bytes) const;
  bool is_device_address(const void* pointer) const;
  /// Returns an address by which the runtime may read and write the byte.
  char* alias(const void* pointer) const;

  /// Lets kernels of a device touch its memory from now on.
  void begin_kernel(int device);
  /// Closes what the kernel touched; returns the first allocation around which it wrote, or null.
  const Allocation* end_kernel();
  /// An allocation that kernels have touched since begin_kernel(), with its contents then if keep_contents() asked.
  struct Touched {
    const Allocation* allocation;
    std::vector<char> before;
  };
  const std::vector<Touched>& touched() const { return touched_; }
  void keep_contents(bool keep) { keep_ = keep; }

  /// Called on a fault at a closed page: opens it if a kernel may touch it. Returns false if it may not.
  bool open(const void* address);

  std::size_t free_bytes(int device) const { return limit_ - used_[static_cast<std::size_t>(device)]; }
  std::size_t limit() const { return limit_; }

 private:
  Memory();
  bool margins_are_whole(const Allocation& allocation) const;

  int devices_;
  std::size_t limit_;
  int file_ = -1;
  char* closed_ = nullptr;
  char* open_ = nullptr;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> used_;
  std::map<std::uintptr_t, Allocation> allocations_;  // by first page
  std::vector<Touched> touched_;
  int kernel_device_ = -1;
  bool keep_ = false;
};

}  // namespace emulation

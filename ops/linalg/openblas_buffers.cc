#include "ops/linalg/openblas_buffers.h"

#ifdef LAMELLA_WITH_LAPACK

#include <array>
#include <atomic>
#include <mutex>

#include "engine/core/memory_limit.h"
#include "ops/linalg/openblas.h"

namespace lamella::linalg::lapack {
namespace {

constexpr std::size_t kBufferBytes = (std::size_t{128} << 20) + 4096;
constexpr int kMostBuffers = 64;  // OpenBLAS is built for twice its number of threads, and at least for 50

std::atomic<int> in_use{0};
/// Number of buffers that OpenBLAS keeps for reuse, as far as is known.
std::atomic<int> kept{0};

/// Makes OpenBLAS keep `wanted` buffers, or requires room for them if it has no functions to do so.
void provide(int wanted, const char* op) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int before = kept.load(std::memory_order_relaxed);
  if (wanted <= before) return;
  require_room(static_cast<std::size_t>(wanted - before) * kBufferBytes, op, "OpenBLAS's buffers");
  // OpenBLAS's internal functions to take a buffer and to return it to its pool; some builds do not export them.
  const auto take = reinterpret_cast<void* (*)(int)>(find_openblas_function("blas_memory_alloc"));
  const auto give = reinterpret_cast<void (*)(void*)>(find_openblas_function("blas_memory_free"));
  if (!take || !give || wanted > kMostBuffers) return;
  std::array<void*, kMostBuffers> taken{};
  for (int i = 0; i < wanted; ++i) taken[static_cast<std::size_t>(i)] = take(0);
  for (int i = 0; i < wanted; ++i) give(taken[static_cast<std::size_t>(i)]);
  kept.store(wanted, std::memory_order_release);
}

}  // namespace

OpenBlasBuffers::OpenBlasBuffers(int count, const char* op) : count_(count) {
  const int wanted = in_use.fetch_add(count_, std::memory_order_relaxed) + count_;
  if (wanted <= kept.load(std::memory_order_acquire)) [[likely]]
    return;
  try {
    provide(wanted, op);
  } catch (...) {
    in_use.fetch_sub(count_, std::memory_order_relaxed);
    throw;
  }
}

OpenBlasBuffers::~OpenBlasBuffers() { in_use.fetch_sub(count_, std::memory_order_relaxed); }

}  // namespace lamella::linalg::lapack

#endif

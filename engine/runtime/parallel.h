#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace lamella {

namespace detail {
using RangeBody = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body, void* context);
/// Sets how many threads libraries that use OpenMP on this thread may use, at most `limit`; returns that number.
int share_thread_count(int limit);
/// True if the system has memory for `count` more threads, with a margin for what they allocate when they start; always
/// true if memory is not limited.
bool has_room_for_threads(int count);
}  // namespace detail

/// Grain of loops that do little work per element: number of elements that one thread takes at a time.
inline constexpr std::int64_t kElementGrain = 16384;

/// Returns the number of threads that parallel_for() may use; initially that of OMP_NUM_THREADS, or the number of
/// processors.
int thread_count();
/// Sets the number of threads; throws ValueError below 1.
void set_thread_count(int count);

/// Calls body(first, last) for consecutive ranges that cover [begin, end), each but the last a multiple of `grain`
/// long, on several threads if there is more than one grain of work. The bounds are multiples of `grain` from `begin`
/// for any number of threads. Rethrows an exception of body. Inside a parallel_for, and in a child after fork(),
/// everything runs on the caller.
template <class Body>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, Body&& body) {
  if (end <= begin) return;
  if (end - begin <= grain) {
    body(begin, end);
    return;
  }
  detail::parallel_ranges(
      begin, end, grain,
      [](void* context, std::int64_t first, std::int64_t last) {
        (*static_cast<std::remove_reference_t<Body>*>(context))(first, last);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Returns the grain for `count` independent items of `work` elements each: every thread gets an equal share of them, a
/// multiple of `unit`, and several threads are used only if the work is worth waking them. Not for loops whose results
/// depend on where they are split.
inline std::int64_t even_grain(std::int64_t count, std::int64_t work, std::int64_t unit = 1) {
  constexpr std::int64_t kWorthAThread = 32768;
  const std::int64_t each = std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, work));
  const std::int64_t parts = std::clamp<std::int64_t>((count + each - 1) / each, 1, thread_count());
  const std::int64_t share = (count + parts - 1) / parts;
  return (share + unit - 1) / unit * unit;
}

}  // namespace lamella

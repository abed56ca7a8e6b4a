#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace lamella {

namespace detail {
using RangeBody = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body, void* context);
/// Tells OpenMP, for libraries that use it on this thread, how many threads it may use, at most `limit`; returns that
/// number.
int share_thread_count(int limit);
/// Whether the system has memory for `count` more threads, with a margin for what they allocate as they start; always
/// where memory is not limited.
bool has_room_for_threads(int count);
}  // namespace detail

/// Threads that parallel_for() may use; at first as many as OMP_NUM_THREADS says, or as there are processors.
int thread_count();
/// Sets it; ValueError below 1.
void set_thread_count(int count);

/// Calls body(first, last) for consecutive ranges that cover [begin, end), each but the last `grain` long or a multiple
/// of it, on several threads where there is more than one grain of work. The cuts are multiples of `grain` from `begin`
/// whatever the number of threads. An exception of body's is rethrown here. Inside a parallel_for, and in a child after
/// fork(), everything runs on the caller.
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

/// The grain for `count` items that do not depend on each other, of `work` elements each: every thread gets the same
/// share of them, a multiple of `unit`, and there are several threads where the work is more than is worth waking one
/// for. Not for loops whose results depend on where they are cut.
inline std::int64_t even_grain(std::int64_t count, std::int64_t work, std::int64_t unit = 1) {
  constexpr std::int64_t kWorthAThread = 32768;
  const std::int64_t each = std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(1, work));
  const std::int64_t parts = std::clamp<std::int64_t>((count + each - 1) / each, 1, thread_count());
  const std::int64_t share = (count + parts - 1) / parts;
  return (share + unit - 1) / unit * unit;
}

}  // namespace lamella
